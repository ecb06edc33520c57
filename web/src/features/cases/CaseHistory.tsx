/** Every change of a case, newest first: who, when, why, and each field before and after. */
import { moment } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import classes from "./cases.module.css";
import { type Revision, useHistory } from "./data";

export function CaseHistory({ dataset, caseId }: { dataset: string; caseId: string }) {
  const history = useHistory(dataset, caseId);
  if (history.isPending) return <Loading what="history" rows={2} />;
  if (history.isLoadingError) return <Failed error={history.error} retry={() => void history.refetch()} />;
  return (
    <ol className={classes.history}>
      {[...history.data].reverse().map((revision) => (
        <li key={revision.version} className={classes.revision}>
          <div>
            <strong>{revision.action}</strong> by {revision.who} · {moment(revision.created_at)}
          </div>
          {revision.why && <div className={classes.change}>{revision.why}</div>}
          <Changes changes={revision.changes} />
        </li>
      ))}
    </ol>
  );
}

function Changes({ changes }: { changes: Revision["changes"] }) {
  return Object.entries(changes).map(([field, change]) => {
    const { old: before, new: after } = change as { old?: unknown; new?: unknown };
    return (
      <div key={field} className={classes.change}>
        {field}: {before !== undefined && before !== null && <span className={classes.before}>{brief(before)}</span>}{" "}
        {brief(after)}
      </div>
    );
  });
}

function brief(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text && text.length > 240 ? `${text.slice(0, 240)}…` : (text ?? "nothing");
}
