"""What a run needs before it can begin: its spec checked, its cases frozen, and target, metrics and judge made.

What it depends on beside its spec is recorded: the questions, the judge and the code. A replay's cases are made by turn.
"""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from evergold import plugins
from evergold.bench.metrics import NamedMetric, make_metrics, metrics_of
from evergold.bench.overrun import MetricLimit, Slot
from evergold.bench.replay import Helpers, ReplayTarget
from evergold.bench.replay.play import StepLog
from evergold.bench.replay.record import each_turn
from evergold.bench.runner import Parts
from evergold.calls.caller import RetryPolicy
from evergold.calls.endpoints import RemoteModel, without_key
from evergold.calls.targets import make_target, parse_name, refuse_remote
from evergold.credentials import hide_address
from evergold.errors import BadInput
from evergold.judge.names import check_judge, judge_named, make_judge
from evergold.model.build import Frozen
from evergold.model.case import Candidates, Case
from evergold.model.run import MetricInfo, MetricSpec, Run, RunSpec, Turns, Usage
from evergold.model.tool_schemas import PackedCases, with_derived_tools
from evergold.seams import Judge
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.run.attempts import StepStore

if TYPE_CHECKING:
    from evergold.model.run import Plan
    from evergold.spread import Workers


def judged_by(model: str, metrics: Sequence[MetricSpec]) -> dict[str, Any]:
    """Who judged, and whether the model under test is among them; a panel's members and an address stand in the name."""
    judges = list(dict.fromkeys(metric.judge for metric in metrics if metric.judge))
    # Names of judges may hold an address in brackets, or the members of a panel.
    named = {word for judge in judges for word in re.split(r"[(), ]+", judge)}
    return {"judge": ", ".join(judges) or None, "self_judged": model.strip() in named}


def list_metrics() -> list[MetricInfo]:
    """Return every metric installed here, with what it measures."""
    made = plugins.load_all("metrics", plugins.names("metrics"), partial(plugins.factory, "metrics")).items()
    return [
        MetricInfo(
            name=name,
            description=(inspect.getdoc(factory) or "").partition("\n")[0],
            version=str(getattr(factory, "version", "1")),
            judged=hasattr(factory, "measure_with"),
        )
        for name, factory in made
    ]


