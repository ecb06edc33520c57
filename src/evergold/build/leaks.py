"""What should not be on both sides: near-duplicates across splits, and cases that a prompt or a training file already shows.

MinHash over word triples finds the candidates in one pass; each is then measured exactly, so that nothing is reported on an
estimate alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import BadInput
from evergold.model.case import Case

THRESHOLD = 0.8
SHOWN = 50
_PERMUTATIONS, _BANDS, _SEED = 128, 32, 1
_WORD = re.compile(r"\w+")
_MIN_WORDS = 5
"""Shorter texts ("yes", "thanks") are alike without being copies; they count only when equal to the letter."""


def near_duplicates(
    cases: Sequence[Case], split_of: Mapping[str, str], threshold: float = THRESHOLD
) -> list[dict[str, Any]]:
    """Pairs of cases in different splits whose texts are nearly the same."""
    if len(set(split_of.values())) < 2:
        return []
    texts = {case.id: _shingles(f"{case.input} {case.expected or ''}") for case in cases}
    index = _Index(threshold)
    found = []
    for case in sorted(cases, key=lambda case: case.id):
        for other in index.similar(texts[case.id]):
            if split_of[other] != split_of[case.id]:
                share = _jaccard(texts[case.id], texts[other])
                if share >= threshold:
                    pair = {"a": other, "b": case.id, "splits": [split_of[other], split_of[case.id]]}
                    found.append({**pair, "similarity": round(share, 3)})
        index.add(case.id, texts[case.id])
    return found


def overlaps(cases: Sequence[Case], path: Path, threshold: float = THRESHOLD) -> list[str]:
    """The ids of cases whose input or expected answer stands in a few-shot or fine-tune file, exactly or nearly."""
    index = _Index(threshold)
    texts: dict[str, frozenset[str]] = {}
    exact: set[str] = set()
    for number, text in enumerate(_texts_of(path)):
        exact.add(_plain(text))
        shingles = _shingles(text)
        if shingles:
            texts[str(number)] = shingles
            index.add(str(number), shingles)
    hit = []
    for case in cases:
        for text in (case.input, case.expected or ""):
            shingles = _shingles(text)
            near = any(_jaccard(shingles, texts[name]) >= threshold for name in index.similar(shingles))
            if near or (_plain(text) and _plain(text) in exact):
                hit.append(case.id)
                break
    return hit


class _Index:
    """Locality-sensitive hashing: which of the texts added so far may be alike."""

    def __init__(self, threshold: float) -> None:
        from rensa import RMinHash, RMinHashLSH

        self._hash = RMinHash
        self._lsh = RMinHashLSH(threshold, _PERMUTATIONS, _BANDS)
        self._names: list[str] = []

    def add(self, name: str, shingles: frozenset[str]) -> None:
        if shingles:
            self._lsh.insert(len(self._names), self._of(shingles))
            self._names.append(name)

    def similar(self, shingles: frozenset[str]) -> list[str]:
        return [self._names[place] for place in self._lsh.query(self._of(shingles))] if shingles else []

    def _of(self, shingles: frozenset[str]) -> Any:
        sketch = self._hash(_PERMUTATIONS, _SEED)
        sketch.update(sorted(shingles))
        return sketch


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def _shingles(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    if len(words) < _MIN_WORDS:
        return frozenset()
    return frozenset(" ".join(words[place : place + 3]) for place in range(len(words) - 2))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0


def _texts_of(path: Path) -> Iterator[str]:
    """Every text in a JSONL file, however deep; lines that are not JSON count as text."""
    try:
        with path.open("rb") as source:
            for line in source:
                if line.strip():
                    yield from _leaves(line)
    except OSError as problem:
        raise BadInput(f"cannot read {path} to look for overlap: {problem.strerror}") from problem


def _leaves(line: bytes) -> Iterator[str]:
    try:
        waiting: list[Any] = [orjson.loads(line)]
    except orjson.JSONDecodeError:
        waiting = [line.decode("utf-8", "replace").strip()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
