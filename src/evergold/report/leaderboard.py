"""Models ranked on one version of one dataset. Versions are never mixed: other questions are another table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from evergold.model.run import Run, Usage
from evergold.report.scores import Groups, Mean, ValueRow, run_means


class Entry(BaseModel, frozen=True):
    """The newest completed run of a model."""

    model: str
    run_id: str
    judge: str | None
    self_judged: bool
    means: tuple[Mean, ...]
    failed: int
    usage: Usage
    judge_usage: Usage


class Board(BaseModel, frozen=True):
    """One dataset version, ranked by the first metric, which is the one most cases were scored by; who lacks it is last.

    `weighted`: each question counts once in every mean of the board, however many cases ask it.
    """

    dataset: str
    version: str
    content_hash: str
    metrics: tuple[str, ...]
    entries: tuple[Entry, ...]
    weighted: bool = False


@dataclass(frozen=True)
class Ranked:
    """What a board is made of: a completed run, its values, and which of its cases belong together."""

    run: Run
    rows: Sequence[ValueRow]
    groups: Groups


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


def board_of(group: Sequence[Ranked]) -> Board:
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


def _entry(item: Ranked, metrics: Sequence[str]) -> Entry:
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
