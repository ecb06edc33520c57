/** Asks for the access token when the server wants one. */
import { Button, Modal, PasswordInput, Stack, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { currentToken, saveToken, useTokenRequired } from "./token";

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
