import { describe, expect, it } from "vitest";
import { chipsOf, type Field } from "./fields";

type View = { took_min?: number; took_max?: number };

const FIELDS: Field<View>[] = [{ type: "range", key: "took_min", upTo: "took_max", label: "Took (s)", scale: 1000 }];

describe("chipsOf", () => {
  it("shows a bound in the unit of its label, and takes away that bound alone", () => {
    const view = { took_min: 1500, took_max: 20_000 };
    const chips = chipsOf(view, FIELDS);
    expect(chips.map(({ text }) => text)).toEqual(["Took (s) from 1.5", "Took (s) up to 20"]);
    expect(chips[0]?.without).toEqual({ took_max: 20_000 });
  });
});
