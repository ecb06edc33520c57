"""A list of cases that takes little memory: each is compressed JSON, and read when it is used."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from evergold.model.case import Case

# zlib's fastest level.
FAST = 1


class PackedCases(Sequence[Case]):
    """A sequence of cases; a conversation of twenty steps takes a hundredth of what its objects take."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._rows = [zlib.compress(case.model_dump_json().encode(), FAST) for case in cases]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Case]:
        return map(_read, self._rows)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> "PackedCases": ...
    def __getitem__(self, index: int | slice) -> "Case | PackedCases":
        if isinstance(index, int):
            return _read(self._rows[index])
        # A slice shares the compressed rows instead of reading and packing them again.
        chosen = PackedCases(())
        chosen._rows = self._rows[index]
        return chosen


def _read(row: bytes) -> Case:
    return Case.model_validate_json(zlib.decompress(row))
