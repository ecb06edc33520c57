/** One click that makes every failing replay of a run a case to review. */
import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { plural } from "@/ui/format";
import { useFailingToReview } from "./data";
import classes from "./replay.module.css";

export function FailingReplays({ runId }: { runId: string }) {
  const make = useFailingToReview(runId);
  if (make.data)
    return (
      <p className={classes.note} role="status">
        {make.data.cases === 0 ? (
          "No replay failed: each has an answer, and no metric is below 0.5."
        ) : (
          <>
            {plural(make.data.cases, "failing replay")} {make.data.cases === 1 ? "is a case" : "are cases"} to review:{" "}
            <Link to="/review" search={{ set: make.data.dataset }}>
              review {make.data.cases === 1 ? "it" : "them"}
            </Link>
          </>
        )}
      </p>
    );
  return (
    <>
      <Button variant="default" loading={make.isPending} onClick={() => make.mutate()}>
        Make failing replays cases
      </Button>
      {make.isError && <p className={classes.problem}>{make.error.message}</p>}
    </>
  );
}
