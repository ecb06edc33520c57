/** Why a trace is, or is not, golden: each policy's verdict, the scores that decided it, and what would change it. */
import { Button, Group } from "@mantine/core";
import { useMay } from "@/api/access";
import { EVIDENCE, GAPS, Tier } from "@/ui/cases";
import { plural, unit } from "@/ui/format";
import { Loading } from "@/ui/states";
import { Isolated, visible } from "@/ui/text";
import { type Explanation, useExplanations } from "./data";
import { Meter, WHOSE } from "./Scores";
import { Outcome } from "./TraceActions";
import classes from "./traces.module.css";
import { useTraceActions } from "./useTraceActions";

const BECOMES = {
  confirmed: "golden and confirmed",
  unconfirmed: "golden, unconfirmed",
  candidate: "a candidate",
  failure: "a failure",
  none: "left out",
};

/** As many scores as are listed without being asked for. */
const FEW = 3;

export function Why({ traceId }: { traceId: string }) {
  const why = useExplanations(traceId);
  const actions = useTraceActions([traceId]);
  const mayScore = useMay("ingest");
  if (why.isPending) return <Loading what="verdict" rows={2} />;
  if (why.isLoadingError)
    return <p className={classes.note}>Why it is (not) golden cannot be told: {why.error.message}</p>;
  return (
    <section className={classes.verdicts} aria-label="Why this is, or is not, golden">
      {why.data.map((verdict) => (
        <Verdict
          key={verdict.policy}
          verdict={verdict}
          busy={actions.busy}
          onScore={mayScore ? (value) => void actions.score(value) : undefined}
        />
      ))}
      <Outcome {...actions} />
    </section>
  );
}

/** What leads to one result stands in one sentence. */
function byResult(changes: NonNullable<Explanation["counterfactuals"]>) {
  const found = new Map<(typeof changes)[number]["result"], string[]>();
  for (const { result, when } of changes) found.set(result, [...(found.get(result) ?? []), when]);
  return [...found];
}

type VerdictProps = { verdict: Explanation; busy: boolean; onScore?: (value: 0 | 1) => void };

function Verdict({ verdict, busy, onScore }: VerdictProps) {
  return (
    <div className={classes.verdict} data-tier={verdict.tier}>
      <div className={classes.verdictHead}>
        <Tier tier={verdict.tier} label={verdict.tier === "none" ? "Not in the dataset" : undefined} />
        {verdict.evidence && (
          <span className={classes.policy}>rests on: {EVIDENCE[verdict.evidence]?.toLowerCase()}</span>
        )}
        <span className={classes.policy} title={verdict.policy}>
          policy {verdict.policy.split("@")[0]}
        </span>
      </div>
      <p className={classes.reason}>
        <Isolated text={verdict.reason} />
      </p>
      {verdict.deciding.length > 0 && (
        <details open={verdict.deciding.length <= FEW}>
          <summary className={classes.changesTitle}>{plural(verdict.deciding.length, "score")} decided</summary>
          <ul className={classes.deciding} aria-label="Scores that decided">
            {verdict.deciding.map((score, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: equal scores may stand twice, and the list is never reordered
              <li key={index}>
                {visible(score.name)} <Meter value={score.value} />{" "}
                <span className="eg-dim">{WHOSE[score.source ?? "system"]}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
      {(verdict.incomplete ?? []).length > 0 && (
        <ul className={classes.deciding} aria-label="What the trace lacks">
          {(verdict.incomplete ?? []).map(({ gap, change }) => (
            <li key={gap}>
              {GAPS[gap]}{" "}
              <span className="eg-dim">
                sent by {visible(verdict.exporter ?? "")}: {change}
              </span>
            </li>
          ))}
        </ul>
      )}
      {(verdict.remarks ?? []).length > 0 && (
        <ul className={classes.deciding} aria-label="Remarks that were detected">
          {(verdict.remarks ?? []).map((remark) => (
            <li key={remark.message_id}>
              “{visible(remark.message)}”{" "}
              <span className="eg-dim">
                {remark.kind} on {remark.target_id}, probability {unit(remark.probability)}:{" "}
                {(remark.evidence ?? []).join("; ").replaceAll("_", " ")}
              </span>
            </li>
          ))}
        </ul>
      )}
      {verdict.left_out.length > 0 && (
        <p className={classes.reason}>
          Took no part:{" "}
          <Isolated text={verdict.left_out.map((score) => `${score.name} (${unit(score.value)})`).join(", ")} />
        </p>
      )}
      {(verdict.counterfactuals ?? []).length > 0 && (
        <>
          <h3 className={classes.changesTitle}>What would change it</h3>
          <ul className={classes.changes}>
            {byResult(verdict.counterfactuals ?? []).map(([result, whens]) => (
              <li key={result}>
                It would be {BECOMES[result]} if <Isolated text={whens.join(", or ")} />.
              </li>
            ))}
          </ul>
        </>
      )}
      {onScore && (
        <Group gap={8} mt={6}>
          {(verdict.counterfactuals ?? [])
            .filter(({ change, result }) => change.action === "add" && change.source === "human" && result !== "none")
            .map(({ change: { value }, result }) => (
              <Button
                key={value}
                size="compact-sm"
                variant="default"
                disabled={busy}
                onClick={() => onScore(value === 1 ? 1 : 0)}
              >
                {value === 1 ? "Good" : "Bad"}: {BECOMES[result]}
              </Button>
            ))}
        </Group>
      )}
    </div>
  );
}
