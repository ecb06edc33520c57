"""Store a span that repeats an earlier one as its difference from it.

Every turn of a session sends the conversation so far again. Such a span is stored as its difference from an earlier span, its
base: attributes that are the same are left out, and a long text is a list of pieces, each of them one of

    "literal text"              as it is
    [start, length]             that part of the base's value of the same attribute
    ["output", "json"]          the span's own input or output, in that spelling (see `folding`)
    ["base output", "json"]     the base's input or output

A difference is smaller by far than the span, and putting it together again gives back what was sent, to the letter.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from evergold.store.compact.folding import SHORTEST, SPELLINGS, fold, unfolded
from evergold.store.rows import RAW, SpanRow
from evergold.store.values import dumps, loads

ENOUGH = 100  # characters that are worth a copy instead of a literal
FRAME = (
    24  # characters around a text, such as those that begin a message, that are worth it where the text is taken out
)
HEAD = 100  # characters by which a text that goes on is known again
HEADS = 4  # long texts of a span that are known again
STEP = 4096
MESSAGE_ENDS = re.compile(r"(?<=\}),\s?(?=\{)")  # between two messages of a JSON list
ALWAYS_WRITTEN = "finish_reason"  # checks look for it in the column itself

Piece = str | list[int] | list[str]


class Carried(NamedTuple):
    """What a span carried, as it came, with its input and output."""

    raw: dict[str, Any]
    input: str | None
    output: str | None

    @property
    def attributes(self) -> dict[str, Any]:
        attributes = self.raw.get("attributes")
        return attributes if isinstance(attributes, dict) else {}


def carried_by(row: SpanRow) -> Carried:
    """What a span carried whose row holds its own texts and all of its attributes."""
    return Carried(unfolded(loads(row.raw), row.input_text, row.output_text), row.input_text, row.output_text)


def pack(raw: dict[str, Any], question: str | None, answer: str | None) -> tuple[str, tuple[int, ...]]:
    """Write what a span carried as it is stored; returns it with the numbers by which a span that repeats it finds it."""
    long = fold(raw, question, answer)
    return dumps(raw), heads_of(long)


def heads_of(long: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Numbers by which a span whose long texts begin with the same words is found again."""
    return tuple([crc32(value[:HEAD].encode(errors="replace")) for _, value in long[:HEADS] if len(value) >= HEAD])


def difference(span: Carried, base: Carried) -> dict[str, Any]:
    """Describe a span by another one; `restored` is the way back."""
    texts = _texts(span, base)
    before = base.attributes
    changed: dict[str, Any] = {}
    pieces: dict[str, list[Piece]] = {}
    for name, value in span.attributes.items():
        old = before.get(name)
        if type(value) is str and len(value) >= SHORTEST:
            has_finish = _has_finish(value, span.output)
            # Checks search the stored column for the reason why an answer ended, so it is always written out.
            if has_finish or value != old:
                pieces[name] = list(_pieces(value, old if isinstance(old, str) else "", texts, has_finish=has_finish))
        elif name not in before or not _same(value, old) or ALWAYS_WRITTEN in name:
            changed[name] = value
    # A key that the base has and the span has not is stored as null, which `restored` leaves out again.
    rest = {key: span.raw.get(key) for key in RAW[1:] if not _same(span.raw.get(key), base.raw.get(key))}
    gone = [name for name in before if name not in span.attributes]
    parts = {"attributes": changed, "pieces": pieces, "gone": gone}
    return rest | {key: value for key, value in parts.items() if value}


def restored(difference: dict[str, Any], texts: tuple[str | None, str | None], base: Carried) -> dict[str, Any]:
    """What a span carried, from its difference, its own input and output, and its base."""
    known = dict(zip(("input", "output", "base input", "base output"), (*texts, base.input, base.output), strict=True))
    gone = set(difference.get("gone", ()))
    attributes = {name: value for name, value in base.attributes.items() if name not in gone}
    attributes |= difference.get("attributes", {})
    for name, pieces in difference.get("pieces", {}).items():
        old = base.attributes.get(name)
        attributes[name] = "".join(_text_of(piece, old if isinstance(old, str) else "", known) for piece in pieces)
    raw = {"attributes": attributes} | {key: base.raw[key] for key in RAW[1:] if key in base.raw}
    raw |= {key: difference[key] for key in RAW[1:] if key in difference}
    return {key: value for key, value in raw.items() if value is not None}


