/** Who the server takes this browser for, and what that role may do; the dialog that asks for its token. */
import { Button, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, type Schemas, unwrap } from "./client";
import { currentToken, saveToken, useTokenRequired } from "./token";

type Role = Schemas["Role"];

export function useCaller() {
  return useQuery({
    queryKey: ["me"],
    staleTime: 60_000,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/me")),
  });
}

/** Whether the server asks nobody for a token: who has none has no name there. */
export function useIsOpen(): boolean {
  return useCaller().data?.name === "";
}

/** Whether the caller's role includes `role`. Until the server has answered nothing is taken away. */
export function useMay(role: Role): boolean {
  const caller = useCaller();
  return caller.data?.may.includes(role) ?? true;
}

/** Whether the server has said that the caller's role includes `role`: what others may not read is not asked before. */
export function useMayRead(role: Role): boolean {
  return useCaller().data?.may.includes(role) ?? false;
}

/** Whether the caller may change or delete what `author` wrote: their own, or as editor and owner anybody's. */
export function useMayChange(): (author: string) => boolean {
  const moderates = useMay("editor");
  const mayWrite = useMay("reviewer");
  const me = useMe().data?.name;
  return (author) => moderates || (mayWrite && (author === "" || author === me));
}

/** The reviewer that the server takes this browser for, and what it can show. */
export function useMe() {
  return useQuery({
    queryKey: ["review", "me"],
    staleTime: 60_000,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/review/me")),
  });
}

/** Asks for the access token when the server wants one. */
export function TokenDialog() {
  const required = useTokenRequired();
  const queries = useQueryClient();
  const [value, setValue] = useState("");

  function submit(event: FormEvent) {
    event.preventDefault();
    if (!value.trim()) return;
    saveToken(value.trim());
    setValue("");
    void queries.resetQueries();
  }

  return (
    <Modal
      opened={required}
      withinPortal={false}
      onClose={() => undefined}
      withCloseButton={false}
      closeOnEscape={false}
      title="This workspace asks for a token"
      centered
    >
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm" c="dimmed">
            Its owner can give you one. It is kept in this browser and sent only to this server.
          </Text>
          <PasswordInput
            label="Access token"
            autoComplete="current-password"
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
            error={currentToken() ? "The server did not accept the token it was given." : undefined}
            data-autofocus
          />
          <Button type="submit" disabled={!value.trim()}>
            Open the workspace
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}
