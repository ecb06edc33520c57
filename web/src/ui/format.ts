/** Numbers, times and durations as people read them. */

const whole = new Intl.NumberFormat("en-US");
const compact = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const dateTime = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const dayOnly = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayAndYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function count(value: number): string {
  return value < 100_000 ? whole.format(value) : compact.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function share(part: number, all: number): string {
  if (all === 0) return "–";
  const percent = (100 * part) / all;
  return percent > 0 && percent < 1 ? "<1 %" : `${Math.round(percent)} %`;
}

export function moment(iso: string | null | undefined): string {
  return iso ? dateTime.format(new Date(iso)) : "–";
}

/** "just now", "4 min", "3 h", then the date: what fits a narrow column. */
export function age(iso: string | null | undefined, now = Date.now()): string {
  if (!iso) return "–";
  const then = new Date(iso);
  const passed = now - then.getTime();
  if (passed < -MINUTE) return dayAndYear.format(then);
  if (passed < MINUTE) return "just now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h`;
  return then.getFullYear() === new Date(now).getFullYear() ? dayOnly.format(then) : dayAndYear.format(then);
}

export function milliseconds(start: string | null | undefined, end: string | null | undefined): number | null {
  if (!start || !end) return null;
  return Math.max(0, new Date(end).getTime() - new Date(start).getTime());
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / 1000)} s`;
}

/** A score without a false digit: 1, 0.85, 0.333. */
export function unit(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
