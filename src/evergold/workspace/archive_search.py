"""Archives read where they are: days, rows that match, and traces made of rows."""

import re
from collections.abc import Callable, Iterator
from functools import partial, reduce
from pathlib import Path
from typing import Any, NamedTuple

from evergold.errors import NotFound
from evergold.formats import trace_archive as files
from evergold.model.trace import Score, Trace
from evergold.storage import location
from evergold.store.archiving import BELONGING, LISTS, TRACE, span_row_of
from evergold.store.compact.sharing import unshared
from evergold.store.trace_filter import TraceFilter
from evergold.store.traces import span_of, trace_of

SEARCHED = ("input_text", "output_text", "name")
EQUAL = ("session_id", "user_id", "status", "name", "model")
LISTED = ["id", *TRACE, *BELONGING]  # all but the spans, which are most of an archive


class ArchivedTurn(NamedTuple):
    """A trace and the session that it is a turn of, if it is of any."""

    trace_id: str
    session_id: str | None


def days_of(source: str | Path, since: str | None = None, until: str | None = None) -> Iterator[tuple[str, Path]]:
    """The days of an archive, newest first, each with its folder; `since` and `until` are days or times."""
    archive = location(source)
    days = files.days_in(archive)
    if not days:
        raise NotFound(f"no archive of traces at {source}; `evergold traces archive` writes one")
    for day in reversed(days):
        # Days are compared as text: ISO dates sort as they run.
        if (since is None or day >= since[:10]) and (until is None or day <= until[:10]):
            yield day, files.folder_of(archive, day)


def search_archive(source: str | Path, wanted: TraceFilter, limit: int) -> list[Trace]:
    """Find traces in an archive, newest first, without their spans; the words of a search must all be there."""
    results: list[Trace] = []
    for _, folder in days_of(source, wanted.since, wanted.until):
        rows = _newest(folder, partial(_is_wanted, wanted=wanted), LISTED)
        results += [trace_of_row(row) for row in sorted(rows, key=lambda row: str(row["started_at"]), reverse=True)]
        if len(results) >= limit:
            break
    return results[:limit]


def row_in(source: str | Path, trace_id: str) -> tuple[str, dict[str, Any]]:
    """The day and the row of one trace."""
    for day, folder in days_of(source):
        for row in _newest(folder, partial(_has_id, trace_id=trace_id)):
            return day, row
    raise NotFound(f"no trace {trace_id!r} in the archive {source}")


def _newest(folder: Path, keep: Callable[[Any], Any], columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows of a day that are wanted; of a trace that is in several parts, the newest."""
    seen: set[str] = set()
    for part in files.parts_of(folder):
        for rows in files.read_part(folder / part.file, columns, keep):
            fresh = [row for row in rows if row["id"] not in seen]
            seen.update(row["id"] for row in fresh)
            yield from fresh


def trace_of_row(row: dict[str, Any]) -> Trace:
    record = files.record_of(row, LISTS)
    texts = row["input_text"], row["output_text"]
    spans = tuple(span_of(unshared(span_row_of(row["id"], span), *texts)) for span in record.get("spans", ()))
    scores = tuple(_score(score) for score in record["trace_scores"])
    tags = [tag["tag"] for tag in record["trace_tags"]]
    trace = trace_of(row, spans, scores)
    return trace.model_copy(update={"tags": tuple(dict.fromkeys([*trace.tags, *tags]))})


def _score(row: dict[str, Any]) -> Score:
    return Score.model_validate(
        {name: row[name] for name in ("name", "value", "source", "comment", "span_id", "created_at")}
    )


def _is_wanted(batch: Any, wanted: TraceFilter) -> Any:
    """Which rows of a batch pass the filters."""
    import pyarrow.compute as compute

    # Every row has an id, so these are all rows.
    kept = compute.is_valid(batch["id"])
    for name in EQUAL:
        if value := getattr(wanted, name):
            chosen = [str(one) for one in value] if isinstance(value, tuple) else [str(value)]
            kept = compute.and_(kept, reduce(compute.or_, (compute.equal(batch[name], one) for one in chosen)))
    for value, compare in ((wanted.since, compute.greater_equal), (wanted.until, compute.less)):
        if value is not None:
            kept = compute.and_(kept, compare(batch["started_at"], value))
    for word in (wanted.search or "").split():
        # Ids are found by their beginning, as in the search of the database.
        anywhere = compute.starts_with(batch["id"], word)
        for name in SEARCHED:
            hit = compute.match_substring_regex(batch[name], _begins(word), ignore_case=True)
            anywhere = compute.or_(anywhere, compute.fill_null(hit, False))
        kept = compute.and_(kept, anywhere)
    return kept


def _begins(word: str) -> str:
    """A pattern for the beginning of a word; scripts that put no spaces between words are looked into."""
    return (r"(^|[^\pL\pN])" if word.isascii() else "") + re.escape(word)


def _has_id(batch: Any, trace_id: str) -> Any:
    import pyarrow.compute as compute

    return compute.equal(batch["id"], trace_id)


def of_session(batch: Any, turn: ArchivedTurn) -> Any:
    """Which rows are of a session, or the trace itself."""
    import pyarrow.compute as compute

    its_own = compute.equal(batch["id"], turn.trace_id)
    if turn.session_id is None:
        return its_own
    return compute.or_(its_own, compute.fill_null(compute.equal(batch["session_id"], turn.session_id), False))
