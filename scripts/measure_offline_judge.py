"""Measure the offline judge against people, through the metrics of the product.

    python -m scripts.measure_offline_judge answers DATA OUT.jsonl [--judge offline/lexical] [--sets wice,qags]
    python -m scripts.measure_offline_judge figures OUT.jsonl… [--write]      --write: judge/figures.json

`answers` asks the judge and appends one line an example; a run that was cut goes on where it ended. `figures` reads such
files and prints each figure with its interval. DATA is the folder of copies that `judge_data.py` lists.
"""

import argparse
import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evergold.bench.metrics import make_metric, measure
from evergold.judge import support as regression
from evergold.judge.offline import OfflineJudge, Support, make_offline
from evergold.judge.support import EvidenceSearch, shipped_combination
from evergold.model.case import Case, Context
from evergold.model.run import Attempt
from evergold.settings import Settings
from evergold.stats.intervals import Interval, pearson, spearman
from scripts.judge_data import Example, example_sets
from scripts.judge_figures import area, balanced_accuracy

PACKAGE = Path(regression.__file__).parent
SETS = ("refutation", "wice", "qags_cnndm", "qags_xsum", "ragchecker", "summedits")


class RememberingJudge(OfflineJudge):
    """Answers a claim on the same contexts once: summaries of one document share most of their sentences."""

    def __init__(self, lexical: bool) -> None:
        super().__init__(lexical)
        self._passages: tuple[str, ...] = ()
        self._evidence: EvidenceSearch | None = None
        self._answers: dict[str, Support] = {}

    def evidence(self, passages: list[str]) -> EvidenceSearch:
        if self._evidence is None or tuple(passages) != self._passages:
            self._passages, self._evidence, self._answers = tuple(passages), super().evidence(passages), {}
        return self._evidence

    def supports(self, claims: Sequence[str], evidence: EvidenceSearch) -> list[Support]:
        if evidence is not self._evidence:
            return super().supports(claims, evidence)
        new = [claim for claim in dict.fromkeys(claims) if claim not in self._answers]
        self._answers |= dict(zip(new, super().supports(new, evidence), strict=True))
        return [self._answers[claim] for claim in claims]


@dataclass(frozen=True)
class Answered:
    """What the judge answered to one example: the metric's value, and the probability of each claim."""

    set: str
    number: int
    label: float
    value: float
    p: tuple[float, ...]
    judge: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("answers")
    asking.add_argument("data", type=Path)
    asking.add_argument("out", type=Path)
    asking.add_argument("--judge", choices=("offline", "offline/lexical"), default="offline")
    asking.add_argument("--sets", default=",".join(SETS))
    figuring = commands.add_parser("figures")
    figuring.add_argument("answers", type=Path, nargs="+")
    figuring.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.command == "answers":
        ask(options.data, options.out, options.judge == "offline/lexical", options.sets.split(","))
    else:
        show([one for path in options.answers for one in read(path)], options.write)


def ask(data: Path, out: Path, lexical: bool, sets: Sequence[str]) -> None:
    judge = RememberingJudge(lexical)
    done = {(one.set, one.number) for one in read(out)} if out.exists() else set()
    with out.open("a") as opened:
        for name in sets:
            for number, example in enumerate(example_sets(data)[name]()):
                if (name, number) not in done:
                    value, p = asyncio.run(_answer(example, judge))
                    row = {"set": name, "number": number, "label": example.label, "value": value, "p": p}
                    opened.write(json.dumps(row | {"judge": judge.identity}) + "\n")
                    opened.flush()


async def _answer(example: Example, judge: OfflineJudge) -> tuple[float, list[float]]:
    """The value of the metric, and of faithfulness the probability of each claim."""
    if example.outputs[1:]:  # two answers to one question: the difference of their grades
        first, second = [await _graded(example, output, judge) for output in example.outputs]
        return second - first, []
    contexts = tuple(Context(text=text) for text in example.contexts)
    case = Case(id="c", input=example.question, contexts=contexts)
    attempt = Attempt(case_id="c", output=example.outputs[0])
    measured = await measure(make_metric("faithfulness"), case, attempt, judge)
    if measured.value is None:  # an answer without claims is not measured; it counts as undecided
        return 0.5, [0.5]
    return measured.value, [verdict["p"] for verdict in measured.details["verdicts"]]


async def _graded(example: Example, output: str, judge: OfflineJudge) -> float:
    case = Case(id="c", input=example.question, expected=example.expected)
    measured = await measure(make_metric("correctness"), case, Attempt(case_id="c", output=output), judge)
    return measured.value or 0.0


def read(path: Path) -> Iterator[Answered]:
    with path.open() as opened:
        for row in map(json.loads, opened):
            yield Answered(**row | {"p": tuple(row["p"])})


def show(answers: Sequence[Answered], write: bool) -> None:
    by_judge: dict[str, list[Answered]] = {}
    for one in answers:
        by_judge.setdefault(one.judge, []).append(one)
    bases = {"lexical" if "claim model" not in judge else "model": judge for judge in by_judge}
    measured = {basis: _figures(by_judge[judge]) for basis, judge in sorted(bases.items(), reverse=True)}
    for basis, figures in measured.items():
        for name, figure in figures.items():
            print(f"{basis:8}{name:48}{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}] n={figure.n}")
    if write:
        _write(measured)


def _write(measured: dict[str, dict[str, Interval]]) -> None:
    """Store the figures; those of a judge or a set that was not asked this time stay."""
    path = PACKAGE / "figures.json"
    stored = json.loads(path.read_text())
    kept: dict[str, dict[str, object]] = stored["figures"]
    days = stored["measured"] | dict.fromkeys(measured, datetime.now(UTC).date().isoformat())
    for basis, figures in measured.items():
        kept[basis] = kept.get(basis, {}) | {name: one.as_dict() for name, one in figures.items()}
    identity = make_offline("", Settings()).identity
    path.write_text(json.dumps({"identity": identity, "measured": days, "figures": kept}, indent=1) + "\n")


def _figures(answers: Sequence[Answered]) -> dict[str, Interval]:
    """Each set by its own measure. A text is supported when each of its claims is."""
    least = shipped_combination().thresholds["supported"]
    found: dict[str, Interval | None] = {}
    for name in SETS:
        rows = [one for one in answers if one.set == name]
        if not rows:
            continue
        label = np.array([one.label for one in rows])
        # Faithfulness is the share of supported claims; correlations are of the mean of their probabilities.
        value = np.array([np.mean(one.p) if one.p else one.value for one in rows])
        lowest = np.array([min(one.p, default=0.0) for one in rows])
        if name in ("wice", "summedits"):
            title = {"wice": "WiCE test", "summedits": "SummEdits, unseen domains"}[name]
            found[f"{title}: balanced accuracy"] = balanced_accuracy(lowest >= least, label == 1)
            found[f"{title}: AUROC"] = area(lowest, label == 1)
        elif name.startswith("qags"):
            title = {"qags_cnndm": "QAGS CNN/DailyMail", "qags_xsum": "QAGS XSum"}[name]
            found[f"{title}: Spearman"] = spearman(value, label)
        elif name == "ragchecker":
            found["RAGChecker: Pearson, preference (overall)"] = pearson(value, label)
        else:
            found["supported against refuted, held-out rows: AUROC"] = area(lowest, label == 1)
    return {name: interval for name, interval in found.items() if interval is not None}


if __name__ == "__main__":
    main()
