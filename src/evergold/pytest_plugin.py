"""Benchmarks as tests: a mark that fails the test when a model's mean falls below a minimum.

    @pytest.mark.evergold(dataset="reasoning", metric="exact_match", min=0.8)
    def test_quality() -> None: ...

The model comes from the mark (`model="openai/gpt-4o"`, or a function of the module), else from `--evergold-model` or the
ini option `evergold_model`. The fixture `evergold_run` gives the finished run to a test that wants to look closer.
Nothing of Evergold is imported before a marked test runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from evergold.model.report import Mean
    from evergold.model.run import Attempt, Run

_KNOWN = ("dataset", "metric", "min", "model", "judge", "trials", "limit", "seed", "params")
_WORST = 5


@dataclass(frozen=True)
class EvergoldRun:
    """A finished run: the run, its means and its attempts; `problems` says why a metric measured nothing."""

    run: "Run"
    means: "Sequence[Mean]"
    attempts: "Sequence[Attempt]"
    problems: Sequence[str] = ()

    def mean(self, metric: str) -> float | None:
        return next((mean.value for mean in self.means if mean.metric == metric), None)


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "Model that tests marked `evergold` run against, where the mark names none."
    parser.getgroup("evergold").addoption("--evergold-model", metavar="NAME", help=help_text)
    parser.addini("evergold_model", help_text, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"evergold({', '.join(_KNOWN)}): run a benchmark and fail below a minimum.")


@pytest.fixture
def evergold_run(request: pytest.FixtureRequest) -> EvergoldRun:
    """The finished run of a test's `evergold` mark."""
    mark = request.node.get_closest_marker("evergold")
    if mark is None:
        pytest.fail("evergold_run needs the mark @pytest.mark.evergold(dataset=…, metric=…, min=…)", pytrace=False)
    unknown = [name for name in mark.kwargs if name not in _KNOWN]
    if mark.args or unknown or "dataset" not in mark.kwargs or "metric" not in mark.kwargs:
        pytest.fail(
            f"the evergold mark takes {', '.join(_KNOWN)} by name; got {mark.args} {mark.kwargs}", pytrace=False
        )
    given, config = mark.kwargs, request.config
    model = given.get("model") or config.getoption("--evergold-model") or config.getini("evergold_model")
    if not model:
        pytest.fail(
            "no model: give model=… in the mark, --evergold-model or the ini option evergold_model", pytrace=False
        )
    passed = {name: value for name, value in given.items() if name not in ("min", "metric", "model")}
    name = model if isinstance(model, str) else f"python:{model.__module__}:{model.__qualname__}"
    return _finish({**passed, "model": name, "metrics": _names(given["metric"])})


@pytest.fixture(autouse=True)
def _evergold_gate(request: pytest.FixtureRequest) -> None:
    mark = request.node.get_closest_marker("evergold")
    if mark is None:
        return
    # Asked for by name, so that a test which uses the fixture itself shares the same run.
    done: EvergoldRun = request.getfixturevalue("evergold_run")
    least = mark.kwargs.get("min")
    names = _names(mark.kwargs["metric"])
    minima: Mapping[str, float] = (
        least if isinstance(least, dict) else {} if least is None else dict.fromkeys(names, least)
    )
    from evergold.model.report import decide_minimum

    gate = decide_minimum(done.means, minima)
    if gate.code:
        pytest.fail(
            "\n".join([*gate.reasons, *done.problems, *_list_worst(done, gate.below or list(minima))]), pytrace=False
        )


def _names(metric: str | Sequence[str]) -> tuple[str, ...]:
    return (metric,) if isinstance(metric, str) else tuple(metric)


def _finish(options: dict[str, Any]) -> EvergoldRun:
    from evergold.errors import EvergoldError
    from evergold.model.run import RunSpec, RunStatus
    from evergold.workspace import Workspace

    try:
        with Workspace.open() as workspace:
            run = workspace.bench.work_on(workspace.bench.run_here(RunSpec(**options)).id)
            if run.status is not RunStatus.COMPLETED:
                pytest.fail(f"run {run.id} {run.status}: {run.error}", pytrace=False)
            means = workspace.bench.results.means(run)
            problems = workspace.bench.results.problems_of(run, means)
            return EvergoldRun(run, means, list(workspace.bench.attempts(run.id)), problems)
    except EvergoldError as problem:
        pytest.fail(problem.message, pytrace=False)


def _list_worst(done: EvergoldRun, metrics: Sequence[str]) -> list[str]:
    """The worst attempts with what was said about them."""
    results = []
    for attempt in done.attempts:
        if attempt.error is not None:
            # Below every score: what failed to answer is shown before what answered badly.
            results.append((-1.0, f"  {attempt.case_id}: {attempt.error}"))
        for name in metrics:
            measured = attempt.measurements.get(name)
            if measured is not None and measured.value is not None:
                detail = measured.reason or attempt.output
                results.append((measured.value, f"  {attempt.case_id}: {name} {measured.value:.3f}: {detail:.100}"))
    return [line for _, line in sorted(results)[:_WORST]]
