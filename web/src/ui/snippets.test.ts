import { expect, test } from "vitest";
import { snippetsFor } from "./snippets";

test("every snippet has the address, and the token where there is one", () => {
  for (const { name, text } of snippetsFor("https://evals.example", "secret-1")) {
    expect(text, name).toContain("https://evals.example");
    expect(text, name).toContain("secret-1");
  }
  for (const { name, text } of snippetsFor("https://evals.example", null)) {
    expect(text, name).not.toMatch(/Authorization|token/);
  }
});
