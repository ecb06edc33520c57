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

/** Each unit is chosen after rounding, so that no "1000 ms" and no "1 min 60 s" appears. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1) return "<1 ms";
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (Number(seconds.toFixed(2)) < 10) return `${seconds.toFixed(2)} s`;
  if (Number(seconds.toFixed(1)) < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}

/** A time still to come, as exact as a guess can be: "10 s", "3 min", "2 h". */
export function roughly(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 57.5) return `${Math.max(5, 5 * Math.round(seconds / 5))} s`;
  if (seconds < 59.5 * 60) return `${Math.max(1, Math.round(seconds / 60))} min`;
  return `${count(Math.round(seconds / 3600))} h`;
}

/** An amount in dollars, to the cent or to two digits where it is less than a dollar. */
export function dollars(amount: number): string {
  if (amount === 0) return "$0";
  if (amount >= 1000) return `$${count(Math.round(amount))}`;
  return `$${amount >= 1 ? amount.toFixed(2) : Number(amount.toPrecision(2))}`;
}

/** A score without a false digit: 1, 0.85, 0.333. */
export function unit(value: number): string {
  return String(Math.round(value * 1000) / 1000);
}
