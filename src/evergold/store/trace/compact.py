"""Store repeated texts once. Everything here saves bytes; nothing of it changes what is read back.

Three savings, each undone on reading, to the letter:

- Sharing. A text that is the trace's and one of its spans' stands in the row of the trace alone; `SpanRow.shared` has a bit
  for each such side.
- Folding. An attribute that holds the input or output of its span keeps only what surrounds it. The text may be spelled as
  JSON spells it, with or without escapes for what is not ASCII; which of these it was is kept.
- Differences. Every turn of a session sends the conversation so far again. Such a span is stored as its difference from an
  earlier span, its base: attributes that are the same are left out, and a long text is a list of pieces, each of them one of

    "literal text"              as it is
    [start, length]             that part of the base's value of the same attribute
    ["output", "json"]          the span's own input or output, in that spelling
    ["base output", "json"]     the base's input or output

Intake calls four functions: `pack` makes the stored form of what a span carried, `share_texts` leaves a text to the trace,
`RecentSpans.shorten` describes rows by earlier ones, `unshare_texts` takes shared texts back before a trace grows.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import orjson
from sqlalchemy import Connection

from evergold.store.database.rows import (
    RAW,
    SpanRow,
    TraceRow,
    batches,
    change_among,
    dumps,
    loads,
    make_storable,
    read_value,
    rows_among,
    run_for_each,
    stamp,
    tuples_among,
)

if TYPE_CHECKING:
    from evergold.model.trace import Span

SHORTEST = 64  # a shorter text is not worth the trouble
HEAD = 32  # characters by which a text is looked for
FOLDED = "around"
Around = tuple[str, str, str, str]  # which text, how it is spelled, what stands before it and what after


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda text: orjson.dumps(text)[1:-1].decode(),
    "ascii": lambda text: json.dumps(text)[1:-1],
}


def fold(raw: dict[str, Any], question: str | None, answer: str | None) -> list[tuple[str, str]]:
    """Take the texts that are stored beside what a span carried out of its attributes; returns its long attributes."""
    attributes = raw.get("attributes")
    if not isinstance(attributes, dict):
        return []
    long = [(name, value) for name, value in attributes.items() if type(value) is str and len(value) >= SHORTEST]
    around: dict[str, Around] = {}
    # The output first: what holds it, as a rule the longest of all, is then not searched for the input.
    for side, text in (("output", answer), ("input", question)) if long else ():
        if text is not None and len(text) >= SHORTEST:
            _find(text, side, long, around)
    if around:
        attributes.update(dict.fromkeys(around))
        raw[FOLDED] = around
    return long


def _find(text: str, side: str, long: list[tuple[str, str]], around: dict[str, Around]) -> None:
    """The attributes that hold the text, in the first spelling that any of them has: what stands before it and after.

    One of which a text is taken already is left alone.
    """
    before = len(around)
    for spelling, spell in SPELLINGS.items():
        spelled = spell(text)
        head, size = spelled[:HEAD], len(spelled)
        for name, value in long:
            if len(value) >= size and name not in around:
                # The head is found quickly; the whole text is compared only there.
                start = value.find(head)
                if start >= 0 and value.startswith(spelled, start):
                    around[name] = (side, spelling, value[:start], value[start + size :])
        if len(around) > before:
            return


def unfold(raw: dict[str, Any], question: str | None, answer: str | None) -> dict[str, Any]:
    """What the span carried, as it came."""
    around = raw.pop(FOLDED, None)
    if around:
        texts = {"input": question or "", "output": answer or ""}
        for name, (side, spelling, before, after) in around.items():
            raw["attributes"][name] = f"{before}{SPELLINGS[spelling](texts[side])}{after}"
    return raw


SHARED_INPUT, SHARED_OUTPUT = 1, 2  # bits of `shared`: the text is also the trace's, and stored there
OF_TRACES = "trace_seq IN (SELECT seq FROM traces WHERE id"


def share_texts(row: SpanRow, trace: TraceRow, *, input: bool, output: bool) -> SpanRow:
    """The row of a span whose input, output or both the trace took for its own: they are left to the trace's row."""
    # Compared once more: the trace's row may state another text than the span that it names.
    input = input and bool(row.input_text) and row.input_text == trace.input_text
    output = output and bool(row.output_text) and row.output_text == trace.output_text
    if not input and not output:
        return row
    return SpanRow(
        # By position and not `_replace`: this runs for every span, and `_replace` builds a dict.
        *row[:5],
        None if input else row.input_text,
        None if output else row.output_text,
        *row[7:12],
        SHARED_INPUT * input | SHARED_OUTPUT * output,
        *row[13:],
    )


