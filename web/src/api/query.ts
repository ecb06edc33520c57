/** How queries behave: one retry for a network hiccup, none for an answer that will not change. */
import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./client";

/** How often an open page looks for news. */
export const WATCH_MS = 10_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    // A server on this machine answers where the browser calls itself offline.
    mutations: { networkMode: "always" },
    queries: {
      networkMode: "always",
      staleTime: 5_000,
      retry: (failures, error) =>
        failures < 1 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: true,
    },
  },
});

type Paged = { state: { data?: { pages: unknown[] } } };

/** A list is renewed while its first page is all that was read; reading fifty pages again would help nobody. */
const isShort = (query: Paged) => (query.state.data?.pages.length ?? 0) <= 1;

/** How a long list keeps up: by itself at the top, and left as it was read further down. */
export const keepUp = {
  refetchInterval: (query: Paged) => (isShort(query) ? WATCH_MS : false),
  refetchOnWindowFocus: isShort,
  refetchOnMount: isShort,
} as const;
