"""Find leaks: near-duplicates across splits, and cases that a prompt or a training file already shows."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from evergold.build.clusters import question_of
from evergold.errors import BadInput
from evergold.formats.rows import open_rows
from evergold.model.case import Case
from evergold.text.near import THRESHOLD, NearIndex, plain, shingles_of
from evergold.text.pairs import TextEntry, pairs_across

SHOWN = 50


def near_duplicates(
    cases: Sequence[Case], split_of: Mapping[str, str], threshold: float = THRESHOLD
) -> list[dict[str, Any]]:
    """Each case that is nearly the same as one before it in another split, with the first such one.

    Of a few words, a question must be quite the same and so must its answer; "thanks" without one is said every day.
    """
    # With one split there is nothing to leak into.
    if len(set(split_of.values())) < 2:
        return []
    entries = [
        TextEntry(case.id, split_of[case.id], _shingles(case)) for case in sorted(cases, key=lambda case: case.id)
    ]
    return [
        {
            "a": pair.first.name,
            "b": pair.second.name,
            "splits": [pair.first.group, pair.second.group],
            "similarity": round(pair.share, 3),
        }
        for pair in pairs_across(entries, threshold)
    ]


def _shingles(case: Case) -> frozenset[str]:
    answer = _answer(case)
    shingles = shingles_of(f"{question_of(case)} {answer}")
    # A question of a few words has no shingles; the pair of question and answer then stands for itself.
    if shingles or not answer:
        return shingles
    return frozenset({f"{question_of(case)}\n{plain(answer)}"})


def _answer(case: Case) -> str:
    reference = case.reference()
    return reference.text or "" if reference else ""


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
        asked, answer = plain(case.input), shingles_of(_answer(case))
        # Short answers have no shingles and therefore never match.
        if (asked and asked in exact) or any(any(index.similar(text)) for text in (shingles_of(case.input), answer)):
            hit.append(case.id)
    return hit


def _texts_of(path: Path) -> Iterator[str]:
    """Every text in a JSONL file, however deep; lines that are not JSON count as text."""
    try:
        with open_rows(path) as source:
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
    # A stack instead of recursion: files of strangers may be nested without limit.
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
