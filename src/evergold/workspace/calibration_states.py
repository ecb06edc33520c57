"""Whether the judge of a run is calibrated for each metric it judged: with the same prompts, and not another judge."""

from evergold.model.run import Run
from evergold.report.summary import CALIBRATED
from evergold.store.run.runs import CalibrationStore


def calibration_states(calibrations: CalibrationStore, run: Run) -> dict[str, str]:
    """Per judged metric: `calibrated`, or why the judge of this run is not."""
    results = {}
    for spec in run.metrics:
        if spec.judge is None:
            continue
        # A metric with parameters (`rubric:politeness`) is calibrated under its base name.
        rows = calibrations.of_metric(spec.name.partition(":")[0])
        same = [row for row in rows if row.judge == spec.judge]
        if any(row.prompt_hash == spec.prompt_hash for row in same):
            results[spec.name] = CALIBRATED
        elif same:
            results[spec.name] = f"its prompts changed since {same[0].created_at[:10]}"
        elif rows:
            results[spec.name] = f"only {rows[0].judge} was calibrated"
        else:
            results[spec.name] = "never calibrated against human labels"
    return results
