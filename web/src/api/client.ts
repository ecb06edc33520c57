/**
 * The one door to the server. Types come from the server's own OpenAPI (`make types`), so a renamed field is a compile error.
 *
 * `unwrap(api.GET(...))` gives the data or throws an `ApiError` that carries the server's one clear line.
 */
import createClient, { type Middleware } from "openapi-fetch";
import { withoutCommands } from "./plainWords";
import { reportReach } from "./reach";
import type { components, paths } from "./schema";
import { currentToken, requireToken } from "./token";

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
