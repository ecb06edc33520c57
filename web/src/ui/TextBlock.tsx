/** A text as it was written: line breaks kept, long ones folded, JSON laid out, one click to copy. Never parsed as HTML. */
import { CopyButton } from "@mantine/core";
import { useMemo, useState } from "react";
import { CheckIcon, CopyIcon } from "./icons";
import classes from "./TextBlock.module.css";
import { folding, visible } from "./text";

const FOLD_AT = 1200;

type TextBlockProps = {
  text: string | null | undefined;
  label?: string;
  absent?: string;
  tone?: "plain" | "gold" | "rust" | "sea";
};

export function TextBlock({ text, label, absent = "none", tone = "plain" }: TextBlockProps) {
  const [most, setMost] = useState(FOLD_AT);
  const shown = useMemo(() => layOut(text ?? ""), [text]);
  const long = shown.value.length > FOLD_AT;
  const fold = folding(shown.value.length, FOLD_AT, most);
  const empty = text === null || text === undefined || text === "";
  return (
    // A group and no landmark: a page holds many texts of the same name.
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for controls
    <div role="group" className={classes.block} data-tone={tone} aria-label={label}>
      {label && (
        <header className={classes.head}>
          <span>{visible(label)}</span>
          {!empty && <Copy text={text} what={label} />}
        </header>
      )}
      {empty ? (
        <p className={classes.absent}>{absent}</p>
      ) : (
        <pre className={classes.text} dir="auto" data-code={shown.code || undefined}>
          {visible(fold.next ? `${shown.value.slice(0, fold.shown)}…` : shown.value)}
        </pre>
      )}
      {long && (
        <button type="button" className={classes.more} onClick={() => setMost(fold.next?.shown ?? FOLD_AT)}>
          {fold.next?.label ?? "Show less"}
        </button>
      )}
    </div>
  );
}

function Copy({ text, what }: { text: string; what: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <button type="button" className={classes.copy} onClick={copy} aria-label={copied ? "Copied" : `Copy: ${what}`}>
          {copied ? <CheckIcon size={15} /> : <CopyIcon size={15} />}
        </button>
      )}
    </CopyButton>
  );
}

function layOut(text: string): { value: string; code: boolean } {
  const first = text.trimStart()[0];
  if ((first === "{" || first === "[") && text.length < 200_000) {
    try {
      return { value: JSON.stringify(JSON.parse(text), null, 2), code: true };
    } catch {
      // it only looks like JSON
    }
  }
  return { value: text, code: false };
}
