/** Where a search found a trace: the excerpt with its words marked, and the marks in the trace once it is open. */
import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import { marks, visible } from "@/ui/text";
import classes from "./traces.module.css";

type Hit = Schemas["TraceHit"];

const PARTS: Record<Hit["part"], string> = {
  question: "Question",
  answer: "Answer",
  user: "User",
  assistant: "Assistant",
  tool_call: "Call",
  tool_result: "Result",
  step: "Step",
  error: "Error",
  name: "Name",
};

/** `folded`: only a list without the column of answers shows it. */
export function Excerpt({ hit, folded = false }: { hit: Hit; folded?: boolean }) {
  const named = hit.name ? `${PARTS[hit.part]} of ${visible(hit.name)}` : PARTS[hit.part];
  return (
    <span className={classes.hit} data-folded={folded || undefined}>
      <span className={classes.hitPlace}>{hit.turn ? `${named}, turn ${hit.turn}` : named}:</span>{" "}
      {hit.excerpt.map((piece, index) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place
        index % 2 ? <mark key={index}>{visible(piece)}</mark> : visible(piece),
      )}
    </span>
  );
}

/** What was searched, also as it is written where it was found: with its accents. */
export const searched = (search: string | undefined, hit: Hit | undefined) =>
  search && [search, ...(hit?.excerpt.filter((_, index) => index % 2) ?? [])].join(" ");

export const holds = (value: unknown, search: string | undefined) =>
  search !== undefined && marks(JSON.stringify(value), search, Number.POSITIVE_INFINITY).parts.some((part) => part.hit);

const HIGHLIGHT = "eg-searched";

/** Marks the words in an element, whatever it shows later, and goes to the first of them once. */
export function useMarks<Of extends HTMLElement>(search: string | undefined) {
  const root = useRef<Of>(null);
  useEffect(() => {
    const within = root.current;
    if (!within || !search || !("highlights" in CSS)) return;
    let arrived = false;
    const mark = () => {
      const ranges = rangesOf(within, search);
      CSS.highlights.set(HIGHLIGHT, new Highlight(...ranges));
      const first = ranges[0]?.startContainer.parentElement;
      if (arrived || !first) return;
      arrived = true;
      for (let above = first.closest("details"); above; above = above.parentElement?.closest("details") ?? null) {
        above.open = true;
      }
      first.scrollIntoView({ block: "center" });
    };
    mark();
    const watcher = new MutationObserver(mark);
    watcher.observe(within, { childList: true, characterData: true, subtree: true });
    return () => {
      watcher.disconnect();
      CSS.highlights.delete(HIGHLIGHT);
    };
  }, [search]);
  return root;
}

function rangesOf(within: HTMLElement, search: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    // The excerpt has its own marks, and the line of a folded call repeats what it opens to.
    if (node.parentElement?.closest("mark, summary")) continue;
    let at = 0;
    for (const { text, hit } of marks(node.nodeValue ?? "", search, Number.POSITIVE_INFINITY).parts) {
      if (hit) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        ranges.push(range);
      }
      at += text.length;
    }
  }
  return ranges;
}
