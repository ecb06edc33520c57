/** How far we are, who did it, and how far reviewers agree, with the interval that says how sure that is. */
import { Progress, Table, type TableData, VisuallyHidden } from "@mantine/core";
import { Fragment } from "react";
import type { Schemas } from "@/api/client";
import { duration, plural, share } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import desk from "../desk.module.css";
import { useAgreement, useProgress } from "./data";
import classes from "./queue.module.css";

export function ProgressView() {
  const progress = useProgress();
  const agreement = useAgreement();
  if (progress.isPending || agreement.isPending) return <Loading what="progress" />;
  if (progress.isLoadingError) return <Failed error={progress.error} retry={() => void progress.refetch()} />;
  if (agreement.isLoadingError) return <Failed error={agreement.error} retry={() => void agreement.refetch()} />;
  const agreed = agreement.data;
  return (
    <div className={classes.progress}>
      <Panel title="Datasets">
        <Table
          data={{
            head: ["Dataset", "Validated", "Dismissed", <VisuallyHidden key="share">Share validated</VisuallyHidden>],
            body: progress.data.datasets.map((row) => [
              row.dataset,
              <Fragment key="validated">
                {row.validated} of {row.total - row.candidates}
                {row.candidates > 0 && <div className={desk.dim}>{plural(row.candidates, "candidate")}</div>}
              </Fragment>,
              row.dismissed,
              <Progress
                key="share"
                aria-label={`Validated in ${row.dataset}`}
                value={(100 * row.validated) / Math.max(1, row.total - row.candidates)}
                miw={{ base: 16, sm: 200 }}
              />,
            ]),
          }}
        />
      </Panel>
      <Panel title="Reviewers">
        {progress.data.reviewers.length ? (
          <Reviewers rows={progress.data.reviewers} goal={progress.data.daily_goal} />
        ) : (
          <p className={desk.dim}>Nobody has decided on a case yet.</p>
        )}
      </Panel>
      <Panel title="Agreement" aside={`${agreed.shared} cases with two opinions or more, ${agreed.disputed} disputed`}>
        <dl className={classes.figures}>
          <Shown name="Equal verdicts" figure={agreed.agreement} />
          <Shown name="Fleiss' kappa, everybody" figure={agreed.fleiss} />
          {agreed.pairs.map(({ reviewers, cohen }) => (
            <Shown key={reviewers.join()} name={`Cohen's kappa, ${reviewers.join(" and ")}`} figure={cohen} />
          ))}
        </dl>
      </Panel>
      <QuestionAgreement rows={agreed.questions} />
    </div>
  );
}

type ReviewersProps = { rows: readonly Schemas["ReviewerProgress"][]; goal: number };

const REVIEWER_COLUMNS = [
  "Reviewer",
  "Today",
  "Time per case",
  "Agrees with colleagues",
  "Approved",
  "Dismissed",
  "Second opinions asked",
  "Skipped",
];

function Reviewers({ rows, goal }: ReviewersProps) {
  const body = rows.map((row) => [
    row.reviewer,
    goal > 0 ? `${row.today} of ${goal}` : row.today,
    row.seconds_per_case === null ? "—" : duration(row.seconds_per_case * 1000),
    row.agreement.value === null ? "—" : share(row.agreement.value, 1),
    row.approve,
    row.dismiss,
    row.second_opinion,
    row.skip,
  ]);
  return <WideTable width={640} data={{ head: REVIEWER_COLUMNS, body }} />;
}

/** A table that scrolls sideways where it does not fit, also by keyboard. */
function WideTable({ width, data }: { width: number; data: TableData }) {
  return (
    <Table.ScrollContainer minWidth={width} scrollAreaProps={{ viewportProps: { tabIndex: 0 } }}>
      <Table data={data} />
    </Table.ScrollContainer>
  );
}

function Shown({ name, figure }: { name: string; figure: Schemas["AgreementFigure"] }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <FigureText figure={figure} />
      </dd>
    </div>
  );
}

/** How far reviewers agree on each question of their datasets. */
function QuestionAgreement({ rows }: { rows: readonly Schemas["QuestionAgreement"][] }) {
  if (rows.length === 0) return null;
  const body = rows.map((row) => [
    row.title,
    row.dataset,
    row.answers,
    <FigureText key="equal" figure={row.agreement} />,
    <Fragment key="beyond">
      <FigureText figure={row.beyond_chance} /> {row.beyond_chance.value !== null && `(${row.measure})`}
    </Fragment>,
  ]);
  return (
    <Panel title="Questions">
      <WideTable width={560} data={{ head: ["Question", "Dataset", "Answers", "Equal", "Beyond chance"], body }} />
    </Panel>
  );
}

/** A figure of agreement with its interval, or the reason why there is none. */
function FigureText({ figure }: { figure: Schemas["AgreementFigure"] }) {
  if (figure.value === null) return <span className={desk.dim}>{figure.reason}</span>;
  const bounds =
    figure.low === null || figure.high === null
      ? "no interval"
      : `95 %: ${figure.low.toFixed(2)} to ${figure.high.toFixed(2)}`;
  return (
    <>
      <b>{figure.value.toFixed(2)}</b>{" "}
      <span className={desk.dim}>
        {bounds}, n = {figure.n}
      </span>
    </>
  );
}
