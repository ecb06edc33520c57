"""Agent benchmarks from stored cases: freeze those that can be replayed, and say which cannot and why."""

from collections import Counter
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evergold.bench.replay.play import obstacles, requests_of
from evergold.errors import BadInput
from evergold.model.case import Case, CaseStatus
from evergold.model.run import Plan, Replay, RunSpec
from evergold.model.tool_calls import calls_in
from evergold.store.case.builds import require_dataset
from evergold.store.case.cases import case_filter, iterate_cases
from evergold.store.case.writes import Author, put_cases

if TYPE_CHECKING:
    from evergold.build.versions import Builds
    from evergold.store import Store
    from evergold.workspace.bench import Bench

MOST_NAMED = 100


class ReplaySet(BaseModel, frozen=True):
    """A frozen set of cases that can be replayed. `left_out` counts reasons, `cases_left_out` names the first cases.

    `requests` counts what a model that follows the record is asked; `with_calls` the cases that `trajectory` applies to.
    """

    dataset: str
    version: str
    cases: int
    with_calls: int
    requests: int
    left_out: dict[str, int]
    cases_left_out: dict[str, list[str]]
    plan: Plan


class Replays:
    def __init__(self, store: "Store", builds: "Builds", bench: "Bench") -> None:
        self._store, self._builds, self._bench = store, builds, bench

    def freeze_set(
        self,
        source: str,
        out: str,
        filters: Mapping[str, Any],
        *,
        model: str = "recorded",
    ) -> ReplaySet:
        """Copy the cases of a dataset that can be replayed into another and freeze it; estimate a run of it.

        `out` is DATASET or DATASET@VERSION; a tag in `filters` may be a pattern (`tool:*`).
        """
        name, _, version = out.partition("@")
        if not name or name == source:
            raise BadInput(f"--out {out!r} must name another dataset than {source!r}, for example agents@v1")
        reasons: Counter[str] = Counter()
        named: dict[str, list[str]] = {}
        ready: list[Case] = []
        for case in self._choose(source, filters):
            problems = list(obstacles(case))
            if not problems:
                ready.append(case.model_copy(update={"dataset": name}))
                continue
            reasons.update(problems)
            if len(named) < MOST_NAMED:
                named[case.id] = problems
        if not ready and not reasons:
            how = "evergold curate makes cases of traces, evergold cases list shows them with their tags"
            raise BadInput(f"no case of {source!r} passes the filter; {how}")
        if not ready:
            why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common(5))
            raise BadInput(f"no case of {source!r} can be replayed ({why})")
        self._store.write(put_cases, ready, Author(action="copied", why=f"replay set of {source}"))
        # Whether candidates come along was decided when the cases were chosen.
        build, _ = self._builds.freeze_as(name, version or None, filters={"candidates": "include"})
        frozen = f"{name}@{build.version}"
        spec = RunSpec(dataset=frozen, model=model, metrics=("trajectory",), replay=Replay())
        return ReplaySet(
            dataset=name,
            version=build.version,
            cases=build.cases,
            with_calls=sum(bool(calls_in([*case.messages, *case.turn])) for case in ready),
            requests=sum(requests_of(case, Replay()).calls for case in ready),
            left_out=dict(reasons.most_common()),
            cases_left_out=named,
            plan=self._bench.plan(spec, local=True),
        )

    def _choose(self, source: str, filters: Mapping[str, Any]) -> Iterator[Case]:
        given = filters.get("tag") or ()
        tags = [given] if isinstance(given, str) else list(given)
        patterns = [tag for tag in tags if "*" in tag]
        # The store matches tags exactly; patterns are applied to what it returns.
        exact = {**filters, "tag": [tag for tag in tags if "*" not in tag]}
        wanted = case_filter(source, exact).model_copy(update={"status": CaseStatus.ACTIVE})
        with self._store.db.read() as connection:
            require_dataset(connection, source)
            for case in iterate_cases(connection, wanted):
                if all(any(fnmatchcase(tag, pattern) for tag in case.tags) for pattern in patterns):
                    yield case
