/** How old figures are, said once they are older than a minute. */
import { useEffect, useState } from "react";
import { age as ageOf, duration, moment } from "./format";

const FRESH_MS = 60_000;
const TICK_MS = 5_000;

/** The age in words once it is over a minute, else null. `age`: seconds when they came; `at`: when that was, by our clock. */
export function useAge(age: number | null | undefined, at: number): string | null {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return ageInWords(age, at, now);
}

export function ageInWords(age: number | null | undefined, at: number, now: number): string | null {
  const ms = Math.max(0, (age ?? 0) * 1000 + Math.max(now, at) - at);
  return ms > FRESH_MS ? duration(ms) : null;
}

export function Age({ age, at }: { age?: number | null; at: number }) {
  const old = useAge(age, at);
  return old && <p className="eg-dim">These figures are {old} old.</p>;
}

/** When something was: how long ago, with the exact moment on hover. */
export function When({ at }: { at: string | null | undefined }) {
  return (
    <time className="eg-dim eg-numeric" dateTime={at ?? undefined} title={moment(at)}>
      {ageOf(at)}
    </time>
  );
}
