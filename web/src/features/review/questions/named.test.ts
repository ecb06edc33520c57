import { expect, it } from "vitest";
import type { Question } from "../queue/data";
import { named } from "./named";

const asked = (title: string, name = "") => ({ title, name, kind: "yes_no" }) as Question;

it("names each question after its title, and numbers what would be called the same", () => {
  const questions = [asked("Is it polite?"), asked("هل هو مهذب؟"), asked("是否礼貌？"), asked("Is it polite?!")];
  expect(named(questions).map(({ name }) => name)).toEqual([
    "is_it_polite",
    "question",
    "question_2",
    "is_it_polite_2",
  ]);
});

it("leaves names that answers already have", () => {
  expect(named([asked("Polite?", "is_it_polite"), asked("Is it polite?")]).map(({ name }) => name)).toEqual([
    "is_it_polite",
    "is_it_polite_2",
  ]);
});
