/** A question about a case that somebody decided: what came since and speaks against it, with the way to what raised it. */
import { Link } from "@tanstack/react-router";
import classes from "./Record.module.css";

export function NeedsLook({ question, traceId }: { question?: string | null; traceId?: string | null }) {
  if (!question) return null;
  return (
    <section className={classes.needsLook} aria-label="Needs another look">
      <strong>Does the decision still hold?</strong> {question}
      {traceId && (
        <>
          {" · "}
          <Link to="/traces/$traceId" params={{ traceId }} hash="scores">
            See the scores of its trace
          </Link>
        </>
      )}
    </section>
  );
}
