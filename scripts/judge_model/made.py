"""Make training pairs from rows by rule: some with a label, many more for the teachers to label.

Changes are made on both sides, so that no word ("not", a number) gives a label away: a sentence changed in evidence and
claim alike is supported, one changed on one side only is not.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from multiprocessing import Pool
from typing import Any

from scripts.judge_model import changes
from scripts.judge_model.dialogues import reported, talks
from scripts.judge_model.templates import pairs as template_pairs

SUPPORTED, UNKNOWN, REFUTED, UNSUPPORTED, UNLABELLED = 0, 1, 2, 3, -1
Pair = tuple[str, str, int]
SPLIT = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])|\n")
REPEATS = {("wice", 0): 4, ("wice", 3): 1, ("cg2c", 0): 2}
"""How often a row is used besides once, each time among other sentences: WiCE has few supported claims."""
SURE = ("number", "unit", "date", "negate")
CHUNK = 400
_pool: dict[str, Any] = {}


def make(rows: list[dict[str, Any]], table: changes.Table, options: dict[str, int]) -> tuple[list[Pair], list[Pair]]:
    """Make labelled pairs to train the teacher on, and unlabelled ones for it to label."""
    by_source: dict[str, list[int]] = defaultdict(list)
    rare: dict[str, list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        by_source[row["source"]].append(number)
        for word in set(re.findall(r"[a-z]{5,}|\d{4}", row["premise"].lower())):
            rare[word].append(number)
    rare = {word: where for word, where in rare.items() if 2 <= len(where) <= 400}
    names = sorted({name for row in rows for name in changes.NAME.findall(row["premise"])})
    _pool.update(rows=rows, by_source=by_source, rare=rare, names=names, table=table, options=options)
    labelled: list[Pair] = []
    unlabelled: list[Pair] = []
    with Pool(options["processes"]) as pool:
        for one, other in pool.imap(_of_chunk, range(0, len(rows), CHUNK)):
            labelled += one
            unlabelled += other
    return labelled, unlabelled


def _of_chunk(start: int) -> tuple[list[Pair], list[Pair]]:
    labelled: list[Pair] = []
    unlabelled: list[Pair] = []
    size, seed = min(CHUNK, len(_pool["rows"]) - start), _pool["options"]["seed"]
    for number in range(start, start + size):
        one, other = _of_row(number)
        labelled += one
        unlabelled += other
    own = seed * 1_000_003 + start
    labelled += [*template_pairs(size // 3, own), *talks(size // 5, own)]
    free = [*template_pairs(size // 2, own + 1), *talks(size // 2, own + 1)]
    unlabelled += [(premise, claim, UNLABELLED) for premise, claim, _ in free]
    return labelled, unlabelled


def _of_row(number: int) -> tuple[list[Pair], list[Pair]]:
    rng = random.Random(f"{_pool['options']['seed']}:{number}")
    row = _pool["rows"][number]
    premise, claim, label = row["premise"], row["claim"], row["label"]
    labelled: list[Pair] = []
    if label != UNLABELLED:
        labelled.append((premise, claim, label))
        if rng.random() < 0.35:
            labelled.append((_among(premise, rng), claim, label))
        again = 2 if row["source"].startswith(("summedits", "edits")) else REPEATS.get((row["source"], label), 0)
        labelled += [(_among(premise, rng), claim, label) for _ in range(again)]
        if rng.random() < 0.1:
            labelled.append(reported(premise, claim, label, rng))
        if label == SUPPORTED:
            labelled += _of_supported(premise, claim, rng)
        if rng.random() < 0.4:
            labelled += _copied(premise, rng)
        if rng.random() < 0.08:
            labelled.append((_other(row["source"], rng), claim, UNKNOWN))
    many = _pool["options"]["copies"]
    unlabelled = [pair for _ in range(many) if (pair := _unlabelled(row, rng)) is not None]
    return labelled, unlabelled


def _of_supported(premise: str, claim: str, rng: random.Random) -> Iterator[Pair]:
    """A supported claim, changed in one way or another."""
    if rng.random() < 0.45:
        yield from _turned(premise, claim, rng)
    if rng.random() < 0.25 and (kept := changes.substitute(claim, _pool["table"], "same", rng)):
        yield premise, kept, SUPPORTED
    if rng.random() < 0.3:
        kind = "opposite" if rng.random() < 0.3 else "other"
        if other := changes.substitute(claim, _pool["table"], kind, rng):
            yield premise, other, UNSUPPORTED
    if rng.random() < 0.15 and (longer := changes.add_phrase(claim, _some_claim(rng), rng)):
        yield premise, longer, UNSUPPORTED
    if rng.random() < 0.25 and (mixed := changes.from_evidence(claim, premise, rng)):
        yield premise, mixed, UNSUPPORTED


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
    draw = rng.random()
    if draw < 0.5:
        return _copied_and_turned(premise, sentence, rng)
    if draw < 0.6 and len(found) > 1:
        mixed = changes.fused(*rng.sample(found, 2))
        return [(premise, mixed, UNSUPPORTED)] if mixed else []
    if draw < 0.7 and len(found) > 1:
        both = rng.sample(found, 2)
        changed = changes.substitute(both[1], _pool["table"], "other", rng) if rng.random() < 0.5 else None
        return [(premise, f"{both[0]} {changed or both[1]}", UNSUPPORTED if changed else SUPPORTED)]
    made = {
        SUPPORTED: changes.clause(sentence, rng)
        if draw < 0.76
        else changes.substitute(sentence, _pool["table"], "same", rng),
        UNSUPPORTED: changes.from_evidence(sentence, premise, rng)
        if draw < 0.92
        else changes.substitute(sentence, _pool["table"], "other", rng),
    }
    label = SUPPORTED if draw < 0.84 else UNSUPPORTED
    text = made[label]
    return [(premise, text, label)] if text else []


def _copied_and_turned(premise: str, sentence: str, rng: random.Random) -> list[Pair]:
    changed = changes.TURNING[rng.choice(SURE)](sentence, rng)
    if changed is None or changed == sentence:
        return [(premise, sentence, SUPPORTED)]
    altered = premise.replace(sentence, changed, 1)
    choices = [
        (premise, sentence, SUPPORTED),
        (premise, changed, REFUTED),
        (altered, changed, SUPPORTED),
        (altered, sentence, REFUTED),
    ]
    return [rng.choice(choices)]


def _unlabelled(row: dict[str, Any], rng: random.Random) -> Pair | None:
    premise, claim = row["premise"], row["claim"]
    draw = rng.random()
    if draw < 0.06:
        premise = _other(row["source"], rng)
    elif draw < 0.22:
        premise = _near(claim, rng)
    elif draw < 0.3:
        premise = _without_one(premise, rng)
    elif draw < 0.42:
        parts = SPLIT.split(premise if rng.random() < 0.5 else _near(claim, rng))
        claim = rng.choice(parts)
        premise = premise if rng.random() < 0.3 else " ".join(parts)
    elif draw < 0.5:
        premise = _among(premise, rng)
    elif draw < 0.56:
        premise, claim, _ = reported(premise, claim, UNLABELLED, rng)
    changed = claim
    for _ in range(rng.choice((0, 1, 1, 2)) if draw < 0.56 else rng.choice((1, 1, 1, 2, 3))):
        changed = _changed(changed, premise, rng) or changed
    if draw > 0.95:
        premise = changes.TURNING[rng.choice([*changes.TURNING])](premise, rng) or premise
    if len(changed.split()) < 2 or (premise == row["premise"] and changed == row["claim"]):
        return None
    return premise, changed, UNLABELLED


def _changed(claim: str, premise: str, rng: random.Random) -> str | None:
    """One change of any kind; half of them put one word for another."""
    draw = rng.random()
    if draw < 0.5:
        return changes.substitute(
            claim, _pool["table"], rng.choice(("same", "same", "other", "other", "opposite")), rng
        )
    if draw < 0.58:
        return changes.add_phrase(claim, _some_claim(rng), rng)
    if draw < 0.7:
        return changes.from_evidence(claim, premise, rng)
    name = rng.choice([*changes.TURNING, *changes.OTHER, "name"])
    change = {**changes.TURNING, **changes.OTHER}.get(name)
    return change(claim, rng) if change else changes.name_from(claim, _pool["names"], rng)


def _some_claim(rng: random.Random) -> str:
    return str(_pool["rows"][rng.randrange(len(_pool["rows"]))]["claim"])


def _other(source: str, rng: random.Random) -> str:
    return str(_pool["rows"][rng.choice(_pool["by_source"][source])]["premise"])


def _near(claim: str, rng: random.Random) -> str:
    """A passage that shares a rare word with the claim."""
    words = [word for word in re.findall(r"[a-z]{5,}|\d{4}", claim.lower()) if word in _pool["rare"]]
    where = rng.choice(_pool["rare"][rng.choice(words)]) if words else rng.randrange(len(_pool["rows"]))
    return str(_pool["rows"][where]["premise"])


def _among(premise: str, rng: random.Random) -> str:
    """The premise among sentences of other passages, up to about 150 words."""
    parts = [premise]
    while sum(len(part.split()) for part in parts) < rng.randrange(60, 150) and len(parts) < 6:
        sentence = rng.choice(SPLIT.split(_pool["rows"][rng.randrange(len(_pool["rows"]))]["premise"]))
        parts.insert(rng.randrange(len(parts) + 1), sentence)
    return " ".join(parts)


def _without_one(premise: str, rng: random.Random) -> str:
    parts = SPLIT.split(premise)
    if len(parts) > 1:
        parts.pop(rng.randrange(len(parts)))
    return " ".join(parts)
