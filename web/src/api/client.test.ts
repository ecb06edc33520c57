import { expect, it } from "vitest";
import { withoutCommands } from "./client";

it("leaves out what is to be typed on a command line, and nothing else", () => {
  expect(withoutCommands("no trace 'x'; `evergold traces list` shows what there is")).toBe("no trace 'x'");
  expect(withoutCommands("the process that ran it ended; go on with: evergold run --resume r1")).toBe(
    "the process that ran it ended",
  );
  expect(withoutCommands("no run 'r'; evergold runs list shows them")).toBe("no run 'r'");
  expect(withoutCommands("split: the shares add up to 1.4, not to 1; give shares that do")).toBe(
    "split: the shares add up to 1.4, not to 1; give shares that do",
  );
  expect(withoutCommands("Evergold keeps both; choose one")).toBe("Evergold keeps both; choose one");
});

it("keeps a message that would be empty", () => {
  expect(withoutCommands("`evergold verify` tells more")).toBe("`evergold verify` tells more");
});
