/** The cases that changed from the baseline to a candidate, worst first, with both answers beside the reference. */
import { Button, Group, SegmentedControl, Select, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useMay } from "@/api/access";
import { useFailingToReview } from "@/features/replay/data";
import { count, plural } from "@/ui/format";
import { Dialog } from "@/ui/forms";
import { Panel } from "@/ui/Page";
import { useShortcuts } from "@/ui/shortcuts";
import { Empty, ListState } from "@/ui/states";
import { visible } from "@/ui/text";
import { BesideDrawer } from "./BesideDrawer";
import classes from "./compare.module.css";
import { type ChangeKind, type ComparedCase, type Comparison, useComparedCases } from "./data";
import { decimals } from "./figures";
import { signed } from "./forestRows";
import { CHANGES, type CompareView } from "./view";

type ChangedCasesProps = {
  compared: Comparison;
  candidates: readonly string[];
  runs: readonly string[];
  names: ReadonlyMap<string, string>;
  view: CompareView;
  show: (next: Partial<CompareView>) => void;
};

const LABELS: Record<ChangeKind, string> = {
  changed: "Changed",
  lost: "Lost",
  gained: "Gained",
  errors: "Errors",
  all: "All",
};

export function ChangedCases({ compared, candidates, runs, names, view, show }: ChangedCasesProps) {
  const metrics = compared.metrics.map(({ metric }) => metric);
  const metric = metrics.find((each) => each === view.metric) ?? metrics[0] ?? "";
  const kind = view.show ?? "changed";
  const query = useComparedCases(compared.first, compared.second, metric, kind);
  const counts = query.data?.pages[0]?.counts;
  const cases = query.data?.pages.flatMap((page) => page.cases) ?? [];
  const total = counts?.[kind] ?? 0;
  const mayMake = useMay("editor");
  const lost = compared.metrics.find((each) => each.metric === metric)?.lost ?? [];
  // Of all that changed, those that were lost are worth a review; another filter says what is wanted.
  const these = kind === "changed" ? lost : cases.map((each) => each.case_id);
  const cursor = useRowKeys(
    cases,
    (caseId) => show({ case: caseId }),
    () => query.hasNextPage && query.fetchNextPage(),
  );
  return (
    <Panel title="Cases that changed, worst first" aside={total > 0 && plural(total, "case")} flush>
      <div className={classes.filters}>
        <SegmentedControl
          size="xs"
          aria-label="Which cases"
          value={kind}
          onChange={(value) => show({ show: value === "changed" ? undefined : (value as ChangeKind), case: undefined })}
          data={CHANGES.map((value) => ({
            value,
            label: counts ? `${LABELS[value]} ${count(counts[value] ?? 0)}` : LABELS[value],
          }))}
        />
        {metrics.length > 1 && (
          <Select
            size="xs"
            aria-label="Metric"
            allowDeselect={false}
            data={metrics}
            value={metric}
            onChange={(value) => show({ metric: value ?? undefined })}
          />
        )}
        {candidates.length > 1 && (
          <Select
            size="xs"
            aria-label="Candidate"
            allowDeselect={false}
            data={candidates.map((id) => ({ value: id, label: names.get(id) ?? id }))}
            value={compared.second}
            onChange={(value) => show({ against: value ?? undefined })}
          />
        )}
        <span className={classes.actions}>
          <Button
            size="compact-sm"
            variant="default"
            disabled={cases.length === 0}
            onClick={() => show({ case: cases[0]?.case_id })}
          >
            Side by side (n)
          </Button>
          {mayMake && these.length > 0 && kind !== "errors" && (
            <MakeCases
              key={kind}
              runId={compared.second}
              cases={these}
              word={kind === "changed" || kind === "lost" ? "lost case" : "case"}
            />
          )}
        </span>
      </div>
      <ListState
        what="cases"
        query={query}
        rows={cases}
        empty={
          <Empty
            title={kind === "changed" ? "No case changed" : `No case: ${(LABELS[kind] ?? kind).toLowerCase()}`}
            action={
              kind !== "all" && (
                <Button variant="default" onClick={() => show({ show: "all" })}>
                  Look at all cases
                </Button>
              )
            }
          />
        }
      >
        <CaseTable
          cases={cases}
          names={[names.get(compared.first) ?? compared.first, names.get(compared.second) ?? compared.second]}
          rows={cursor}
          open={(caseId) => show({ case: caseId })}
        />
        {query.hasNextPage && (
          <div className={classes.more}>
            <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
              Show more ({count(cases.length)} of {count(total)})
            </Button>
          </div>
        )}
      </ListState>
      <BesideDrawer
        runs={runs}
        names={names}
        caseId={view.case ?? null}
        tasks={cases.map((each) => each.case_id)}
        open={(caseId) => show({ case: caseId ?? undefined })}
      />
    </Panel>
  );
}

