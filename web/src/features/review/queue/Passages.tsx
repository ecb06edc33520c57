/** Numbered contexts, and texts whose [n] light the context they cite. A citation of a context that is not there says so. */
import { Fragment } from "react";
import type { Case } from "./data";
import classes from "./list.module.css";
import sheet from "./passages.module.css";

const CITATION = /\[(\d{1,3})\]/g;

type PassageProps = { text: string; count: number; onLight: (context: number | null) => void };

export function Passage({ text, count, onLight }: PassageProps) {
  const parts = text.split(CITATION);
  return parts.map((part, index) => {
    // split() with one group gives text and numbers in turn
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, in their order
    if (index % 2 === 0) return <Fragment key={index}>{part}</Fragment>;
    const number = Number(part);
    const known = number >= 1 && number <= count;
    return (
      <button
        // biome-ignore lint/suspicious/noArrayIndexKey: see above
        key={index}
        type="button"
        className={sheet.citation}
        data-unknown={!known || undefined}
        aria-label={known ? `Cites context ${number}` : `Cites context ${number}, which does not exist`}
        onMouseEnter={() => onLight(number)}
        onMouseLeave={() => onLight(null)}
        onFocus={() => onLight(number)}
        onBlur={() => onLight(null)}
      >
        [{number}]
      </button>
    );
  });
}

export function Contexts({ entry, lit }: { entry: Case; lit: number | null }) {
  if (entry.contexts.length === 0) return <p className={sheet.none}>This case has no contexts.</p>;
  return (
    <ol className={sheet.contexts}>
      {entry.contexts.map((context, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a context is its place
        <li key={index} data-lit={lit === index + 1 || undefined}>
          <b>[{index + 1}]</b>
          <div>
            {context.source && <div className={classes.source}>{context.source}</div>}
            {(context.text ?? "this passage was lost; its place is kept").replace(/^\[\d+\]\s*/, "")}
          </div>
        </li>
      ))}
    </ol>
  );
}
