/** Who the server takes this browser for, and what that role may do. */
import { useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "./client";

type Role = Schemas["Role"];

export function useCaller() {
  return useQuery({
    queryKey: ["me"],
    staleTime: 60_000,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/me")),
  });
}

/** Whether the caller's role includes `role`. Until the server has answered nothing is taken away. */
export function useMay(role: Role): boolean {
  const caller = useCaller();
  return caller.data?.may.includes(role) ?? true;
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
