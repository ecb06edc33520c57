/** The session's rows to the workspace, in pieces the server takes; what it kept of colleagues' work is told. */
import { api, unwrap } from "@/api/client";
import { reviewerName } from "../queue/data";
import { rowA, rowB } from "./exportRows";
import type { Content, JsonObject } from "./rows";
import type { CaseState, Session } from "./session";

const CASES_AT_ONCE = 200;

/** A row without the needs flags is a validated one; the others carry them, as in the files. */
function rowsOf({ content, validated }: CaseState): JsonObject[] {
  const flags = validated ? {} : needs(content);
  return [rowA(content), rowB(content)].flatMap((row) => (row === null ? [] : [{ ...row, ...flags }]));
}

const needs = (content: Content) => ({
  needsQuery: content.query.trim() === "",
  needsBaseCommit: content.baseCommit.trim() === "",
});

export async function sendRows(session: Session): Promise<string> {
  const total = { added: 0, changed: 0, unchanged: 0, kept: 0, problems: 0 };
  for (let at = 0; at < session.order.length; at += CASES_AT_ONCE) {
    const keys = session.order.slice(at, at + CASES_AT_ONCE);
    const rows = keys.flatMap((key) => rowsOf(session.cases[key] as CaseState));
    const taken = await unwrap(
      api.POST("/api/v1/review/rows", {
        body: { rows, dataset: "context", replace: false },
        headers: { "x-evergold-reviewer": reviewerName() },
      }),
    );
    total.added += taken.added;
    total.changed += taken.changed;
    total.unchanged += taken.unchanged;
    total.kept += taken.kept.length;
    total.problems += taken.problems.length;
  }
  const said = `Sent to dataset context: ${total.added} new, ${total.changed} updated, ${total.unchanged} unchanged`;
  const kept = total.kept > 0 ? `; ${total.kept} kept as people left them there` : "";
  return `${said}${kept}${total.problems > 0 ? `; ${total.problems} not taken` : ""}.`;
}
