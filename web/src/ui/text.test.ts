import { describe, expect, it, test } from "vitest";
import { duration, roughly } from "./format";
import { callsOf, partsOf, resultsOf, roleOf } from "./Messages";
import { differences, folding, marks, piecesOf, STEP, visible } from "./text";

it("shows controls and marks that force a direction as such", () => {
  expect(visible("invoice\u202egnp.exe")).toBe("invoice⟦RLO⟧gnp.exe");
  expect(visible("a\u2066b\u2069c")).toBe("a⟦LRI⟧b⟦PDI⟧c");
  expect(visible("\u0007\u001b[31m\u007f\u0085\uFEFF")).toBe("⟦U+0007⟧⟦U+001B⟧[31m⟦U+007F⟧⟦U+0085⟧⟦U+FEFF⟧");
});

it("leaves line breaks, tabs and what scripts need alone", () => {
  for (const text of ["a\n\tb\r\n", "می\u200cخواهم", "👩\u200d👧", "\u200fשלום", "退款", "¿Cuánto?"])
    expect(visible(text)).toBe(text);
});

it("takes names written from right to left out of a sentence", () => {
  expect(piecesOf("المبالغ (0.25) were at least 0.8")).toEqual(["", "المبالغ", " (0.25) were at least 0.8"]);
  expect(piecesOf("grounded (0), מידע רב (1)")).toEqual(["grounded (0), ", "מידע רב", " (1)"]);
});

it("leaves a sentence without such names whole", () => {
  for (const text of ["", "finished (0) were taken back", "退款 (1)"]) expect(piecesOf(text)).toEqual([text]);
});

const hits = (text: string, search: string) =>
  marks(text, search, 300).parts.flatMap((part) => (part.hit ? [part.text] : []));

describe("marks", () => {
  it("finds words of any case and inside scripts without spaces", () => {
    expect(hits("Where is my Parcel?", "parcel where")).toEqual(["Where", "Parcel"]);
    expect(hits("我怎样取消订阅服务", "订阅")).toEqual(["订阅"]);
    expect(hits("nothing", "")).toEqual([]);
    expect(hits("a+b (c)", "(c) +")).toEqual(["c"]);
  });

  it("keeps the whole text, and cuts a long one so that the first hit is in view", () => {
    const { parts } = marks("one two one", "one", 300);
    expect(parts.map((part) => part.text).join("")).toBe("one two one");
    const cell = marks("Your order left Lima on Tuesday and is with the courier now", "courier", 300, 40);
    expect(cell.cut).toBe(true);
    expect(
      cell.parts
        .map((part) => part.text)
        .join("")
        .indexOf("courier"),
    ).toBeLessThan(40 - "courier".length);
    const long = marks(`${"x ".repeat(400)}parcel`, "parcel", 100);
    expect(long.cut).toBe(true);
    expect(long.parts.some((part) => part.hit)).toBe(true);
  });
});

const marked = (first: string, second: string) =>
  differences(first, second)
    .filter(({ differs }) => differs)
    .map(({ text }) => text.trim());

test("words that the first text lacks are marked, and the text stays whole", () => {
  const pieces = differences("Refunds take three days.", "Refunds take about ten days.");
  expect(pieces.map(({ text }) => text).join("")).toBe("Refunds take about ten days.");
  expect(marked("Refunds take three days.", "Refunds take about ten days.")).toEqual(["about ten"]);
});

test("equal texts have no mark, and blanks alone are no difference", () => {
  expect(marked("a  b\nc", "a b c")).toEqual([]);
  expect(differences("x", "")).toEqual([]);
});

test("text without blanks is compared character by character", () => {
  expect(marked("我的订阅", "我的退款")).toEqual(["退款"]);
});

test("texts too long to compare come back whole", () => {
  const long = "word ".repeat(5_000);
  expect(differences(long, `${long}end`)).toEqual([{ text: `${long}end`, differs: false }]);
});

it("shows a short text whole and a long one after a click", () => {
  expect(folding(1200, 1200, 1200)).toEqual({ shown: 1200, next: null });
  expect(folding(1201, 1200, 1200).next).toEqual({ shown: 1201, label: "Show all 1,201 characters" });
});

it("opens ten megabytes step by step, to the end", () => {
  const length = 10 * 1024 * 1024;
  const labels: string[] = [];
  let shown = 1200;
  for (let step = folding(length, 1200, shown); step.next; step = folding(length, 1200, shown)) {
    expect(step.next.shown - step.shown).toBeLessThanOrEqual(STEP);
    labels.push(step.next.label);
    shown = step.next.shown;
  }
  expect(shown).toBe(length);
  expect(labels[0]).toBe("Show the first 100,000 of 10,485,760 characters");
  expect(labels[1]).toBe("Show 100,000 more of 10,485,760 characters");
  expect(labels.at(-1)).toBe("Show all 10,485,760 characters");
});

describe("durations", () => {
  it("choose their unit after rounding", () => {
    expect(duration(999.6)).toBe("1.00 s");
    expect(duration(9_996)).toBe("10.0 s");
    expect(duration(59_960)).toBe("1 min 0 s");
    expect(duration(119_600)).toBe("2 min 0 s");
    expect(duration(3_599_700)).toBe("1 h 0 min");
  });
  it("are round where they are a guess", () => {
    expect(roughly(9_190)).toBe("10 s");
    expect(roughly(58_000)).toBe("1 min");
    expect(roughly(3_590_000)).toBe("1 h");
  });
});

describe("messages taken apart", () => {
  it("reads texts, parts and pictures", () => {
    expect(partsOf("hi")).toEqual([{ text: "hi" }]);
    expect(partsOf(null)).toEqual([]);
    expect(
      partsOf([
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "https://x/y.png" } },
      ]),
    ).toEqual([{ text: "look" }, { picture: "https://x/y.png" }]);
  });

  it("keeps what it does not know as text", () => {
    expect(partsOf({ odd: 1 })[0]?.text).toContain('"odd": 1');
    expect(roleOf({})).toBe("unknown role");
    expect(callsOf({ tool_calls: "none" })).toEqual([]);
  });

  it("puts each result with its call once, and leaves results without a call where they are", () => {
    const call = { role: "assistant", tool_calls: [{ id: "1", function: { name: "find", arguments: '{"q":1}' } }] };
    const result = { role: "tool", tool_call_id: "1", content: "found" };
    const again = { role: "tool", tool_call_id: "1", content: "twice" };
    const orphan = { role: "tool", tool_call_id: "9", content: "lost" };
    const { byCall, matched } = resultsOf([call, result, again, orphan]);
    expect(byCall.get("1")).toBe(result);
    expect([...matched]).toEqual([result]);
  });
});
