"""What should not be on both sides: near-duplicates across splits, and cases that a prompt or a training file already shows."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.text.near import THRESHOLD, NearIndex, plain, shingles_of

SHOWN = 50


def near_duplicates(
    cases: Sequence[Case], split_of: Mapping[str, str], threshold: float = THRESHOLD
) -> list[dict[str, Any]]:
    """Pairs of cases in different splits whose texts are nearly the same.

    Of a few words, a question must be quite the same and so must its answer; "thanks" without one is said every day.
    """
    if len(set(split_of.values())) < 2:
        return []
    index = NearIndex(threshold)
    short: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    found = []
    for case in sorted(cases, key=lambda case: case.id):
        split = split_of[case.id]
        text = shingles_of(f"{case.input} {case.expected or ''}")
        alike = [(other, share) for other, share in index.similar(text) if split_of[other] != split]
        if not text and case.expected:
            first = short[plain(case.input), plain(case.expected)]
            alike = [(other, 1.0) for name, other in first.items() if name != split]
            first.setdefault(split, case.id)
        for other, share in alike:
            pair = {"a": other, "b": case.id, "splits": [split_of[other], split]}
            found.append({**pair, "similarity": round(share, 3)})
        index.add(case.id, text)
    return found


def overlaps(cases: Sequence[Case], path: Path, threshold: float = THRESHOLD) -> list[str]:
    """The ids of cases whose input or expected answer stands in a few-shot or fine-tune file, exactly or nearly.

    An answer of a few words ("yes", "positive") gives nothing away: there only the input counts.
    """
    index = NearIndex(threshold)
    exact: set[str] = set()
    for text in _texts_of(path):
        exact.add(plain(text))
        index.add("", shingles_of(text))
    hit = []
    for case in cases:
        asked, answer = plain(case.input), shingles_of(case.expected or "")
        if (asked and asked in exact) or any(any(index.similar(text)) for text in (shingles_of(case.input), answer)):
            hit.append(case.id)
    return hit


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
