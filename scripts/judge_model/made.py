"""Make training pairs from rows by rule: some with a label, many more for the teachers to label.

Changes are made on both sides, so that no word ("not", a number) gives a label away: a sentence changed in evidence and
claim alike is supported, one changed on one side only is refuted.
"""

import random
import re
from collections import defaultdict
from multiprocessing import Pool
from typing import Any

from scripts.judge_model import changes
from scripts.judge_model.templates import pairs as template_pairs

SUPPORTED, UNKNOWN, REFUTED, UNSUPPORTED, UNLABELLED = 0, 1, 2, 3, -1
Pair = tuple[str, str, int]
SPLIT = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
REPEATS = {("wice", 0): 4, ("wice", 3): 1, ("cg2c", 0): 2}
"""How often a row is used besides once, each time among other sentences: WiCE has few supported claims."""
SURE = ("number", "unit", "date", "negate")
_pool: dict[str, Any] = {}


def make(rows: list[dict[str, Any]], copies: int, processes: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Labelled pairs to train teachers on, and unlabelled ones for them to label."""
    by_source: dict[str, list[int]] = defaultdict(list)
    rare: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_source[row["source"]].append(number)
        for word in set(re.findall(r"[a-z]{5,}|\d{4}", row["premise"].lower())):
            rare[word].append(number)
    rare = {word: where for word, where in rare.items() if 2 <= len(where) <= 400}
    names = sorted({name for row in rows for name in changes.NAME.findall(row["premise"])})
    _pool.update(rows=rows, by_source=by_source, rare=rare, names=names, copies=copies, seed=seed)
    labelled: list[Pair] = []
    unlabelled: list[Pair] = []
    with Pool(processes) as pool:
        for one, other in pool.imap(_of_row, range(len(rows)), chunksize=500):
            labelled += one
            unlabelled += other
    labelled += template_pairs(len(rows) // 3, seed)
    unlabelled += [(p, c, UNLABELLED) for p, c, _ in template_pairs(len(rows) // 2, seed + 1)]
    return labelled, unlabelled


def _of_row(number: int) -> tuple[list[Pair], list[Pair]]:
    rng = random.Random(f"{_pool['seed']}:{number}")
    row = _pool["rows"][number]
    premise, claim, label = row["premise"], row["claim"], row["label"]
    labelled: list[Pair] = []
    if label != UNLABELLED:
        labelled.append((premise, claim, label))
        if rng.random() < 0.35:
            labelled.append((_among(premise, rng), claim, label))
        again = 1 if row["source"].startswith("summedits") else REPEATS.get((row["source"], label), 0)
        labelled += [(_among(premise, rng), claim, label) for _ in range(again)]
        if label == SUPPORTED and rng.random() < 0.45:
            labelled += _turned(premise, claim, rng)
        if rng.random() < 0.3:
            labelled += _copied(premise, rng)
        if rng.random() < 0.08:
            labelled.append((_other(row["source"], rng), claim, UNKNOWN))
    unlabelled = [pair for _ in range(_pool["copies"]) if (pair := _unlabelled(row, rng)) is not None]
    return labelled, unlabelled


def _turned(premise: str, claim: str, rng: random.Random) -> list[Pair]:
    for name in rng.sample([*changes.TURNING, "name"], len(changes.TURNING) + 1):
        change = changes.TURNING.get(name)
        changed = change(claim, rng) if change else changes.name_from(claim, _pool["names"], rng)
        if changed is not None and changed != claim:
            return [(premise, changed, REFUTED if name in SURE else UNSUPPORTED)]
    return []


def _copied(premise: str, rng: random.Random) -> list[Pair]:
    """A sentence of the evidence as the claim; changed on one side, on the other, or on both."""
    found = [part for part in SPLIT.split(premise) if 5 <= len(part.split()) <= 40]
    if not found:
        return []
    sentence = rng.choice(found)
    name = rng.choice(SURE)
    changed = changes.TURNING[name](sentence, rng)
    if changed is None or changed == sentence:
        return [(premise, sentence, SUPPORTED)]
    altered = premise.replace(sentence, changed, 1)
    return [
        rng.choice(
            [
                (premise, sentence, SUPPORTED),
                (premise, changed, REFUTED),
                (altered, changed, SUPPORTED),
                (altered, sentence, REFUTED),
            ]
        )
    ]


def _unlabelled(row: dict[str, Any], rng: random.Random) -> Pair | None:
    premise, claim = row["premise"], row["claim"]
    draw = rng.random()
    if draw < 0.08:
        premise = _other(row["source"], rng)
    elif draw < 0.32:
        premise = _near(claim, rng)
    elif draw < 0.42:
        premise = _without_one(premise, rng)
    elif draw < 0.5:
        parts = SPLIT.split(_near(claim, rng))
        claim = rng.choice(parts)
        premise = premise if rng.random() < 0.3 else " ".join(parts)
    elif draw < 0.56:
        premise = _among(premise, rng)
    changed = claim
    for _ in range(rng.choice((0, 1, 1, 2)) if draw < 0.5 else rng.choice((1, 1, 2))):
        name = rng.choice([*changes.TURNING, *changes.OTHER, "name"])
        change = {**changes.TURNING, **changes.OTHER}.get(name)
        changed = (change(changed, rng) if change else changes.name_from(changed, _pool["names"], rng)) or changed
    if draw > 0.93:
        premise = changes.TURNING[rng.choice([*changes.TURNING])](premise, rng) or premise
    if len(changed.split()) < 2 or (premise == row["premise"] and changed == row["claim"]):
        return None
    return premise, changed, UNLABELLED


def _other(source: str, rng: random.Random) -> str:
    return str(_pool["rows"][rng.choice(_pool["by_source"][source])]["premise"])


def _near(claim: str, rng: random.Random) -> str:
    """A passage that shares a rare word with the claim."""
    words = [word for word in re.findall(r"[a-z]{5,}|\d{4}", claim.lower()) if word in _pool["rare"]]
    where = rng.choice(_pool["rare"][rng.choice(words)]) if words else rng.randrange(len(_pool["rows"]))
    return str(_pool["rows"][where]["premise"])


def _among(premise: str, rng: random.Random) -> str:
    """The premise among sentences of other passages, up to about 110 words."""
    parts = [premise]
    while sum(len(part.split()) for part in parts) < rng.randrange(60, 110) and len(parts) < 5:
        sentence = rng.choice(SPLIT.split(_pool["rows"][rng.randrange(len(_pool["rows"]))]["premise"]))
        parts.insert(rng.randrange(len(parts) + 1), sentence)
    return " ".join(parts)


def _without_one(premise: str, rng: random.Random) -> str:
    parts = SPLIT.split(premise)
    if len(parts) > 1:
        parts.pop(rng.randrange(len(parts)))
    return " ".join(parts)
