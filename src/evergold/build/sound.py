"""Check many records at once for anything that the careful reader would have to look at.

Nearly every record of nearly every build is sound. So what a check asks of a record is asked of a block of them first, column by
column. Only where the answer is no does `check.py` look at the block again, record by record, and say which and why.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import msgspec

from evergold.build.records import INPUTS, REFERENCES, unknown_markers
from evergold.build.source_match import source_problem
from evergold.build.splits import ALIGNED, Kind

_first = itemgetter(0)


class Soundness:
    """Proves that records of one split are sound; that it cannot prove it says nothing yet."""

    def __init__(self, fields: Mapping[str, Kind], decode: Callable[[bytes], Any]) -> None:
        self._decode = decode
        read = [name for name in (*INPUTS, *REFERENCES) if name in fields]
        self._read = [attrgetter(name) for name in read]
        self._texts = [attrgetter(name) for name, kind in fields.items() if kind == "text" and name not in read]
        self._contexts = [attrgetter(name) for name, kind in fields.items() if kind == "contexts"]
        self._aligned = [attrgetter(name) for name in ALIGNED if name in fields]
        self._reference = next((attrgetter(name) for name in REFERENCES if name in fields), None)
        self._cited = attrgetter("contexts") if fields.get("contexts") == "contexts" else None

    def records(self, lines: Sequence[bytes]) -> list[Any] | None:
        """The records of these lines, or None if any of them needs a closer look."""
        try:
            records = list(map(self._decode, lines))
        except (ValueError, RecursionError):
            return None
        # The cheapest tests first; the conjunction ends at the first that fails.
        is_sound = (
            all(_are_texts(list(map(field, records))) for field in self._texts)
            and all(_are_texts(list(chain.from_iterable(map(field, records)))) for field in self._contexts)
            and all(all(map(str.strip, map(field, records))) for field in self._read)
            and self._are_aligned(records)
            and self._are_cited_well(records)
            and not any(map(source_problem, records))
        )
        return records if is_sound else None

    def _are_aligned(self, records: Sequence[Any]) -> bool:
        lengths = [list(map(len, map(field, records))) for field in self._aligned]
        if all(one == lengths[0] for one in lengths):
            return True
        # An empty list is aligned with anything, as in `record._require_alignment`.
        return all(len(set(sizes) - {0}) <= 1 for sizes in zip(*lengths, strict=True))

    def _are_cited_well(self, records: Sequence[Any]) -> bool:
        if self._reference is None or self._cited is None:
            return True
        pairs = zip(map(self._reference, records), map(self._cited, records), strict=True)
        return not any("[" in reference and unknown_markers(reference, contexts) for reference, contexts in pairs)


def _are_texts(values: Sequence[msgspec.Raw]) -> bool:
    # All first bytes in one string: whatever is left after removing quotation marks begins no text.
    return not bytes(map(_first, map(memoryview, values))).translate(None, b'"')  # type: ignore[arg-type]
