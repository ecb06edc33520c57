/** Reading a page's state from its address: known values are taken, everything else is dropped. */

export function text(value: unknown): string | undefined {
  return typeof value === "string" || typeof value === "number" ? String(value) || undefined : undefined;
}

export function oneOf<Value extends string>(known: readonly Value[], value: unknown): Value | undefined {
  return known.find((candidate) => candidate === value);
}

export function withoutBlanks<View extends object>(view: View): View {
  return Object.fromEntries(Object.entries(view).filter(([, value]) => value !== undefined)) as View;
}

/** The view with one part changed; an empty value takes the part away. */
export function changed<View extends object, Key extends keyof View>(
  view: View,
  key: Key,
  value: View[Key] | null,
): View {
  const { [key]: _, ...rest } = view;
  return (value ? { ...rest, [key]: value } : rest) as View;
}

/** Several values of one name, or one that stands for a list of it. An empty text in a list means: none recorded. */
export function texts(value: unknown): string[] | undefined {
  const values = Array.isArray(value)
    ? value.flatMap((each) => (each === "" ? "" : (text(each) ?? [])))
    : [value].flatMap((each) => text(each) ?? []);
  return values.length > 0 ? values : undefined;
}

export function figure(value: unknown): number | undefined {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) && number >= 0 ? number : undefined;
}

/** A moment as the fields of dates hold it: where the reader is, to the minute. */
export function localMinute(moment: number | string): string {
  const at = new Date(moment);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
