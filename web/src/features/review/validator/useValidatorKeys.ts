/** Every key of the validator. Escape leaves a field, so that the single-letter keys work again. */
import { type Dispatch, type RefObject, useEffect } from "react";
import { useShortcuts } from "@/ui/shortcuts";
import type { Action, Session } from "./session";

type Keys = {
  enabled: boolean;
  session: Session;
  dispatch: Dispatch<Action>;
  step: (kind: "previous" | "next" | "incomplete") => void;
  validate: () => void;
  onExport: () => void;
  refs: {
    search: RefObject<HTMLInputElement | null>;
    query: RefObject<HTMLTextAreaElement | null>;
    commit: RefObject<HTMLInputElement | null>;
  };
};

export function useValidatorKeys({ enabled, dispatch, step, validate, onExport, refs }: Keys): void {
  const always = [
    { keys: "z", does: "Undo", run: () => dispatch({ type: "undo" }) },
    { keys: "Z", does: "Redo", run: () => dispatch({ type: "redo" }) },
  ];
  const withCase = [
    { keys: "n", does: "Next incomplete case", run: () => step("incomplete") },
    { keys: "j", does: "Next case", run: () => step("next") },
    { keys: "k", does: "Previous case", run: () => step("previous") },
    { keys: "v", does: "Mark as validated", run: validate },
    { keys: "q", does: "Edit the query", run: () => refs.query.current?.focus() },
    { keys: "b", does: "Edit the base commit", run: () => refs.commit.current?.focus() },
    { keys: "p", does: "Edit the paths", run: () => focusFirst("File paths") },
    { keys: "r", does: "Edit the ranges", run: () => focusFirst("Line ranges") },
    { keys: "/", does: "Search", run: () => refs.search.current?.focus() },
    { keys: "x", does: "Export", run: onExport },
    { keys: "Alt+↑↓", does: "Move an entry up or down (in a list)", run: () => undefined },
    { keys: "Escape", does: "Leave a field", run: () => undefined },
  ];
  useShortcuts("Validator", enabled ? [...withCase, ...always] : always);

  useEffect(() => {
    function onKeyDown(event: KeyboardEvent) {
      const field = event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "Escape" && field) (event.target as HTMLElement).blur();
      if (!(event.ctrlKey || event.metaKey)) return;
      if (event.key === "Enter" && field) validate();
      else if (event.key.toLowerCase() === "z" && !field) dispatch({ type: event.shiftKey ? "redo" : "undo" });
    }
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, [dispatch, validate]);
}

function focusFirst(section: string) {
  document.querySelector<HTMLElement>(`section[aria-label="${section}"] [data-path]`)?.focus();
}