def unshare(row: SpanRow, question: str | None, answer: str | None) -> SpanRow:
    """The row with its own texts again, given those of its trace."""
    if not row.shared:
        return row
    return row._replace(
        input_text=question if row.shared & SHARED_INPUT else row.input_text,
        output_text=answer if row.shared & SHARED_OUTPUT else row.output_text,
        shared=0,
    )


def unshare_texts(connection: Connection, trace_ids: Iterable[str]) -> None:
    """Copy shared texts back from stored traces to their spans.

    A trace that gains spans may take its input and output from other spans than before.
    """
    of_trace = "CASE WHEN shared & {0} <> 0 THEN (SELECT t.{1} FROM traces t WHERE t.seq = trace_seq) ELSE {1} END"
    question, answer = of_trace.format(SHARED_INPUT, "input_text"), of_trace.format(SHARED_OUTPUT, "output_text")
    take_back = f"UPDATE spans SET input_text = {question}, output_text = {answer}, shared = 0 WHERE shared <> 0"
    change_among(connection, f"{take_back} AND {OF_TRACES}", trace_ids, ")")


ENOUGH = 100  # characters that are worth a copy instead of a literal
FRAME = 24  # characters around a text, such as those that begin a message, that are worth it where it is taken out
BASE_HEAD = 100  # characters by which a text that goes on is known again
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
    return Carried(unfold(loads(row.raw), row.input_text, row.output_text), row.input_text, row.output_text)


def pack(raw: dict[str, Any], question: str | None, answer: str | None) -> tuple[str, tuple[int, ...]]:
    """Write what a span carried as it is stored; returns it with the numbers by which a span that repeats it finds it."""
    heads = heads_of(fold(raw, question, answer))
    return dumps(raw), heads


def span_row(trace_id: str, span: "Span") -> SpanRow:
    """Make the row of a span that came as a noun. Attributes, events and resource are stored apart from the facts, packed."""
    facts = {key: value for key, value in span.metadata.items() if key not in RAW}
    # Copied, because packing takes texts out of the attributes.
    raw = {key: copy(value) for key, value in span.metadata.items() if key in RAW}
    question, answer = make_storable(span.input), make_storable(span.output)
    stored, heads = pack(raw, question, answer)
    return SpanRow(
        trace_id,
        span.id,
        span.parent_id,
        make_storable(span.name) or "",
        make_storable(span.kind) or "",
        question,
        answer,
        span.status.value,
        _six_digits(stamp(span.started_at)),
        _six_digits(stamp(span.ended_at)),
        dumps(facts),
        stored,
        heads=heads,
    )


def _six_digits(moment: str | None) -> str | None:
    return moment if moment is None or len(moment) > len("2026-01-02T03:04:05.678Z") else moment[:-1] + "000Z"


def heads_of(long: Sequence[tuple[str, str]]) -> tuple[int, ...]:
    """Numbers by which a span whose long texts begin with the same words is found again."""
    return tuple(
        [crc32(value[:BASE_HEAD].encode(errors="replace")) for _, value in long[:HEADS] if len(value) >= BASE_HEAD]
    )


