/** What a list can be narrowed by, as data: the same bar serves traces and cases. */
import { changed } from "../address";
import { visible } from "../text";

/** What an empty value of a list stands for. */
export const NOT_RECORDED = "not recorded";

export type Option = { value: string; label?: string; count?: number };
type Named<View> = { key: keyof View & string; label: string };

/** One or several of the values that the list holds. */
export type ChoiceField<View> = Named<View> & { type: "choice"; options: readonly Option[]; several?: boolean };
/** Words that a person types: one, or several with Enter after each. */
export type TextField<View> = Named<View> & { type: "text"; several?: boolean; hint?: string };
/** A number from and to; the two keys of the view. `scale`: how many of the view's units are one of those shown. */
export type RangeField<View> = Named<View> & {
  type: "range";
  upTo: keyof View & string;
  step?: number;
  scale?: number;
};
/** A moment from and to; the two keys of the view. */
export type DatesField<View> = Named<View> & { type: "dates"; upTo: keyof View & string };

export type Field<View> = ChoiceField<View> | TextField<View> | RangeField<View> | DatesField<View>;

type Chip<View> = { text: string; without: View };

/** The filters that are set, each with the view that lacks it. */
export function chipsOf<View extends object>(view: View, fields: readonly Field<View>[]): Chip<View>[] {
  return fields.flatMap((field) => {
    if (field.type === "range" || field.type === "dates") return rangeChips(view, field);
    const held = view[field.key];
    if (held === undefined) return [];
    const values = (Array.isArray(held) ? held : [held]) as string[];
    return values.map((value) => ({
      text: visible(`${field.label}: ${wordOf(field, value)}`),
      without: changed(
        view,
        field.key,
        Array.isArray(held) ? (nonEmpty(values.filter((other) => other !== value)) as View[keyof View & string]) : null,
      ),
    }));
  });
}

function rangeChips<View extends object>(view: View, field: RangeField<View> | DatesField<View>): Chip<View>[] {
  const signs = [
    [field.key, "from"],
    [field.upTo, "up to"],
  ] as const;
  const shown = (value: unknown) =>
    field.type === "range" ? String(Number(value) / (field.scale ?? 1)) : String(value).replace("T", " ");
  return signs.flatMap(([key, sign]) =>
    view[key] === undefined
      ? []
      : [{ text: `${field.label} ${sign} ${shown(view[key])}`, without: changed(view, key, null) }],
  );
}

function wordOf<View>(field: ChoiceField<View> | TextField<View>, value: string): string {
  const known = field.type === "choice" ? field.options.find((option) => option.value === value) : undefined;
  return known?.label ?? (value || NOT_RECORDED);
}

export function nonEmpty<Value>(values: Value[]): Value[] | null {
  return values.length > 0 ? values : null;
}
