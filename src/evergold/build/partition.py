"""A range of bytes of the offline file → the records it holds. What one worker does, here or on a cluster.

The file is cut at line breaks into ranges of some megabytes, and these into blocks. A range knows nothing of the others: its
lines are counted from its own start, and ids given twice are found by whoever puts the parts together, in order.
"""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import BinaryIO, NamedTuple, TypeAlias

import msgspec
from pydantic_core import SchemaValidator, ValidationError, core_schema

from evergold.build.lines import Recipe, Table
from evergold.build.part import NOT_A_RECORD, Part, Range, Rejection
from evergold.build.reader import Refusal, lines_of
from evergold.build.record import Excluded, RecordRouter
from evergold.build.seen import fingerprint
from evergold.build.source import open_source
from evergold.build.splits import Split

BLOCK_BYTES = 512 << 10
"""Routed at once: many enough to be worth a call, few enough for the processor's cache."""
RANGE_BYTES = 4 << 20
"""Given to a worker at once."""
MAX_LINE_BYTES = 8 << 20
BOM = b"\xef\xbb\xbf"
_Routed: TypeAlias = dict[int, tuple[int, bytes, Recipe]]
"""Records on their way into a part, by line: split, id, and how the record is made."""
_PROBE = 1 << 14
_LARGEST_BLOCK = 16 << 20
_NO_TEXT = SchemaValidator(core_schema.str_schema(max_length=0))
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def ranges(
    source: BinaryIO, max_line: int = MAX_LINE_BYTES, range_bytes: int = RANGE_BYTES, within: Range | None = None
) -> Iterator[Range]:
    """Cuts a file, or a range of it, at line breaks. A line that no range could hold gets one of its own, however long it is."""
    start, size = within or (0, source.seek(0, 2))
    size += start
    # `within` gives offset and size; from here on `size` is the offset of the end.
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
    # One byte back: a position that is the start of a line already must be found as such.
    position -= 1
    while position < size:
        source.seek(position)
        probe = source.read(_PROBE)
        result = probe.find(b"\n")
        if result >= 0:
            return position + result + 1
        position += len(probe)
    return size


def too_long(piece: Range, max_line: int) -> Part:
    """The part of a range that is one line too long to hold in memory."""
    detail = _too_long(piece.size, max_line)
    return Part(piece, lines=1, rejected=[Rejection(1, piece.offset, piece.size, "too long", detail, None, b"")])


def _too_long(size: int, max_line: int) -> str:
    return f"{size:,} bytes; the longest line allowed has {max_line:,}"


def route_range(data: bytes, offset: int, router: RecordRouter, max_line: int, limit: int | None = None) -> Part:
    """Routes the lines of a range that begins at `offset` of the file; at most `limit` records of them."""
    part = Part(Range(offset, len(data)))
    results: _Routed = {}
    table = left = None
    # The straight way takes a block as a whole: a limit inside it, or a line that may be too long, rules it out.
    if len(data) <= max_line and (limit is None or limit > data.count(b"\n")):
        table, left = _route_straight(part, data, router, results)
    # None: nothing was tried the straight way. An empty set: nothing is left to do.
    if left is None or left:
        _route_carefully(part, data, router, results, _Bounds(max_line, limit, left))
    part.kept_lines = sorted(results)
    kept = [results[line] for line in part.kept_lines]
    part.splits = bytearray(split for split, _, _ in kept)
    part.fingerprints = _fingerprints([task_id for _, task_id, _ in kept])
    recipes: list[list[Recipe | None]] = [[None] * part.lines for _ in router.splits]
    for line, (split, _, recipe) in results.items():
        recipes[split][line - 1] = recipe
    if table is not None:
        part.outputs = [router.weave(table, one) for one in recipes]
    else:
        part.outputs = [b"".join(line for line in one if isinstance(line, bytes)) for one in recipes]
    return part


class _Bounds(NamedTuple):
    """Which lines of a range are to be looked at, and how many records are enough."""

    max_line: int
    limit: int | None
    lines: set[int] | None


def _route_straight(part: Part, data: bytes, router: RecordRouter, result: _Routed) -> tuple[Table, set[int]]:
    """Takes what the straight way can; returns the lines' values, and the numbers of the lines that are left."""
    left = set()
    table, choices, ids = router.survey(data)
    part.lines = len(choices)
    for number, (choice, task_id) in enumerate(zip(choices, ids, strict=True)):
        if choice is None or task_id is None:
            left.add(number)
        elif choice.split is None:
            part.excluded[choice.task_type] += 1
        else:
            result[number + 1] = (choice.split, task_id, choice.recipe)
    part.records += part.lines - len(left)
    return table, left


