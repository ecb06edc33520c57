"""A set of ids as fingerprints: 20 to 30 bytes an id, where Python's own set takes over 100.

A build of ten gigabytes has a million ids and must still fit beside everything else in a hundred megabytes.
"""

from array import array
from hashlib import blake2b
from struct import Struct

FINGERPRINT_BYTES = 16
_PAIRS = Struct("<QQ")
_FIRST_SLOTS, _FEW_SLOTS = 1 << 12, 1 << 18
"""Up to a few megabytes the table grows in larger steps: moving an id costs more than its place."""


def fingerprint(content: bytes) -> bytes:
    """128 bits that stand for an id, or for any other bytes."""
    return blake2b(content, digest_size=FINGERPRINT_BYTES).digest()


class SeenIds:
    """Open addressing over 128-bit fingerprints: collisions of different ids are out of reach, so a hit is a repetition."""

    def __init__(self) -> None:
        self._slots = _FIRST_SLOTS
        self._table = _empty(_FIRST_SLOTS)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, fingerprint: bytes) -> bool:
        """Whether the fingerprint is new; it is remembered either way."""
        return not self.add_all(fingerprint)

    def add_all(self, fingerprints: bytes | bytearray) -> list[int]:
        """Remembers fingerprints that stand one behind the other; the places of those that were there already."""
        repeated = []
        table, slots = self._table, self._slots
        for index, (high, low) in enumerate(_PAIRS.iter_unpack(fingerprints)):
            # One fingerprint in 2**64 loses a bit by this, which changes no answer that anybody will see.
            high = high or 1  # 0 marks a free slot
            target = 2 * (low % slots)
            if table[target]:
                target = self._find(table, slots, high, low)
                if table[target]:
                    repeated.append(index)
                    continue
            table[target] = high
            table[target + 1] = low
            self._count += 1
            # Open addressing slows down sharply above four fifths.
            if 5 * self._count > 4 * slots:
                self._grow()
                table, slots = self._table, self._slots
        return repeated

    @staticmethod
    def _find(table: "array[int]", slots: int, high: int, low: int) -> int:
        slot = low % slots
        while (there := table[2 * slot]) and (there != high or table[2 * slot + 1] != low):
            slot = (slot + 1) % slots
        return 2 * slot

    def _grow(self) -> None:
        slots = 4 * self._slots if self._slots < _FEW_SLOTS else self._slots + self._slots // 2
        table = _empty(slots)
        for index in range(0, 2 * self._slots, 2):
            if high := self._table[index]:
                low = self._table[index + 1]
                target = self._find(table, slots, high, low)
                table[target] = high
                table[target + 1] = low
        self._slots, self._table = slots, table


def _empty(slots: int) -> "array[int]":
    """Two numbers a slot, made without a copy: the old table is still there when a larger one is made."""
    return array("Q", [0]) * (2 * slots)
