"""What a run needs before it can begin: its spec checked, its cases frozen, and target, metrics and judge made."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

from pydantic import BaseModel

from evergold import plugins
from evergold.bench.metrics import NamedMetric, make_metrics
from evergold.bench.overrun import Limit, Slot
from evergold.bench.runner import Parts
from evergold.bench.targets import make_target, parse_name
from evergold.calls.caller import RetryPolicy
from evergold.calls.endpoints import openai_identity, openai_provider
from evergold.errors import BadInput
from evergold.judge.names import check_judge, judge_named, make_judge
from evergold.model.case import Case
from evergold.model.run import Run, RunSpec, Usage
from evergold.model.tool_schemas import with_derived_tools
from evergold.seams import Judge, Target
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.run.attempts import StepStore
from evergold.workspace.bench_datasets import BenchDatasets
from evergold.workspace.bench_provenance import judged_by, provenance_of
from evergold.workspace.bench_replay import check_replay, played, replaying
from evergold.workspace.bench_splits import Frozen

if TYPE_CHECKING:
    from evergold.bench.plan import Plan
    from evergold.spread import Workers


class MetricInfo(BaseModel, frozen=True):
    """A metric one can name in a run."""

    name: str
    description: str
    version: str
    judged: bool


def installed_metrics() -> list[MetricInfo]:
    """Return every metric installed here, with what it measures."""
    made = [(name, plugins.factory("metrics", name)) for name in plugins.names("metrics")]
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

    def __init__(self, settings: Settings, store: Store, datasets: BenchDatasets) -> None:
        self._settings = settings
        self._store = store
        self._datasets = datasets

    def plan(self, spec: RunSpec, *, local: bool = False, dataset_type: str | None = None) -> "Plan":
        """What a run would take and could show; nothing is stored or called."""
        from evergold.bench.plan import Questions, plan_run

        frozen, metrics = self._checked(spec, local=local, dataset_type=dataset_type)
        cases, derived = with_derived_tools(frozen.cases)
        asked = Questions(frozen.version, frozen.content_hash, cases, derived)
        named = spec.model_copy(update={"judge": judge_named(spec.judge, self._settings)})
        return plan_run(named, asked, metrics, self._provider)

    def _provider(self, plugin: str) -> str:
        """Whose prices hold for the models of a plugin; empty: nobody's known."""
        return openai_provider(self._settings) if plugin == "openai" else plugin

    def new_run(
        self, spec: RunSpec, *, origin: str, local: bool, dataset_type: str | None = None
    ) -> tuple[Run, Sequence[Case]]:
        """Make a run that nothing refuses, with the cases as they are now."""
        frozen, metrics = self._checked(spec, local=local, dataset_type=dataset_type)
        judge = self.judge(spec, metrics)
        listed = tuple(metric.spec(judge) for metric in metrics)
        cases, derived = with_derived_tools(played(frozen.cases, spec))
        run = Run(
            id=f"run_{datetime.now(UTC):%Y%m%d%H%M%S}_{uuid4().hex[:6]}",
            spec=spec.model_copy(update={"dataset": frozen.name, "metrics": tuple(metric.name for metric in listed)}),
            created_at=datetime.now(UTC),
            metrics=listed,
            provenance={
                **provenance_of(spec, frozen, origin),
                "target": self._target(spec.model),
                **judged_by(spec.model, listed),
                **({"derived_tools": derived} if derived else {}),
            },
        )
        return run, cases

    def _checked(
        self, spec: RunSpec, *, local: bool, dataset_type: str | None = None
    ) -> tuple[Frozen, list[NamedMetric]]:
        metrics = make_metrics(spec.metrics)
        parse_name(spec.model)
        check_replay(spec, local=local)
        # Parameters are tested here so that a queued run cannot fail on them minutes later.
        self._deadline(spec)
        if spec.judge or any(metric.judged for metric in metrics):
            check_judge(judge_named(spec.judge, self._settings))
        frozen = self._datasets.freeze(spec.dataset, limit=spec.limit, local=local, dataset_type=dataset_type)
        return frozen.only(spec.cases), metrics

    def judge(self, spec: RunSpec, metrics: Sequence[NamedMetric]) -> Judge | None:
        """Make the judge of a run; None where no metric asks one."""
        if not any(metric.judged for metric in metrics):
            return None
        return make_judge(judge_named(spec.judge, self._settings), self._settings)

    def _target(self, model: str) -> str:
        """What will answer: the model's name, and where it is asked when that is not the public address."""
        name = parse_name(model)
        return openai_identity(name.address, self._settings) if name.plugin == "openai" else model

    def parts(self, run: Run, slot: Slot | None = None, workers: "Workers | None" = None) -> Parts:
        """Make what works on a run; with workers of a cluster those call target and judge."""
        metrics = make_metrics(run.spec.metrics)
        target = make_target(run.spec.model, run.spec.params, self._settings)
        judge = self.judge(run.spec, metrics)
        if workers is not None:
            target, judge = self._remote(workers, run.spec, target, judge)
        target = replaying(target, run, self._store, self._settings)
        if run.spec.budget_money is not None and not getattr(target, "priced", True):
            raise BadInput(f"no price is known for {target.identity}; give the budget in tokens")
        return Parts(
            target=target,
            metrics=metrics,
            judge=judge,
            retry=RetryPolicy(tries=self._settings.benchmark_tries),
            deadline=self._deadline(run.spec),
            limit=Limit(self._settings.benchmark_metric_timeout, slot),
            spent=StepStore(self._store.db).usage_so_far(run.id) if run.spec.replay else Usage(),
        )

    def _remote(
        self, workers: "Workers", spec: RunSpec, target: Target, judge: Judge | None
    ) -> tuple[Target, Judge | None]:
        """Have workers call the target and ask the judge."""
        from evergold.calls.endpoints import RemoteJudge, RemoteTarget

        # Workers get the keys of models, not the way into the database and the server.
        sent = replace(self._settings, database_url="", server_token="")
        called = RemoteTarget(target, partial(make_target, spec.model, spec.params, sent), workers.executor)
        if judge is None:
            return called, None
        name = judge_named(spec.judge, self._settings)
        return called, RemoteJudge(judge, partial(make_judge, name, sent), workers.executor)

    def _deadline(self, spec: RunSpec) -> float:
        """Seconds one call may take."""
        seconds = spec.params.get("timeout", self._settings.benchmark_timeout)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
            raise BadInput(f"the parameter timeout is seconds above 0, not {seconds!r}")
        return float(seconds)
