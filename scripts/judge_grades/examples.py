"""Make expected answers of several sentences and answers to them, with the share of the expected answer that each has.

The texts are rows and documents that the claim model was not trained on. The target follows the steps of the metric
`correctness`: a sentence that the answer has, in its own or other words, counts 1; one that is left out or contradicted
counts 0; more on the same subject costs nothing; a sentence about something else costs a quarter of one left out.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evergold.text.words import sentences
from scripts.judge_model import changes

Rows = Sequence[dict[str, Any]]
SHORTEST, LONGEST = 6, 45  # words of a sentence that is used
FEWEST, MOST = 3, 8  # sentences of an expected answer
ANSWERS = 3  # to each expected answer, so that two of them can be compared
COST_OF_OTHER = 0.25
PAIRS = ("fever", "fm2", "symmetric", "mnli")


@dataclass(frozen=True)
class Graded:
    """An answer, what was expected, and its grade. `group` names the expected answer, `document` what folds keep together."""

    family: str
    group: int
    expected: str
    answer: str
    target: float
    question: str = ""
    document: int | None = None


@dataclass(frozen=True)
class Point:
    """One sentence of an expected answer: texts that say it, and texts that contradict it or miss it."""

    text: str
    same: Sequence[str]
    other: Sequence[str]


def of_documents(documents: Sequence[Sequence[str]], table: changes.Table, rng: random.Random) -> Iterator[Graded]:
    """Neighbouring sentences of a document are expected; each is kept, reworded, shortened, turned around or left out."""
    usable = [[part for part in one if SHORTEST <= len(part.split()) <= LONGEST] for one in documents]
    usable = [one for one in usable if len(one) >= 2 * FEWEST]
    for number, document in enumerate(usable):
        size = rng.randint(FEWEST, min(MOST, len(document) // 2))
        start = rng.randrange(len(document) - size + 1)
        expected = document[start : start + size]
        more = document[:start] + document[start + size :]
        far = rng.choice([one for one in usable if one is not document])
        parts = [Point(text, _reworded(text, table, rng), _turned(text, table, rng)) for text in expected]
        yield from _answers("documents", number, parts, (more, far), rng)


def of_claims(rows: Rows, rng: random.Random) -> Iterator[Graded]:
    """Claims that people wrote are expected, and the answer is their evidence, or evidence that refutes or misses them."""
    by_claim: dict[str, dict[int, list[str]]] = {}
    for row in rows:
        by_claim.setdefault(row["claim"], {}).setdefault(row["label"], []).append(_short(row["premise"]))
    parts = [
        Point(claim, by_label[0], by_label.get(2, by_label.get(3, by_label.get(-1, []))))
        for claim, by_label in sorted(by_claim.items())
        if 0 in by_label
    ]
    refuted = [
        Point(claim, [], by_label.get(2) or by_label[3])
        for claim, by_label in sorted(by_claim.items())
        if 0 not in by_label and by_label.keys() & {2, 3}
    ]
    rng.shuffle(parts)
    rng.shuffle(refuted)
    for number in range(min(len(parts) // 3, len(refuted))):
        chosen = [*parts[3 * number : 3 * number + 3], refuted[number]]
        far = [text for part in rng.sample(parts, 3) for text in part.same]
        yield from _answers("claims", number, rng.sample(chosen, 4), ([], far), rng)


def _answers(
    family: str, group: int, parts: Sequence[Point], extra: tuple[Sequence[str], Sequence[str]], rng: random.Random
) -> Iterator[Graded]:
    """Answers that keep different shares of the expected answer, with more on the subject or about something else."""
    for _ in range(ANSWERS):
        keep, wrong = rng.choice((0.2, 0.4, 0.6, 0.8, 1.0)), rng.choice((0.0, 0.0, 0.3, 0.7))
        answer: list[str] = []
        kept = 0
        for part in parts:
            if part.same and rng.random() < keep:
                answer.append(rng.choice(list(part.same)))
                kept += 1
            elif part.other and rng.random() < wrong:
                answer.append(rng.choice(list(part.other)))
        subject, far = extra
        more = rng.sample(list(subject), min(len(subject), rng.choice((0, 0, 1, 2, 4))))
        others = rng.sample(list(far), min(len(far), rng.choice((0, 0, 0, 1, 3))))
        for text in (*more, *others):
            answer.insert(rng.randint(0, len(answer)), text)
        if rng.random() < 0.3:
            rng.shuffle(answer)
        if answer:
            target = max(0.0, (kept - COST_OF_OTHER * len(others)) / len(parts))
            yield Graded(family, group, " ".join(part.text for part in parts), " ".join(answer), target)


def _reworded(text: str, table: changes.Table, rng: random.Random) -> list[str]:
    versions = [text]
    for _ in range(3):  # one, two and three words are exchanged
        versions.append(changes.substitute(versions[-1], table, "same", rng) or versions[-1])
    return versions


def _turned(text: str, table: changes.Table, rng: random.Random) -> list[str]:
    changed = [change(text, rng) for change in changes.TURNING.values()]
    changed.append(changes.substitute(text, table, "other", rng))
    return [one for one in changed if one and one != text]


def _short(premise: str) -> str:
    """The first sentences of evidence, as long as a person would write."""
    kept: list[str] = []
    for part in sentences(premise):
        if kept and len(" ".join(kept).split()) + len(part.split()) > LONGEST:
            break
        kept.append(part)
    return " ".join(kept)


def examples(rows: Path, documents: Sequence[Sequence[str]], table: changes.Table, seed: int) -> list[Graded]:
    """All families in turn."""
    rng = random.Random(seed)
    held = [row for row in map(json.loads, rows.open()) if row["held"] and row["source"] in PAIRS]
    return [*of_documents(documents, table, rng), *of_claims(held, rng)]
