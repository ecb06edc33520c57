"""Warnings that a reader of a run's numbers needs."""

from collections.abc import Iterator, Mapping, Sequence

from evergold.model.run import Run, RunStatus
from evergold.report.scores import Mean
from evergold.stats.paired import FEWEST_GROUPS

THIN_COVERAGE = 0.9
CALIBRATED = "calibrated"


def warnings_of(run: Run, results: Sequence[Mean], attempts: int, calibrations: Mapping[str, str]) -> Iterator[str]:
    """`calibrations` says per judged metric `calibrated`, or what is wrong: "never calibrated", "changed since …"."""
    if run.status is not RunStatus.COMPLETED:
        yield f"the run is {run.status}: {run.done} of {run.total} attempts are in"
    if run.failed:
        yield f"{run.failed} of {attempts} attempts failed and have no score"
    if run.provenance.get("self_judged"):
        yield "judged by the model under test, which tends to favour its own answers"
    if derived := run.provenance.get("derived_tools"):
        yield f"{derived} cases expect calls and offer no tools: their schemas are derived from the expected calls"
    few = [mean.metric for mean in results if 0 < mean.n < FEWEST_GROUPS]
    if few:
        yield f"{', '.join(few)}: fewer than {FEWEST_GROUPS} cases cannot tell two models apart"
    for mean in results:
        # Unscored answers are seldom a random sample: long or refused ones fail to be judged more often.
        if mean.n < THIN_COVERAGE * mean.of:
            yield f"{mean.metric} rests on {mean.n} of {mean.of} cases; the rest may be the harder ones"
    yield from uncalibrated(run, calibrations)


def uncalibrated(run: Run, calibrations: Mapping[str, str]) -> Iterator[str]:
    """Name the metrics whose judge nobody measured against people; those of one judge in one state share a warning."""
    doubts: dict[tuple[str, str], list[str]] = {}
    for spec in run.metrics:
        state = calibrations.get(spec.name, "never calibrated against human labels")
        if spec.judge is not None and state != CALIBRATED:
            doubts.setdefault((spec.judge, state), []).append(spec.name)
    for (judge, state), names in doubts.items():
        yield f"{', '.join(names)}: judge {judge} is uncalibrated ({state}); see `evergold judge calibrate`"
