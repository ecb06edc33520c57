/** Who the server takes this browser for, and what it can show. */
import { useQuery } from "@tanstack/react-query";
import { api, unwrap } from "@/api/client";
import { reviewerName } from "@/api/reviewer";

export function useMe() {
  return useQuery({
    queryKey: ["review", "me"],
    staleTime: 60_000,
    retry: false,
    queryFn: () => unwrap(api.GET("/api/v1/review/me", { headers: { "x-evergold-reviewer": reviewerName() } })),
  });
}