def _route_carefully(part: Part, data: bytes, router: RecordRouter, hit: _Routed, bounds: _Bounds) -> None:
    offset = part.piece.offset
    part.lines = 0
    for number, raw in enumerate(lines_of(data)):
        if bounds.limit is not None and part.records >= bounds.limit:
            break
        part.lines += 1
        if bounds.lines is None or number in bounds.lines:
            try:
                if len(raw) > bounds.max_line:
                    raise Refusal("too long", _too_long(len(raw), bounds.max_line))
                line = bare_line(raw, offset)
                if line:
                    result = router.route(line)
                    part.records += 1
                    if isinstance(result, Excluded):
                        part.excluded[result.task_type] += 1
                    else:
                        hit[number + 1] = (result.split, result.task_id, result.line)
            except Refusal as why:
                _refuse(part, Range(offset, len(raw)), number + 1, (raw, why))
        offset += len(raw)


def is_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 throughout.

    The validator sees that before anything else of a text, three times faster than Python makes a text of it; what else it
    says (no text is as short as it wants) does not matter.
    """
    if data.isascii():
        return True
    try:
        _NO_TEXT.validate_python(data)
    except ValidationError as problem:
        return problem.errors(include_url=False, include_input=False)[0]["type"] != "string_unicode"
    return True


def bare_line(raw: bytes, offset: int) -> bytes:
    """The line without white space around it; a carriage return between two values is as good as a space."""
    if offset == 0:
        raw = raw.removeprefix(BOM)
    # The byte order mark stands at the very beginning of a file and nowhere else.
    if b"\r" in raw:
        raw = raw.replace(b"\r", b" ")
    return raw.strip()


def _fingerprints(ids: Sequence[bytes]) -> bytearray:
    """128 bits for each id, given as JSON text; the same for the same id, however it is escaped."""
    # Escaped spellings of one id must collide, so they are decoded and encoded again.
    if b"\\" in b"".join(ids):
        ids = [_encode(_decode_text(one)) if b"\\" in one else one for one in ids]
    return bytearray().join(map(fingerprint, ids))


def _refuse(part: Part, line_range: Range, number: int, what: tuple[bytes, Refusal]) -> None:
    raw, why = what
    is_record = why.reason not in NOT_A_RECORD
    part.records += is_record
    # A record is kept whole so that it can be mended; of anything else only its beginning is shown.
    line = bare_line(raw, line_range.offset) if is_record else raw[:8000].strip()
    part.rejected.append(Rejection(number, *line_range, why.reason, why.detail, why.task_id, line))


def route_piece(
    location: str, splits: tuple[Split, ...], max_line: int, scratch: str | None, errand: tuple[int, Range]
) -> Part:
    """One range of the source, for a slot; runs in a worker, which must see the source under the same path or URL."""
    slot, piece = errand
    whole = Part(piece)
    if piece.size > RANGE_BYTES + max_line:
        return too_long(piece, max_line)
    outputs: list[list[bytes]] = [[] for _ in splits]
    with open_source(location) as source, memory_kept():
        for block in ranges(source, max_line, BLOCK_BYTES, piece):
            part = _route_block(source, block, _router(splits), max_line)
            whole.append(part)
            for output, more in zip(outputs, part.outputs, strict=False):
                output.append(more)
        whole.outputs = [b"".join(output) for output in outputs]
        if scratch is not None:
            whole.spill(os.path.join(scratch, "outputs"), slot)
    return whole


def _route_block(source: BinaryIO, block: Range, router: RecordRouter, max_line: int) -> Part:
    if block.size > BLOCK_BYTES + max_line:
        return too_long(block, max_line)
    source.seek(block.offset)
    return route_range(source.read(block.size), block.offset, router, max_line)


@contextmanager
def memory_kept() -> Iterator[None]:
    """For work on large blocks that are made and dropped in turn, and of which nothing is cyclic.

    Looking for cycles would cost a twentieth of the time.
    """
    collecting = gc.isenabled()
    gc.disable()
    _keep_large_blocks()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@cache
def _keep_large_blocks() -> None:
    """The C library gives a large block back to the system as soon as it is free, to ask for it again at once.

    It stops doing so, for the rest of the process, for sizes of which it has seen one come and go.
    """
    bytearray(_LARGEST_BLOCK)


@lru_cache(maxsize=4)
def _router(splits: tuple[Split, ...]) -> RecordRouter:
    return RecordRouter(splits)
