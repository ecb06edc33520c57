/** Passages marked with labels: select them with mouse or Shift and arrows, then choose a label. */
import { Button, CloseButton, Textarea } from "@mantine/core";
import { useRef, useState } from "react";
import type { Question } from "../queue/data";
import { characterAt, type Mark, passage, pieces, withMark, withoutMark } from "./marks";
import classes from "./questions.module.css";

type SpanFieldProps = { question: Question; text: string; marks: Mark[]; onMarks: (marks: Mark[]) => void };

export function SpanField({ question, text, marks, onMarks }: SpanFieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState(false);

  function add(label: string) {
    const { selectionStart, selectionEnd } = field.current ?? { selectionStart: 0, selectionEnd: 0 };
    if (selectionStart === selectionEnd) return;
    const [start, end] = [characterAt(text, selectionStart), characterAt(text, selectionEnd)];
    onMarks(withMark(marks, { start, end, label }));
  }

  if (text === "") return <p className={classes.help}>This case has no {question.on} to mark.</p>;
  return (
    <>
      <Textarea
        ref={field}
        aria-readonly // an input that is read-only takes no selection by keyboard in every browser
        onChange={() => undefined}
        aria-label={`${question.title}: select a passage`}
        dir="auto"
        autosize
        minRows={2}
        maxRows={6}
        value={text}
        onSelect={(event) => setChosen(event.currentTarget.selectionStart !== event.currentTarget.selectionEnd)}
      />
      <div className={classes.options}>
        {(question.options ?? []).map((label) => (
          <Button key={label} size="compact-sm" variant="default" disabled={!chosen} onClick={() => add(label)}>
            Mark as {label}
          </Button>
        ))}
      </div>
      {marks.length > 0 && (
        <>
          <p className={classes.marked} dir="auto">
            {pieces(text, marks).map((piece, index) =>
              piece.label === null ? (
                piece.text
              ) : (
                // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no identity but their place
                <mark key={index} title={piece.label}>
                  {piece.text}
                </mark>
              ),
            )}
          </p>
          <ul className={classes.marks} aria-label="Marked passages">
            {marks.map((mark) => (
              <li key={`${mark.start} ${mark.end} ${mark.label}`}>
                <span dir="auto">
                  {mark.label}: “{passage(text, mark)}”
                </span>
                <CloseButton
                  size="xs"
                  aria-label={`Remove the mark ${mark.label} on ${passage(text, mark)}`}
                  onClick={() => onMarks(withoutMark(marks, mark))}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
