import { describe, expect, it } from "vitest";
import { callsOf, partsOf, resultsOf, roleOf } from "./messageParts";

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
