"""A run on a cluster: workers call its target and ask its judge; budget, retries and storing stay with the run."""

from functools import partial
from typing import TYPE_CHECKING

from evergold.bench.judge_names import judge_named, make_judge
from evergold.bench.targets import make_target
from evergold.calls.elsewhere import JudgeElsewhere, TargetElsewhere
from evergold.model.run import Run, RunSpec
from evergold.seams import Judge, Target
from evergold.settings import Settings
from evergold.workspace.cluster import settings_to_send

if TYPE_CHECKING:
    from evergold.scale.executors import Workers


def called_by(
    workers: "Workers", spec: RunSpec, here: tuple[Target, Judge | None], settings: Settings
) -> tuple[Target, Judge | None]:
    """The target and the judge of a run as workers call them."""
    target, judge = here
    sent = settings_to_send(settings)
    called = TargetElsewhere(target, partial(make_target, spec.model, spec.params, sent), workers.executor)
    return called, judge and asked_by(workers, judge, judge_named(spec.judge, settings), settings)


def asked_by(workers: "Workers", judge: Judge, name: str, settings: Settings) -> Judge:
    """A judge that workers ask."""
    return JudgeElsewhere(judge, partial(make_judge, name, settings_to_send(settings)), workers.executor)


def within(run: Run, workers: "Workers | None") -> Run:
    """The run with no more calls at once than workers can make: one that waited for a worker would run out of time."""
    if workers is None or run.spec.concurrency <= workers.count:
        return run
    return run.model_copy(update={"spec": run.spec.model_copy(update={"concurrency": workers.count})})
