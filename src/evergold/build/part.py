"""The result of reading one range of the offline file: its records, and the lines that gave none.

A part travels from the worker that made it to whoever puts the parts together, so it is small: outputs too large for that
wait in a file.
"""

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from evergold.build.reader import shown

# A slot is far larger than a range, whose records grow only by labels and keys. What does not fit comes by the pipe.
SLOT_BYTES = 64 << 20
NOT_A_RECORD = frozenset({"not JSON", "not UTF-8", "too long"})


class Range(NamedTuple):
    """A piece of the file that begins and ends at line breaks."""

    offset: int
    size: int


class Rejection(NamedTuple):
    """A line that became no record, and all that is needed to find and mend it."""

    line: int
    offset: int
    size: int
    reason: str
    detail: str
    task_id: str | None
    raw: bytes

    def to_json(self, lines_before: int) -> bytes:
        """One line of `rejected.jsonl`: the record itself where it is one, else its first characters."""
        entry: dict[str, object] = {
            "line": lines_before + self.line,
            "reason": self.reason,
            "detail": self.detail,
            "task_id": self.task_id,
            "offset": self.offset,
            "bytes": self.size,
        }
        # A line that is no JSON cannot be embedded in the JSON of the rejected file; its text is quoted.
        if self.reason in NOT_A_RECORD:
            entry["text"] = shown(self.raw, 2000)
        else:
            entry["record"] = orjson.Fragment(self.raw)
        return orjson.dumps(entry) + b"\n"


@dataclass
class Part:
    """What became of one range. Of the records that found a split: line, fingerprint of the id, and place of the split."""

    piece: Range
    lines: int = 0
    records: int = 0
    kept_lines: list[int] = field(default_factory=list)
    fingerprints: bytearray = field(default_factory=bytearray)
    splits: bytearray = field(default_factory=bytearray)
    outputs: list[bytes] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)
    rejected: list[Rejection] = field(default_factory=list)
    spilled: tuple[str, int, list[int]] | None = None

    def append(self, part: "Part") -> None:
        """Take in what became of the lines behind this part's, but for their outputs."""
        self.kept_lines += [self.lines + line for line in part.kept_lines]
        self.rejected += [one._replace(line=self.lines + one.line) for one in part.rejected]
        self.fingerprints += part.fingerprints
        self.splits += part.splits
        self.excluded += part.excluded
        self.lines += part.lines
        self.records += part.records

    def spill(self, path: str, slot: int) -> None:
        """Leave the outputs in a file: between processes of one machine that is cheaper than a pipe.

        The file has room for each range that is under way; a slot is used again when its range was collected.
        """
        sizes = [len(output) for output in self.outputs]
        if sum(sizes) <= SLOT_BYTES:
            # Only the owner may read the file: it holds records of the dataset.
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb", buffering=0) as out:
                out.seek(slot * SLOT_BYTES)
                for output in self.outputs:
                    out.write(output)
            self.spilled, self.outputs = (path, slot, sizes), []

    def collect(self) -> None:
        """Take the outputs back."""
        if self.spilled is not None:
            path, slot, sizes = self.spilled
            with open(path, "rb", buffering=0) as source:
                source.seek(slot * SLOT_BYTES)
                self.outputs = [source.read(size) for size in sizes]
            self.spilled = None