def difference(span: Carried, base: Carried) -> dict[str, Any]:
    """Describe a span by another one; `restored` is the way back."""
    texts = _texts(span, base)
    before = base.attributes
    changed: dict[str, Any] = {}
    pieces: dict[str, list[Piece]] = {}
    for name, value in span.attributes.items():
        old = before.get(name)
        if type(value) is str and len(value) >= SHORTEST:
            # Hardly more than the output and how it ended.
            has_finish = len(value) <= 2 * len(span.output or "") + 1000 and ALWAYS_WRITTEN in value
            # Checks search the stored column for the reason why an answer ended, so it is always written out.
            if has_finish or value != old:
                pieces[name] = list(_pieces(value, old if isinstance(old, str) else "", texts, has_finish=has_finish))
        elif name not in before or not _is_same(value, old) or ALWAYS_WRITTEN in name:
            changed[name] = value
    # A key that the base has and the span has not is stored as null, which `restored` leaves out again.
    rest = {key: span.raw.get(key) for key in RAW[1:] if not _is_same(span.raw.get(key), base.raw.get(key))}
    gone = [name for name in before if name not in span.attributes]
    parts = {"attributes": changed, "pieces": pieces, "gone": gone}
    return rest | {key: value for key, value in parts.items() if value}


def restore(difference: dict[str, Any], texts: tuple[str | None, str | None], base: Carried) -> dict[str, Any]:
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


def _is_same(one: Any, other: Any) -> bool:
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
    for part in [value] if has_finish else _copy_parts(value, old):
        for piece in _with_texts(part, texts) if isinstance(part, str) else (part,):
            frame = isinstance(piece, str) and len(piece) >= FRAME and ALWAYS_WRITTEN not in piece
            at = old.find(piece) if frame and isinstance(piece, str) else -1
            yield piece if at < 0 else [at, len(piece)]


def _copy_parts(value: str, old: str) -> Iterator[str | list[int]]:
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


Key = tuple[int, str]  # the number of a trace, and a span's id
COLUMNS = SpanRow._fields[1:-1]  # of a span beside its trace
_WITH_TEXTS = f"SELECT t.seq, t.id, {', '.join(f's.{name}' for name in COLUMNS)}, t.input_text, t.output_text"
_WITH_BASE = f"{_WITH_TEXTS} FROM spans s JOIN traces t ON t.seq = s.trace_seq WHERE s.base_seq"


def whole_spans(connection: Connection, rows: Sequence[tuple[int, SpanRow]]) -> list[SpanRow]:
    """The rows, given with the numbers of their traces and with their own texts, each with everything that it carried."""
    if all(row.base_id is None for _, row in rows):
        return [row for _, row in rows]
    known = {(seq, row.id): row for seq, row in rows}
    asked: set[Key] = set()  # somebody may have deleted them by hand
    while missing := set(filter(None, map(_base_of, known.values()))) - known.keys() - asked:
        asked |= missing
        for batch in batches(missing):
            known |= {(seq, row.id): row for seq, row in map(_with_own_texts, _read_chain(connection, batch))}
    read: dict[Key, Carried] = {}
    return [
        row
        if row.base_id is None
        else row._replace(raw=dumps(_read_carried((seq, row.id), known, read).raw), base_seq=None, base_id=None)
        for seq, row in rows
    ]


def read_spans(
    connection: Connection, traces: Mapping[int, Mapping[str, Any]], kinds: Sequence[str] = ()
) -> Iterator[tuple[int, SpanRow]]:
    """Read the spans of these traces (number → row), of some kinds or all, with their own texts and all that they carried."""
    query = f"SELECT trace_seq, {', '.join(COLUMNS)} FROM spans WHERE trace_seq"
    of_kinds = "AND kind IN ('{}')".format("', '".join(kinds)) if kinds else ""
    for batch in batches(traces):
        own = []
        # Spans without a time are in the order of their numbers: `call-9` before `call-10`.
        for seq, *fields in tuples_among(connection, query, batch, f"{of_kinds} ORDER BY started_at, length(id), id"):
            trace = traces[seq]
            own.append((seq, unshare(SpanRow(trace["id"], *fields), trace["input_text"], trace["output_text"])))
        yield from zip((seq for seq, _ in own), whole_spans(connection, own), strict=True)


def _base_of(row: SpanRow) -> Key | None:
    return None if row.base_seq is None or row.base_id is None else (row.base_seq, row.base_id)


