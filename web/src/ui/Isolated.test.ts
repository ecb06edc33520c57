import { expect, it } from "vitest";
import { piecesOf } from "./Isolated";

it("takes names written from right to left out of a sentence", () => {
  expect(piecesOf("المبالغ (0.25) were at least 0.8")).toEqual(["", "المبالغ", " (0.25) were at least 0.8"]);
  expect(piecesOf("grounded (0), מידע רב (1)")).toEqual(["grounded (0), ", "מידע רב", " (1)"]);
});

it("leaves a sentence without such names whole", () => {
  for (const text of ["", "finished (0) were taken back", "退款 (1)"]) expect(piecesOf(text)).toEqual([text]);
});