/** j and k walk through the rows, Enter opens; more are asked for at the end. Gives the element that holds the rows. */
function useRowKeys(cases: readonly ComparedCase[], open: (caseId: string) => void, more: () => unknown) {
  const holder = useRef<HTMLTableSectionElement>(null);
  const buttons = () => [...(holder.current?.querySelectorAll<HTMLElement>("button[data-case]") ?? [])];
  const at = () => buttons().indexOf(document.activeElement as HTMLElement);
  const move = (step: number) => {
    const next = Math.max(0, at() + step);
    if (next >= cases.length - 1) more();
    const button = buttons()[Math.min(next, cases.length - 1)];
    button?.focus({ preventScroll: true });
    button?.closest("tr")?.scrollIntoView({ block: "nearest" });
  };
  useShortcuts("Cases", [
    { keys: "j", does: "Next case", run: () => move(1) },
    { keys: "k", does: "Previous case", run: () => move(-1) },
    {
      keys: "Enter",
      does: "Open side by side",
      run: () => cases[0] && open((cases[Math.max(0, at())] ?? cases[0]).case_id),
    },
    { keys: "n", does: "First case side by side", run: () => cases[0] && open(cases[0].case_id) },
  ]);
  return holder;
}

type CaseTableProps = {
  cases: readonly ComparedCase[];
  names: readonly [string, string];
  rows: React.RefObject<HTMLTableSectionElement | null>;
  open: (caseId: string) => void;
};

function CaseTable({ cases, names, rows, open }: CaseTableProps) {
  return (
    <table className={classes.cases}>
      <thead>
        <tr>
          <th>Question</th>
          <th>Reference</th>
          {names.map((name) => (
            <th key={name}>{name}</th>
          ))}
          <th className={classes.number}>Difference</th>
        </tr>
      </thead>
      <tbody ref={rows}>
        {cases.map((each) => (
          <tr key={each.case_id} data-verdict={toneOf(each.difference)}>
            <td data-column="question">
              <button
                type="button"
                className={classes.open}
                data-case={each.case_id}
                title={each.case_id}
                dir="auto"
                onClick={() => open(each.case_id)}
              >
                {visible(each.question)}
              </button>
            </td>
            <td data-label="Reference">
              <span className={classes.answer} dir="auto">
                {each.reference ? visible(each.reference) : <span className={classes.dim}>none</span>}
              </span>
            </td>
            <Side label={names[0]} side={each.first} />
            <Side label={names[1]} side={each.second} />
            <td className={classes.number} data-column="difference">
              <strong>{typeof each.difference === "number" ? signed(each.difference) : "unknown"}</strong>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const toneOf = (difference: number | null | undefined) =>
  !difference || Math.abs(difference) < 0.0005 ? "same" : difference > 0 ? "better" : "worse";

function Side({ label, side: { value, answer, error } }: { label: string; side: ComparedCase["first"] }) {
  return (
    <td data-label={label}>
      <span className={classes.value}>{typeof value === "number" ? decimals(value) : "no value"}</span>
      {error && <span className={classes.error}>{visible(error)}</span>}
      {answer ? (
        <span className={classes.answer} dir="auto">
          {visible(answer)}
        </span>
      ) : (
        !error && <span className={classes.dim}>no answer</span>
      )}
    </td>
  );
}

const MOST = 1000;

/** The candidate's answers to these cases become cases to review, in a dataset of one's choice. */
function MakeCases({ runId, cases, word }: { runId: string; cases: readonly string[]; word: string }) {
  const [asking, setAsking] = useState(false);
  const [dataset, setDataset] = useState("failures");
  const make = useFailingToReview(runId);
  const wanted = { dataset: dataset.trim(), cases: cases.slice(0, MOST) };
  if (make.data) {
    const without = wanted.cases.length - make.data.cases;
    return (
      <span className={classes.made} role="status">
        {plural(make.data.cases, "case")} to review in{" "}
        <Link to="/review" search={{ set: make.data.dataset }}>
          {make.data.dataset}
        </Link>
        {without > 0 && `; ${count(without)} had no answer`}
      </span>
    );
  }
  return (
    <>
      <Button size="compact-sm" onClick={() => setAsking(true)}>
        Make {plural(wanted.cases.length, word)} to review…
      </Button>
      {asking && (
        <Dialog title="Make these cases" onClose={() => setAsking(false)} centered>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              make.mutate(wanted, { onSuccess: () => setAsking(false) });
            }}
          >
            <p className={classes.explained}>
              The candidate’s answers to {plural(wanted.cases.length, word)} become cases to review, with question and
              reference. Attempts without an answer are left out.
            </p>
            <TextInput
              label="Dataset"
              required
              maxLength={200}
              data-autofocus
              value={dataset}
              onChange={(event) => setDataset(event.currentTarget.value)}
            />
            {make.isError && (
              <p className={classes.error} role="alert">
                {make.error.message}
              </p>
            )}
            <Group justify="flex-end" mt="md">
              <Button variant="default" onClick={() => setAsking(false)}>
                Cancel
              </Button>
              <Button type="submit" loading={make.isPending} disabled={!wanted.dataset}>
                Make {plural(wanted.cases.length, "case")}
              </Button>
            </Group>
          </form>
        </Dialog>
      )}
    </>
  );
}