def _read_chain(connection: Connection, keys: Sequence[Key]) -> Iterable[Any]:
    """These spans and all that they build on: trace's number and id, own columns, the trace's texts."""
    mark = "(?, ?)" if connection.dialect.name == "sqlite" else "(%s, %s)"
    query = f"""WITH RECURSIVE wanted (seq, id) AS (VALUES {", ".join([mark] * len(keys))}),
        chain (seq, id, base_seq, base_id) AS (
            SELECT s.trace_seq, s.id, s.base_seq, s.base_id FROM wanted w JOIN spans s ON s.trace_seq = w.seq AND s.id = w.id
            UNION SELECT s.trace_seq, s.id, s.base_seq, s.base_id
                FROM chain c JOIN spans s ON s.trace_seq = c.base_seq AND s.id = c.base_id)
        {_WITH_TEXTS} FROM chain c JOIN spans s ON s.trace_seq = c.seq AND s.id = c.id JOIN traces t ON t.seq = s.trace_seq"""
    return connection.exec_driver_sql(query, tuple(chain.from_iterable(keys)))


def _read_carried(key: Key, known: dict[Key, SpanRow], read: dict[Key, Carried]) -> Carried:
    """What a span carried, from the first span of its chain on; a loop, because a chain is as long as its session."""
    links: list[Key] = []
    at: Key | None = key
    while at is not None and at not in read and at in known:
        links.append(at)
        at = _base_of(known[at])
    for one in reversed(links):
        row = known[one]
        if (base := _base_of(row)) is None:
            read[one] = carried_by(row)
        else:
            texts = row.input_text, row.output_text
            # A base that is gone gives what the difference itself holds: part of a span is better than none.
            before = read.get(base, Carried({}, None, None))
            read[one] = Carried(restore(loads(row.raw), texts, before), *texts)
    return read[key]


def release(connection: Connection, trace_ids: Sequence[str]) -> None:
    """Let nothing build on these traces, which are about to be deleted: what stays is made whole."""
    # Read from the index of bases, which is empty where no conversation goes on over several traces.
    if read_value(connection, "SELECT base_seq FROM spans WHERE base_seq IS NOT NULL LIMIT 1") is None:
        return
    deleted = set(trace_ids)
    # Spans outside of what is deleted; those inside go with it.
    dependents = rows_among(connection, f"{_WITH_BASE} IN (SELECT seq FROM traces WHERE id", trace_ids, ")")
    _make_whole(connection, [_with_own_texts(row) for row in dependents if row[1] not in deleted])
    # Rows to be deleted may name each other as bases, and the foreign key would forbid the first deletion.
    let_go = "UPDATE spans SET raw = '{}', base_seq = NULL, base_id = NULL WHERE base_seq IS NOT NULL"
    change_among(connection, f"{let_go} AND {OF_TRACES}", trace_ids, ")")


def make_dependents_whole(connection: Connection, bases: Collection[Key]) -> None:
    """Let no other span build on these spans, which are about to change."""
    named = set(bases)
    rows = [_with_own_texts(row) for row in rows_among(connection, _WITH_BASE, {seq for seq, _ in named})]
    _make_whole(connection, [(seq, row) for seq, row in rows if (row.base_seq, row.base_id) in named])


def _make_whole(connection: Connection, rows: Sequence[tuple[int, SpanRow]]) -> None:
    whole = "UPDATE spans SET raw = :raw, base_seq = NULL, base_id = NULL WHERE trace_seq = :seq AND id = :id"
    restored = zip(rows, whole_spans(connection, rows), strict=True)
    run_for_each(connection, whole, ({"seq": seq, "id": row.id, "raw": fold_row(row)} for (seq, _), row in restored))


def _with_own_texts(row: Any) -> tuple[int, SpanRow]:
    """A row of trace's number and id, own columns and the trace's texts."""
    return row[0], unshare(SpanRow(row[1], *row[2:-2]), row[-2], row[-1])


