import { describe, expect, it } from "vitest";
import { marks } from "./marking";

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
    const long = marks(`${"x ".repeat(400)}parcel`, "parcel", 100);
    expect(long.cut).toBe(true);
    expect(long.parts.some((part) => part.hit)).toBe(true);
  });
});
