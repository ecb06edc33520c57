/**
 * Who uses this browser: the access token of a server that asks for one, else the name that a reviewer gave.
 *
 * The token lives in localStorage of this browser and travels only as an Authorization header to the server the page came from.
 * `required` turns true when the API answers 401; the token dialog watches it.
 */
import { useSyncExternalStore } from "react";

const KEY = "evergold.token";

type TokenState = { value: string | null; required: boolean };

let state: TokenState = { value: read(), required: false };
const listeners = new Set<() => void>();

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage forbidden by the browser: the token lasts as long as the page
  }
}

function publish(next: TokenState): void {
  state = next;
  for (const listener of listeners) listener();
}

export function currentToken(): string | null {
  return state.value;
}

export function requireToken(): void {
  if (!state.required) publish({ ...state, required: true });
}

export function saveToken(value: string): void {
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // kept in memory only, see read()
  }
  publish({ value, required: false });
}

let shown = 0;

/** Keeps the dialog that asks for a token closed while a new token is shown, which nobody can see again. */
export function showToken(): () => void {
  shown += 1;
  publish({ ...state });
  return () => {
    shown -= 1;
    publish({ ...state });
  };
}

export function useTokenRequired(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state.required && shown === 0,
  );
}

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