def fold_row(row: SpanRow) -> str:
    """Give what a span carried as it is stored beside its texts."""
    raw = loads(row.raw)
    fold(raw, row.input_text, row.output_text)
    return dumps(raw)


MOST_CHARACTERS = 12_000_000  # the memory of a server has a limit
OVERHEAD = 1000  # of the objects that hold a span
WORTH_IT = 0.75  # of its own size that a difference takes at most


class _Recent:
    """A stored span that later ones may be described by, and the characters that each of its keys stands for."""

    __slots__ = ("carried", "keys", "row", "seq", "size", "trace")

    def __init__(self, seq: int, row: SpanRow, trace: TraceRow, keys: Sequence[int]) -> None:
        self.seq, self.row, self.trace, self.keys = seq, row, trace, keys
        texts = (row.input_text, row.output_text) if not row.shared else (trace.input_text, trace.output_text)
        self.size = (len(row.raw) + len(texts[0] or "") + len(texts[1] or "") + OVERHEAD) // len(keys)
        self.carried: Carried | None = None

    def read(self) -> Carried:
        if self.carried is None:
            self.carried = carried_by(unshare(self.row, self.trace.input_text, self.trace.output_text))
        return self.carried


class RecentSpans:
    def __init__(self) -> None:
        self._by_key: dict[int, _Recent] = {}  # the one that was written last comes last
        self._size = 0

    def clear(self) -> None:
        """Forget all: what was written last may not have been stored."""
        self._by_key.clear()
        self._size = 0

    def shorten(
        self,
        connection: Connection,
        rows: Sequence[SpanRow],
        seqs: Mapping[str, int],
        summaries: Mapping[str, TraceRow],
    ) -> list[SpanRow]:
        """The rows as they are to be stored, those that repeat a recent one as the difference from it.

        `seqs` are the numbers of their traces, `summaries` the rows of these, which hold the texts that rows share with them.
        """
        sessions = {trace_id: hash(trace.session_id or trace_id) for trace_id, trace in summaries.items()}
        # Only spans of the same session can be a base: erasing a session then never touches another one's spans.
        keys = [[sessions[row.trace_id] ^ head for head in row.heads] for row in rows]
        self._drop_unstored(connection, keys)
        shortened = list(rows)
        for number, (row, its_keys) in enumerate(zip(rows, keys, strict=True)):
            if not its_keys:
                continue
            recent = _Recent(seqs[row.trace_id], row, summaries[row.trace_id], its_keys)
            if (base := self._add(recent)) is not None:
                raw = dumps(difference(recent.read(), base.read()))
                if len(raw) <= WORTH_IT * len(row.raw):
                    shortened[number] = row._replace(raw=raw, base_seq=base.seq, base_id=base.row.id)
        return shortened

    def _add(self, recent: _Recent) -> _Recent | None:
        """Remember a span; returns the one that it repeats."""
        base: _Recent | None = None
        for key in dict.fromkeys(recent.keys):
            # The newest span of a conversation holds most of it, so it takes the place of the one before.
            if (before := self._forget(key)) is not None:
                base = base or before
            self._by_key[key] = recent
            self._size += recent.size
        while self._size > MOST_CHARACTERS:
            self._forget(next(iter(self._by_key)))
        return base

    def _forget(self, key: int) -> _Recent | None:
        recent = self._by_key.pop(key, None)
        self._size -= recent.size if recent is not None else 0
        return recent

    def _drop_unstored(self, connection: Connection, keys: Sequence[Sequence[int]]) -> None:
        """Forget those of the spans found by these keys that are not stored: deleted since, or never committed."""
        named = {key: self._by_key[key] for some in keys for key in some if key in self._by_key}
        if not named:
            return
        query = "SELECT t.id, t.seq, s.id FROM spans s JOIN traces t ON t.seq = s.trace_seq WHERE t.id"
        stored = {tuple(row) for row in rows_among(connection, query, {one.row.trace_id for one in named.values()})}
        for key, recent in named.items():
            if (recent.row.trace_id, recent.seq, recent.row.id) not in stored:
                self._forget(key)
