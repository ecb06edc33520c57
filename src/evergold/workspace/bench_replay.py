"""Prepare a run as a replay: its cases by turn, the target that plays them, and the models that help."""

from collections.abc import Sequence

from evergold.bench.replay import Helpers, ReplayTarget, replayable_cases
from evergold.bench.replay.play import StepLog
from evergold.bench.targets import make_target, parse_name, refuse_remote
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Run, RunSpec, Turns
from evergold.model.tool_schemas import PackedCases
from evergold.seams import Target
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.run.attempts import StepStore

RECORDED = "recorded"


def check_replay(spec: RunSpec, *, local: bool) -> None:
    """Refuse a replay that cannot be played: a helper nobody knows, or a recorded model before a simulated user."""
    replay = spec.replay
    if replay is None:
        return
    for model in (replay.user_model, replay.tool_model):
        if model is not None:
            parse_name(model)
            if not local:
                refuse_remote(model)
    if replay.turns is Turns.SIMULATED and parse_name(spec.model).plugin == RECORDED:
        raise BadInput("the recorded model cannot answer a simulated user; take --turns all, or another model")


def played(cases: Sequence[Case], spec: RunSpec) -> Sequence[Case]:
    """The cases of a run; a replay of each turn makes one case per turn."""
    each = spec.replay is not None and spec.replay.turns is Turns.EACH
    return PackedCases(replayable_cases(cases, spec.replay)) if each and spec.replay else cases


def replaying(target: Target, run: Run, store: Store, settings: Settings) -> Target:
    """The target of a run; of a replay, one that plays whole trajectories and keeps their steps in the store."""
    replay = run.spec.replay
    if replay is None:
        return target
    user, tools = (
        None if model is None else make_target(model, {}, settings) for model in (replay.user_model, replay.tool_model)
    )
    return ReplayTarget(target, replay, StepLog(StepStore(store.db), run.id), Helpers(user, tools))
