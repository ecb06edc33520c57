/** Whether the server answers: every call reports it. */
import { useSyncExternalStore } from "react";

export const ASK_AGAIN_MS = 3_000;

let answers = true;
const listeners = new Set<() => void>();

export function reportReach(now: boolean): void {
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