class RunSetup:
    """Checks and makes the parts of runs; stores nothing."""

    def __init__(self, settings: Settings, store: Store, freeze: Callable[..., Frozen]) -> None:
        """`freeze` gives the cases of a dataset by its name, with `limit`, `local`, `dataset_type` and `cases`."""
        self._settings, self._store, self._freeze = settings, store, freeze

    def plan(self, spec: RunSpec, *, local: bool = False, dataset_type: str | None = None) -> "Plan":
        """What a run would take and could show; nothing is stored or called."""
        from evergold.bench.plan import plan_run

        frozen, metrics = self._check(spec, local=local, dataset_type=dataset_type)
        named = spec.model_copy(update={"judge": judge_named(spec.judge, self._settings)})
        own = without_key("", self._settings).provider
        return plan_run(named, frozen, metrics, lambda plugin: own if plugin == "openai" else plugin)

    def new_run(self, spec: RunSpec, *, origin: str, local: bool, **where: Any) -> tuple[Run, Sequence[Case]]:
        """Make a run that nothing refuses, with the cases as they are now; `origin` is whose it is, a server's or a command's.

        `where` are options of `freeze`.
        """
        replay = spec.replay
        if replay is not None:
            models = {name: getattr(replay, name) for name in ("user_model", "tool_model")}
            replay = replay.model_copy(update={name: model and hide_address(model) for name, model in models.items()})
        params = {name: hide_address(value) if isinstance(value, str) else value for name, value in spec.params.items()}
        spec = spec.model_copy(update={"model": hide_address(spec.model), "replay": replay, "params": params})
        frozen, metrics = self._check(spec, local=local, **where)
        judge = self.judge(spec, metrics)
        listed = tuple(metric.spec(judge) for metric in metrics)
        by_turn = spec.replay is not None and spec.replay.turns is Turns.EACH
        chosen = PackedCases(turn for case in frozen.cases for turn in each_turn(case)) if by_turn else frozen.cases
        cases, derived = with_derived_tools(chosen)
        name = parse_name(spec.model)
        dataset = {"name": frozen.name, "version": frozen.version, "content_hash": frozen.content_hash}
        run = Run(
            id=f"run_{datetime.now(UTC):%Y%m%d%H%M%S}_{uuid4().hex[:6]}",
            spec=spec.model_copy(update={"dataset": frozen.name, "metrics": tuple(metric.name for metric in listed)}),
            created_at=datetime.now(UTC),
            metrics=listed,
            provenance={
                "dataset": dataset | ({"build": frozen.build} if frozen.build else {}),
                "seed": spec.seed,
                "code": f"evergold {version('evergold')}",
                "origin": origin,
                # What will answer: the model's name, and where it is asked when that is not the public address.
                "target": without_key(name.address, self._settings).identity if name.plugin == "openai" else spec.model,
                **judged_by(spec.model, listed),
                **({"derived_tools": derived} if derived else {}),
                **({"candidates_left_out": frozen.candidates_left_out} if frozen.candidates_left_out else {}),
            },
        )
        return run, cases

    def _check(self, spec: RunSpec, *, local: bool, **where: Any) -> tuple[Frozen, list[NamedMetric]]:
        metrics = make_metrics(spec.metrics) if spec.metrics else []
        parse_name(spec.model)
        if (replay := spec.replay) is not None:
            for model in filter(None, (replay.user_model, replay.tool_model)):
                parse_name(model)
                if not local:
                    refuse_remote(model)
            if replay.turns is Turns.SIMULATED and parse_name(spec.model).plugin == "recorded":
                raise BadInput("the recorded model cannot answer a simulated user; take --turns all, or another model")
        # Parameters are tested here so that a queued run cannot fail on them minutes later.
        self._deadline(spec)
        # Cases that are named come along whatever they rest on.
        candidates = Candidates.INCLUDE if spec.cases else spec.candidates
        options = {"limit": spec.limit, "local": local, "candidates": candidates}
        frozen = self._freeze(spec.dataset, **options, **where).select(spec.cases)
        named = metrics_of(frozen.cases)
        # A run that names no metrics takes those that its cases name.
        metrics = metrics or make_metrics(named)
        if spec.judge or any(metric.needs_judge for metric in metrics):
            check_judge(judge_named(spec.judge, self._settings))
        return frozen, metrics

    def judge(self, spec: RunSpec, metrics: Sequence[NamedMetric]) -> Judge | None:
        """Make the judge of a run; None where no metric asks one."""
        if not any(metric.needs_judge for metric in metrics):
            return None
        return make_judge(judge_named(spec.judge, self._settings), self._settings)

    def parts(self, run: Run, slot: Slot | None = None, workers: "Workers | None" = None) -> Parts:
        """Make what works on a run; with workers of a cluster those call target and judge."""
        metrics = make_metrics(run.spec.metrics)
        target = make_target(run.spec.model, run.spec.params, self._settings)
        judge = self.judge(run.spec, metrics)
        if workers is not None:
            # Workers get the keys of models, not the way into the database and the server.
            sent = replace(self._settings, database_url="", server_token="")
            made = partial(make_target, run.spec.model, run.spec.params, sent)
            target = RemoteModel(target, made, workers.executor)
            if judge is not None:
                name = judge_named(run.spec.judge, self._settings)
                judge = RemoteModel(judge, partial(make_judge, name, sent), workers.executor)
        if (replay := run.spec.replay) is not None:
            user, tools = (
                None if model is None else make_target(model, {}, self._settings)
                for model in (replay.user_model, replay.tool_model)
            )
            steps = StepLog(StepStore(self._store.db), run.id)
            target = ReplayTarget(target, replay, steps, Helpers(user, tools))
        if run.spec.budget_money is not None and not getattr(target, "priced", True):
            raise BadInput(f"no price is known for {target.identity}; give the budget in tokens")
        return Parts(
            target=target,
            metrics=metrics,
            judge=judge,
            retry=RetryPolicy(tries=self._settings.benchmark_tries),
            deadline=self._deadline(run.spec),
            limit=MetricLimit(self._settings.benchmark_metric_timeout, slot),
            replayed=run.spec.replay is not None,
            spent=StepStore(self._store.db).usage_so_far(run.id) if run.spec.replay else Usage(),
        )

    def _deadline(self, spec: RunSpec) -> float:
        """Seconds one call may take."""
        seconds = spec.params.get("timeout", self._settings.benchmark_timeout)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
            raise BadInput(f"the parameter timeout is seconds above 0, not {seconds!r}")
        return float(seconds)
