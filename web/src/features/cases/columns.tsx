/** The columns of the list of cases. */
import { useState } from "react";
import { When } from "@/ui/Age";
import { CaseTier, referenceText } from "@/ui/cases";
import { type ColumnSpec, choosable, columnsFrom, markedDim, shownOf } from "@/ui/RecordList";
import { Marked, visible } from "@/ui/text";
import classes from "./cases.module.css";
import { type Case, oneOf, type RepeatedQuestion } from "./data";
import type { CaseView } from "./view";

type Repeats = ReadonlyMap<string, RepeatedQuestion>;

export const CHOOSABLE = choosable(specsOf(undefined));
export const shownColumns = (view: CaseView) => shownOf(specsOf(view.q), view.columns);
export const columnsOf = (view: CaseView, repeats: Repeats) => columnsFrom(specsOf(view.q, repeats), view.columns);

function specsOf(search: string | undefined, repeats: Repeats = new Map()): ColumnSpec<Case>[] {
  return [
    { id: "tier", label: "Type", width: "112px", usual: true, cell: (entry) => <CaseTier entry={entry} /> },
    {
      id: "main",
      label: "Input",
      width: "minmax(0, 6fr)",
      always: true,
      cell: ({ dataset, id, name, input }) => {
        const repeated = repeats.get(`${dataset}/${id}`);
        const question = <Marked text={name || input} search={search} />;
        if (!repeated) return question;
        return (
          <span className={classes.asked}>
            <span>{question}</span>
            <span className="eg-dim">{oneOf(repeated)}</span>
          </span>
        );
      },
    },
    {
      id: "second",
      label: "Expected answer",
      header: "Answer",
      width: "minmax(0, 3fr)",
      usual: true,
      cell: (entry) => markedDim(wanted(entry), search),
    },
    { id: "kind", label: "Kind", width: "80px", cell: ({ kind }) => kind },
    { id: "dataset", label: "Dataset", width: "minmax(56px, 1.2fr)", usual: true, cell: ({ dataset }) => dataset },
    { id: "review", label: "Review", width: "100px", cell: ({ review }) => review },
    {
      id: "tags",
      label: "Tags",
      width: "minmax(56px, 1.2fr)",
      usual: true,
      cell: ({ tags }) => <FirstTag tags={tags} />,
    },
    {
      id: "age",
      label: "Changed",
      width: "76px",
      usual: true,
      cell: ({ updated_at, created_at }) => <When at={updated_at ?? created_at} />,
    },
  ];
}

/** What a good answer is; of a case about context, the files one has to find. */
function wanted(entry: Case): string {
  return referenceText(entry) || (entry.output ?? entry.paths.map(({ path }) => path).join(", "));
}

const MOST = 12;

/** Tags as pills. A record shows a dozen and offers the rest; a line of a list shows the first and counts the others. */
export function Tags({ tags }: { tags: readonly string[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? tags : tags.slice(0, MOST);
  return (
    <span className={classes.tags}>
      {shown.map((tag) => (
        <span key={tag} className={classes.tag}>
          {visible(tag)}
        </span>
      ))}
      {shown.length < tags.length && (
        <button type="button" className={classes.moreTags} onClick={() => setAll(true)}>
          and {tags.length - shown.length} more
        </button>
      )}
    </span>
  );
}

function FirstTag({ tags }: { tags: readonly string[] }) {
  const [first, ...others] = tags;
  if (!first) return null;
  return (
    <span className={classes.firstTag} title={tags.join(", ")}>
      <span className={classes.tag}>{visible(first)}</span>
      {others.length > 0 && <span>+{others.length}</span>}
    </span>
  );
}
