import { expect, it } from "vitest";
import { visible } from "./visible";

it("shows controls and marks that force a direction as such", () => {
  expect(visible("invoice\u202egnp.exe")).toBe("invoice⟦RLO⟧gnp.exe");
  expect(visible("a\u2066b\u2069c")).toBe("a⟦LRI⟧b⟦PDI⟧c");
  expect(visible("\u0007\u001b[31m\u007f\u0085\uFEFF")).toBe("⟦U+0007⟧⟦U+001B⟧[31m⟦U+007F⟧⟦U+0085⟧⟦U+FEFF⟧");
});

it("leaves line breaks, tabs and what scripts need alone", () => {
  for (const text of ["a\n\tb\r\n", "می\u200cخواهم", "👩\u200d👧", "\u200fשלום", "退款", "¿Cuánto?"])
    expect(visible(text)).toBe(text);
});