def _has_finish(value: str, output: str | None) -> bool:
    """Whether a value is hardly more than the output and how it ended."""
    return len(value) <= 2 * len(output or "") + 1000 and ALWAYS_WRITTEN in value


def _same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where 1, 1.0 and true differ."""
    return bool(one == other) and (type(one) is str or dumps(one) == dumps(other))


def _texts(span: Carried, base: Carried) -> list[tuple[str, str, str]]:
    """The texts that are stored beside the attributes, in each spelling: their name, the spelling, the characters."""
    named = (("input", span.input), ("output", span.output), ("base output", base.output), ("base input", base.input))
    texts: dict[str, tuple[str, str, str]] = {}
    for name, text in named:
        if text and len(text) >= SHORTEST:
            for spelling, spell in SPELLINGS.items():
                texts.setdefault(spelled := spell(text), (name, spelling, spelled))
    # The longest first: a short text may be part of a long one.
    return sorted(texts.values(), key=lambda one: -len(one[2]))


def _pieces(value: str, old: str, texts: list[tuple[str, str, str]], *, has_finish: bool) -> Iterator[Piece]:
    """Cut a value into pieces; `has_finish`: how the span finished stays readable in the literals."""
    for part in [value] if has_finish else _copied(value, old):
        for piece in _with_texts(part, texts) if isinstance(part, str) else (part,):
            frame = isinstance(piece, str) and len(piece) >= FRAME and ALWAYS_WRITTEN not in piece
            at = old.find(piece) if frame and isinstance(piece, str) else -1
            yield piece if at < 0 else [at, len(piece)]


def _copied(value: str, old: str) -> Iterator[str | list[int]]:
    """The value as literals and copies from another: its beginning, and further messages where the beginning has changed."""
    same = _common(value, old)
    if same < ENOUGH:
        same = 0
    else:
        yield [0, same]
    # What is left is too short for a copy to pay.
    if len(old) - same < ENOUGH or len(value) - same < ENOUGH:
        if same < len(value):
            yield value[same:]
        return
    written = same
    start = end = 0  # the copy that is being made longer
    for first, last in _messages(value, same):
        at = old.find(value[first:last]) if last - first >= ENOUGH else -1
        if at < 0:
            continue
        if end > start and value[written + end - start : first] == old[end:at]:
            end = at + last - first
            continue
        if end > start:
            yield [start, end - start]
            written += end - start
        if first > written:
            yield value[written:first]
        written, start, end = first, at, at + last - first
    if end > start:
        yield [start, end - start]
        written += end - start
    if written < len(value):
        yield value[written:]


def _messages(value: str, start: int) -> Iterator[tuple[int, int]]:
    for match in MESSAGE_ENDS.finditer(value, start):
        yield start, match.start()
        start = match.end()
    yield start, len(value)


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    size, start = min(len(one), len(other)), 0
    # In steps by comparing slices, then by halving: no loop over characters in Python.
    while start < size and one[start : start + STEP] == other[start : start + STEP]:
        start += STEP
    low, high = min(start, size), min(start + STEP, size)
    while low < high:
        middle = (low + high + 1) // 2
        if one[start:middle] == other[start:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _with_texts(literal: str, texts: list[tuple[str, str, str]]) -> Iterator[Piece]:
    """A literal, with the texts that are stored elsewhere taken out of it."""
    for number, (name, spelling, spelled) in enumerate(texts):
        if len(spelled) <= len(literal) and (at := literal.find(spelled)) >= 0:
            if at:
                yield from _with_texts(literal[:at], texts[number + 1 :])
            yield [name, spelling]
            if at + len(spelled) < len(literal):
                yield from _with_texts(literal[at + len(spelled) :], texts[number:])
            return
    yield literal


def _text_of(piece: Piece, old: str, known: dict[str, str | None]) -> str:
    if isinstance(piece, str):
        return piece
    first, second = piece
    if isinstance(first, int):
        return old[first : first + int(second)]
    return SPELLINGS[str(second)](known[first] or "")
