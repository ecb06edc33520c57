/**
 * The one door to the server. Types come from the server's own OpenAPI (`make types`), so a renamed field is a compile error.
 *
 * `unwrap(api.GET(...))` gives the data or throws an `ApiError` that carries the server's one clear line.
 */
import { QueryClient } from "@tanstack/react-query";
import createClient, { type Middleware } from "openapi-fetch";
import { useSyncExternalStore } from "react";
import type { components, paths } from "./schema";
import { currentToken, requireToken, reviewerName } from "./token";

export type Schemas = components["schemas"];

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly body: unknown = undefined,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

const authorise: Middleware = {
  onRequest({ request }) {
    const token = currentToken();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    const name = reviewerName();
    if (name) request.headers.set("x-evergold-reviewer", encodeURIComponent(name));
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) requireToken();
  },
};

export const api = createClient<paths>({ baseUrl: "" });
api.use(authorise);

type Answer<T> = { data?: T; error?: unknown; response: Response };

export async function unwrap<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call.catch(() => {
    reportReach(false);
    throw new ApiError(0, "The server does not answer. Nothing you typed is lost; try again when it is back.");
  });
  reportReach(true);
  if (!response.ok) throw new ApiError(response.status, withoutCommands(explain(error, response.status)), error);
  return data as T;
}

function explain(error: unknown, status: number): string {
  if (typeof error === "object" && error !== null) {
    for (const key of ["message", "error", "detail"]) {
      const value = (error as Record<string, unknown>)[key];
      if (typeof value === "string" && value) return value;
      if (Array.isArray(value) && value.length) return value.map((item) => describe(item)).join("; ");
    }
  }
  if (typeof error === "string" && error.length > 0 && error.length < 300) return error;
  return `The server answered ${status}.`;
}

function describe(problem: unknown): string {
  const { loc, msg } = (problem ?? {}) as { loc?: unknown[]; msg?: string };
  return msg ? `${(loc ?? []).slice(1).join(".")}: ${msg}` : String(problem);
}

const COMMAND = /`evergold |(^|[\s:(])evergold [a-z]+/;

/** The server's messages are the same on the command line; what they advise to type there is no help in a page. */
export function withoutCommands(message: string): string {
  const kept = message.split(/;\s+/).filter((clause) => !COMMAND.test(clause));
  return kept.length > 0 ? kept.join("; ") : message;
}

export const ASK_AGAIN_MS = 3_000;

/** Whether the server answers: every call reports it. */
let answers = true;
const listeners = new Set<() => void>();

function reportReach(now: boolean): void {
  if (now === answers) return;
  answers = now;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useReach = (): boolean => useSyncExternalStore(subscribe, () => answers);

export async function askAgain(): Promise<void> {
  try {
    await fetch("/api/v1/health");
    reportReach(true);
  } catch {
    reportReach(false);
  }
}

/** How often an open page looks for news. */
export const WATCH_MS = 10_000;

/** One retry for a network hiccup, none for an answer that will not change. */
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
