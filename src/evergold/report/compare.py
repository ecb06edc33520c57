"""Two runs over the same cases, metric by metric: which is better, how sure is that, and what flipped.

Only cases that both runs scored are compared, and how many were not is part of the answer. Runs that differ in dataset,
judge or metric version are compared with a warning, because then the numbers may not mean the same.
A board ranks models on one version of one dataset. Versions are never mixed: other questions are another table.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from evergold.errors import BadInput
from evergold.model.report import MetricComparison, RunComparison
from evergold.model.run import Board, Entry, Run
from evergold.report.scores import Groups, Outside, by_case, outside, run_means
from evergold.stats.paired import Effect, holm, judge, mcnemar_exact, paired_effect
from evergold.store.run.attempts import Value

# The mark at which a case counts as passed for the lists of gained and lost cases; the test uses the values themselves.
PASS_MARK = 0.5


@dataclass(frozen=True)
class RunValues:
    """A run, its measurements, and for a board which of its cases belong together."""

    run: Run
    rows: Sequence[Value]
    groups: Groups = field(default_factory=Groups)


def compare(
    first: RunValues, second: RunValues, groups: Groups | None = None, *, margin: float = 0.02
) -> RunComparison:
    """Compare the metrics both runs have. `groups` says which cases are not independent, and which ask one question."""
    grouped = groups or Groups()
    before, after = by_case(first.rows), by_case(second.rows)
    names = [name for name in first.run.spec.metrics if name in second.run.spec.metrics]
    if not names:
        raise BadInput(
            f"nothing to compare: {first.run.id} has {', '.join(first.run.spec.metrics)}, "
            f"{second.run.id} has {', '.join(second.run.spec.metrics)}; re-score one of them"
        )
    # Attempts are planned for every case and trial, so a cancelled run still gives the number of its cases.
    total = max(run.total // run.spec.trials for run in (first.run, second.run))
    if grouped.questions is not None:
        total = len(set(grouped.questions.values()))
    apart = [grouped.weigh(by_case(values.rows), outside(values.rows))[1] for values in (first, second)]
    effects = [_effect(before.get(name, {}), after.get(name, {}), grouped) for name in names]
    measured = [(name, result) for name, result in zip(names, effects, strict=True) if result is not None]
    # Each metric is one more chance of a false alarm; Holm keeps the chance of any at 5 %.
    adjusted = holm([result.p for _, result in measured])
    warnings = list(_warnings(first.run, second.run))
    warnings += [
        f"{n}: no case was scored in both runs" for n, result in zip(names, effects, strict=True) if not result
    ]
    compared = tuple(
        _describe(name, result, p, total - _not_applicable(name, apart), margin)
        for (name, result), p in zip(measured, adjusted, strict=True)
    )
    ids = {"first": first.run.id, "second": second.run.id, "weighted": grouped.questions is not None}
    return RunComparison(**ids, margin=margin, metrics=compared, warnings=tuple(warnings))


@dataclass(frozen=True)
class _Paired:
    before: dict[str, float]
    after: dict[str, float]
    effect: Effect
    p: float
    test: str


def _effect(before: Mapping[str, float], after: Mapping[str, float], groups: Groups) -> _Paired | None:
    both = before.keys() & after.keys()
    if not both:
        return None
    before, after = (groups.reduce({case: values[case] for case in both}) for values in (before, after))
    shared = sorted(before)
    differences = [after[case] - before[case] for case in shared]
    # A case outside every cluster is a cluster of its own; the prefix keeps it apart from a cluster of the same name.
    names = [groups.clusters.get(case, f"case {case}") for case in shared]
    clustered = len(set(names)) < len(names)
    effect = paired_effect(differences, names if clustered else None)
    # McNemar needs independent pairs of pass and fail; clusters or graded values need the bootstrap.
    binary = not clustered and all(value in (0.0, 1.0) for case in shared for value in (before[case], after[case]))
    p = mcnemar_exact(differences.count(-1.0), differences.count(1.0)) if binary else effect.p
    test = "exact McNemar" if binary else "paired bootstrap" + (" over clusters" if clustered else "")
    return _Paired({c: before[c] for c in shared}, {c: after[c] for c in shared}, effect, p, test)


def _describe(name: str, paired: _Paired, adjusted_p: float, total: int, margin: float) -> MetricComparison:
    effect = paired.effect
    passed = {case: (paired.before[case] >= PASS_MARK, paired.after[case] >= PASS_MARK) for case in paired.before}
    return MetricComparison(
        metric=name,
        n=effect.n,
        unpaired=max(0, total - effect.n),
        first=fmean(paired.before.values()),
        second=fmean(paired.after.values()),
        difference=effect.mean,
        low=effect.low,
        high=effect.high,
        p=adjusted_p,
        test=paired.test,
        verdict=judge(effect, adjusted_p, margin=margin),
        smallest_visible=effect.smallest_visible,
        gained=tuple(case for case, (was, now) in passed.items() if now and not was),
        lost=tuple(case for case, (was, now) in passed.items() if was and not now),
    )


def _not_applicable(name: str, apart: Sequence[Mapping[str, Outside]]) -> int:
    """How many cases the metric does not apply to, in either run."""
    return len(set().union(*(result[name].not_applicable for result in apart if name in result)))


def _warnings(first: Run, second: Run) -> list[str]:
    results = []
    one, other = (run.provenance.get("dataset", {}) for run in (first, second))
    if one.get("content_hash") != other.get("content_hash"):
        results.append(f"the datasets differ: {_name_of(one)} and {_name_of(other)}; only shared cases are compared")
    specs = {spec.name: spec for spec in second.metrics}
    for spec in first.metrics:
        twin = specs.get(spec.name)
        if twin is not None and twin != spec:
            same_prompts = twin.prompt_hash == spec.prompt_hash
            what = "judge" if twin.judge != spec.judge else "version" if same_prompts else "prompts"
            results.append(f"{spec.name}: the {what} differs between the runs, so its numbers may not mean the same")
    results += [f"{run.id} is {run.status}, not completed" for run in (first, second) if run.status != "completed"]
    results += [f"{run.id}: {run.failed} attempts failed" for run in (first, second) if run.failed]
    return results


def _name_of(dataset: Mapping[str, str]) -> str:
    return f"{dataset.get('name')} {dataset.get('version')}"


def newest_per_model(runs: Iterable[Run]) -> list[Run]:
    """Of runs given newest first, the first of each model on each dataset version."""
    kept: dict[tuple[str, str], Run] = {}
    for run in runs:
        # The hash decides, not the version label: a label can be given again, the content cannot.
        kept.setdefault((run.provenance.get("dataset", {}).get("content_hash", ""), run.spec.model), run)
    return list(kept.values())


def by_version(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs of each dataset version, which share a board, in the order they come."""
    groups: dict[tuple[str, str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(_version_of(run), []).append(run)
    return list(groups.values())


def _version_of(run: Run) -> tuple[str, str, str]:
    dataset = run.provenance.get("dataset", {})
    return run.spec.dataset, dataset.get("version", ""), dataset.get("content_hash", "")


def board_of(group: Sequence[RunValues]) -> Board:
    """Rank runs of one dataset version."""
    dataset, version, content_hash = _version_of(group[0].run)
    seen = dict.fromkeys(name for item in group for name in item.run.spec.metrics)
    scored = Counter(row.metric for item in group for row in item.rows if row.value is not None)
    # A metric that few cases have would rank models on an accident of the dataset; ties keep the order of the runs.
    metrics = tuple(sorted(seen, key=lambda name: -scored[name]))
    return Board(
        dataset=dataset,
        version=version,
        content_hash=content_hash,
        metrics=metrics,
        entries=tuple(sorted((_entry(item, metrics) for item in group), key=_rank)),
        weighted=group[0].groups.questions is not None,
    )


def _entry(item: RunValues, metrics: Sequence[str]) -> Entry:
    run = item.run
    return Entry(
        model=run.spec.model,
        run_id=run.id,
        judge=run.provenance.get("judge"),
        self_judged=bool(run.provenance.get("self_judged")),
        means=tuple(run_means(run, item.rows, metrics, item.groups)),
        failed=run.failed,
        usage=run.usage,
        judge_usage=run.judge_usage,
    )


def _rank(entry: Entry) -> tuple[float, str]:
    value = entry.means[0].value if entry.means else None
    # 1.0 sorts after every negated value, so a model without the metric comes last.
    return (-value if value is not None else 1.0, entry.model)
