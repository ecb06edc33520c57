/** Who the server takes this browser for, and what that role may do; the name a reviewer gave where nobody has a token. */
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

/** The name a reviewer gave in this browser. */
const NAME = "evergold.reviewer";

/** Where nobody has a token, a reviewer says who they are; the server notes it with every decision. */
export function reviewerName(): string {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

export function saveReviewerName(name: string): void {
  try {
    localStorage.setItem(NAME, name.trim());
  } catch {
    // forbidden storage: the name lasts as long as the page does not need it again
  }
}

/** Who the server takes this browser for, and what it can show. */
export function useMe() {
  return useQuery({
    queryKey: ["review", "me"],
    staleTime: 60_000,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/review/me", { headers: { "x-evergold-reviewer": reviewerName() } })),
  });
}
