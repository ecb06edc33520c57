"""A range of bytes of the offline file → the records it holds. What one worker does, here or on a cluster.

The file is cut at line breaks into ranges of a megabyte. A range knows nothing of the others: its lines are
counted from its own start, and ids given twice are found by whoever puts the parts together, in order.
"""

import gc
import io
import os
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import BinaryIO, NamedTuple

import msgspec
import orjson

from evergold.build.reader import Refusal, shown
from evergold.build.record import Excluded, Router
from evergold.build.seen import FINGERPRINT_BYTES
from evergold.build.source import open_source
from evergold.build.splits import Split

RANGE_BYTES = 1 << 20
MAX_LINE_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"
NOT_A_RECORD = frozenset({"not JSON", "not UTF-8", "too long"})
_PROBE = 1 << 14
_DECODED_BYTES = 1 << 16
_utf8_decoder = getincrementaldecoder("utf-8")
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


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
    spilled: tuple[str, list[int]] | None = None

    def spill(self, path: str) -> None:
        """Leave the outputs in a file: between processes of one machine that is cheaper than a pipe."""
        with open(path, "xb") as out:
            for output in self.outputs:
                out.write(output)
        self.spilled = path, [len(output) for output in self.outputs]
        self.outputs = []

    def collect(self) -> None:
        """Take the outputs back, and the file away."""
        if self.spilled is not None:
            path, sizes = self.spilled
            with open(path, "rb") as source:
                self.outputs = [source.read(size) for size in sizes]
            os.unlink(path)
            self.spilled = None


def ranges(source: BinaryIO, max_line: int = MAX_LINE_BYTES, range_bytes: int = RANGE_BYTES) -> Iterator[Range]:
    """Cuts a file at line breaks. A line that no range could hold gets one of its own, however long it is."""
    size = source.seek(0, 2)
    start = 0
    while start < size:
        end = _line_start(source, min(start + range_bytes, size), size)
        if end - start > range_bytes + max_line:
            source.seek(start)
            head = source.read(range_bytes).rfind(b"\n") + 1
            if head:
                yield Range(start, head)
            start += head
        yield Range(start, end - start)
        start = end


def _line_start(source: BinaryIO, position: int, size: int) -> int:
    """Where the first line at or behind `position` begins."""
    position -= 1
    while position < size:
        source.seek(position)
        probe = source.read(_PROBE)
        found = probe.find(b"\n")
        if found >= 0:
            return position + found + 1
        position += len(probe)
    return size


def too_long(piece: Range, max_line: int) -> Part:
    """The part of a range that is one line too long to hold in memory."""
    detail = _too_long(piece.size, max_line)
    return Part(piece, lines=1, rejected=[Rejection(1, piece.offset, piece.size, "too long", detail, None, b"")])


def _too_long(size: int, max_line: int) -> str:
    return f"{size:,} bytes; the longest line allowed has {max_line:,}"


def route_range(data: bytes, offset: int, router: Router, max_line: int, limit: int | None = None) -> Part:
    """Routes the lines of a range that begins at `offset` of the file; at most `limit` records of them."""
    part = Part(Range(offset, len(data)))
    outputs: list[list[bytes]] = [[] for _ in router.splits]
    is_text = is_utf8(data)
    collecting = gc.isenabled()
    gc.disable()  # nothing made here is cyclic, and looking for cycles costs a tenth of the time
    try:
        for raw in lines_of(data):
            if limit is not None and part.records >= limit:
                break
            part.lines += 1
            try:
                if len(raw) > max_line:
                    raise Refusal("too long", _too_long(len(raw), max_line))
                line = bare_line(raw, offset)
                if line:
                    result = router.route(line, is_text=is_text)
                    part.records += 1
                    if isinstance(result, Excluded):
                        part.excluded[result.task_type] += 1
                    else:
                        split, task_id, record = result
                        outputs[split].append(record)
                        part.kept_lines.append(part.lines)
                        part.fingerprints += _fingerprint(task_id)
                        part.splits.append(split)
            except Refusal as why:
                _refuse(part, raw, offset, why)
            offset += len(raw)
    finally:
        if collecting:
            gc.enable()
    part.outputs = [b"".join(output) for output in outputs]
    return part


def lines_of(data: bytes) -> Iterator[bytes]:
    """The lines of a range, each with its line break."""
    return iter(io.BytesIO(data))


def is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 throughout. Cheaper than a look at each line, by pieces that stay in the processor's cache."""
    if data.isascii():
        return True
    decode = _utf8_decoder().decode
    try:
        for start in range(0, len(data), _DECODED_BYTES):
            decode(data[start : start + _DECODED_BYTES])
        decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def bare_line(raw: bytes, offset: int) -> bytes:
    """The line without white space around it; a carriage return between two values is as good as a space."""
    if offset == 0:
        raw = raw.removeprefix(BOM)
    if b"\r" in raw:
        raw = raw.replace(b"\r", b" ")
    return raw.strip()


def _fingerprint(task_id: bytes) -> bytes:
    """128 bits that stand for an id, however its JSON text is escaped."""
    if b"\\" in task_id:
        task_id = _encode(_decode_text(task_id))
    return blake2b(task_id, digest_size=FINGERPRINT_BYTES).digest()


def _refuse(part: Part, raw: bytes, offset: int, why: Refusal) -> None:
    is_record = why.reason not in NOT_A_RECORD
    part.records += is_record
    line = bare_line(raw, offset) if is_record else raw[:8000].strip()
    part.rejected.append(Rejection(part.lines, offset, len(raw), why.reason, why.detail, why.task_id, line))


def route_piece(location: str, splits: tuple[Split, ...], max_line: int, scratch: str | None, piece: Range) -> Part:
    """One range of the source; runs in a worker, which must see it under the same path or URL."""
    if piece.size > RANGE_BYTES + max_line:
        return too_long(piece, max_line)
    with open_source(location) as source:
        source.seek(piece.offset)
        part = route_range(source.read(piece.size), piece.offset, _router(splits), max_line)
    if scratch is not None:
        part.spill(os.path.join(scratch, str(piece.offset)))
    return part


@lru_cache(maxsize=4)
def _router(splits: tuple[Split, ...]) -> Router:
    return Router(splits)
