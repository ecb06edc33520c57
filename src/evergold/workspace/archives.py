"""Archives of traces: moving old ones out of the database into files by day, reading them there, bringing a day back.

A day's traces are written first, as a part that is verified by its hash; then they are deleted, each only if it still is
what was written. A command that was killed leaves traces in both places at worst; the same command again finishes.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from evergold.errors import BadInput, NotFound
from evergold.formats import trace_archive as files
from evergold.formats.columns import arrow
from evergold.model.trace import Reaction, Trace
from evergold.storage import location
from evergold.store import Store
from evergold.store.archiving import (
    BELONGING,
    LISTS,
    SPAN,
    TRACE,
    TraceRows,
    archivable,
    archivable_days,
    delete_archived,
    digest_of,
    put_records,
    record_of_state,
    rows_of,
)
from evergold.store.portions import Portion
from evergold.store.retention import count_prunable
from evergold.store.trace_filter import TraceFilter
from evergold.store.values import batches
from evergold.store.workspace_facts import ARCHIVES, fact, fact_to_change, put_fact
from evergold.store.write_mark import write_mark
from evergold.workspace.archive_search import ArchivedTurn, days_of, of_session, row_in, search_archive, trace_of_row
from evergold.workspace.live import cutoff

BATCH = 1000
PART_CHARACTERS = 50_000_000  # that the spans of a part carried: so much is held in memory

Progress = Callable[[int], None]


@dataclass
class Archived:
    """What one call moved. `kept` changed or was cited while it was being moved, and stays, as do those `cited` before."""

    days: int = 0
    traces: int = 0
    kept: int = 0
    cited: int = 0
    bytes: int = 0
    json_bytes: int = 0


@dataclass(frozen=True)
class VerifiedDay:
    """A day of an archive: its files, the traces and bytes in them, and what is wrong with them."""

    day: str
    parts: int
    traces: int
    bytes: int
    problems: list[str]


class Archives:
    """The facade of archives."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def move(self, older_than: str, to: str | Path, progress: Progress = lambda _: None) -> Archived:
        """Move traces older than `30d` that no dataset entry cites, with everything about them, into an archive."""
        # The library that writes the files is optional; it must be missed before anything is moved.
        arrow()
        before, archive = cutoff(older_than), location(to)
        with self._store.db.read() as connection:
            days = archivable_days(connection, before)
            done = Archived(cited=count_prunable(connection, before).kept)
        if days:
            # Remembered first: an archive that was begun and cut short must be found when a user is erased.
            self.remember(archive)
        for day in days:
            self._move_day(files.folder_of(archive, day), day, before, done, progress)
        return done

    def would_move(self, older_than: str) -> Archived:
        """Count what `move` would move, and what stays because datasets cite it; move nothing."""
        before = cutoff(older_than)
        with self._store.db.read() as connection:
            counted = count_prunable(connection, before)
            return Archived(days=len(archivable_days(connection, before)), traces=counted.deleted, cited=counted.kept)

    def _move_day(self, folder: Path, day: str, before: str, done: Archived, progress: Progress) -> None:
        with self._store.db.read() as connection:
            seqs = archivable(connection, day, before)
        written = self._digests(folder)  # of an earlier call
        waiting, portion = batches(seqs, BATCH), Portion(BATCH)
        done.days += 1
        while True:
            # Before they are read: where nobody writes until they are deleted, they need not be read again.
            mark = self._store.db.write(write_mark)
            read = self._write_some(folder, waiting, written, done)
            if not read:
                return
            for wanted, rows in read:
                deleted = 0
                for some in portion.of([row[1] for row in rows.traces]):
                    part = rows if len(some) == len(rows.traces) else rows.among(set(some))
                    work = partial(delete_archived, read=part, mark=mark)
                    gone, mark = self._store.db.write_with_own_keys(portion.timed(work))
                    deleted += gone
                done.traces += deleted
                # A trace without a row was not read in time, for instance deleted meanwhile, and counts as kept.
                done.kept += wanted - deleted
                progress(wanted)

    def _write_some(
        self, folder: Path, waiting: Iterator[Sequence[int]], written: dict[str, str], done: Archived
    ) -> list[tuple[int, TraceRows]]:
        """Write a part of the traces that wait, but for those that the archive holds; return all that were read.

        They are held in memory until they are deleted, so that each is compared with what was written, value by value.
        """
        read: list[tuple[int, TraceRows]] = []

        def unwritten() -> Iterator[files.Columns]:
            size = 0
            for batch in waiting:
                with self._store.db.read() as connection:
                    rows = rows_of(connection, batch)
                read.append((len(batch), rows))
                fresh = _unwritten(rows, written)
                if fresh.traces:
                    yield _columns(fresh)
                size += rows.size
                if size >= PART_CHARACTERS:
                    return

        part = files.write_part(folder, unwritten())
        if part is not None:
            # The file is read back from the disk before a single trace is deleted.
            files.require_whole(folder, part)
            done.bytes += part.bytes
            done.json_bytes += part.json_bytes
        return read

    def _digests(self, folder: Path) -> dict[str, str]:
        """Which traces a day holds already, in which state; of several the newest."""
        known: dict[str, str] = {}
        for part in files.parts_of(folder):
            for rows in files.read_part(folder / part.file):
                for row in rows:
                    # Parts come newest first, so the first state seen of a trace is the newest.
                    if row["id"] not in known:
                        known[row["id"]] = digest_of(files.record_of(row, LISTS))
        return known

    def restore(self, day: str, source: str | Path, turn: ArchivedTurn | None = None) -> int:
        """Bring the traces of a day, or of the session of one turn, back; those that are in the workspace stay as they are.

        Returns how many came back.
        """
        folder = files.folder_of(location(source), day)
        parts = files.parts_of(folder)
        if not parts:
            days = [known for known, _ in days_of(source)]
            raise NotFound(f"no day {day} in the archive {source}; it has days from {days[-1]} to {days[0]}")
        # All parts are verified before the first is stored: half a day must not come back.
        for part in parts:
            files.require_whole(folder, part)
        count = 0
        keep = None if turn is None else partial(of_session, turn=turn)
        for part in parts:  # the newest first: what it brings, an older one leaves alone
            for rows in files.read_part(folder / part.file, keep=keep):
                # Not in smaller portions: what names two traces comes back only with both of them.
                records = [files.record_of(row, LISTS) for row in rows]
                count += self._store.db.write_again(partial(put_records, records=records))
        self.remember(location(source))
        return count

    def search(self, source: str | Path, wanted: TraceFilter, limit: int) -> list[Trace]:
        """Find traces in an archive, newest first, without their spans; the words of a search must all be there."""
        return search_archive(source, wanted, limit)

    def get(self, source: str | Path, trace_id: str) -> Trace:
        """Read one trace of an archive, whole."""
        return trace_of_row(row_in(source, trace_id)[1])

    def locations(self) -> list[str]:
        """Where this workspace has archives."""
        with self._store.db.read() as connection:
            return list(json.loads(fact(connection, ARCHIVES) or "[]"))

    def erase(self, user: str) -> int:
        """Take a user's traces, and what the user said of others, out of every archive; returns how many traces went."""
        gone = 0
        for archive in map(location, self.locations()):
            # One that was removed since has nothing of theirs. One that cannot be reached may have, and is an error.
            for day in files.days_in(archive):
                folder = files.folder_of(archive, day)
                for part in files.parts_of(folder):
                    gone += _without_user(folder, part, user)
        return gone

    def count_of(self, user: str) -> int:
        """How many traces of a user the archives of this workspace hold; a trace in two parts counts twice."""
        archives = map(location, self.locations())
        days = (files.folder_of(archive, day) for archive in archives for day in files.days_in(archive))
        return sum(
            row["user_id"] == user
            for folder in days
            for part in files.parts_of(folder)
            for rows in files.read_part(folder / part.file, ["user_id"])
            for row in rows
        )

    def verify(self, source: str | Path) -> Iterator[VerifiedDay]:
        """Compare every file of an archive with its hash, the oldest day first."""
        for day, folder in sorted(days_of(source)):
            try:
                parts = files.parts_of(folder)
            except BadInput as damage:
                yield VerifiedDay(day, 0, 0, 0, [str(damage)])
                continue
            problems = [problem for part in parts if (problem := _problem(folder, part))]
            yield VerifiedDay(day, len(parts), sum(p.traces for p in parts), sum(p.bytes for p in parts), problems)

    def remember(self, archive: Path) -> None:
        """Note where archives are, so that erasing a user finds them."""
        name = str(archive.absolute())
        if name not in self.locations():
            self._store.db.write(partial(_note_archive, name=name))


def _note_archive(connection: Connection, name: str) -> None:
    # The list is read again here, where nobody else changes it: two archives noted at once are both kept.
    noted = json.loads(fact_to_change(connection, ARCHIVES) or "[]")
    if name not in noted:
        put_fact(connection, ARCHIVES, json.dumps([*noted, name]))


def _problem(folder: Path, part: files.ArchivePartList) -> str:
    """What is wrong with a file; nothing, if it matches its hash."""
    try:
        files.require_whole(folder, part)
    except (BadInput, NotFound) as problem:
        return str(problem)
    return ""


def _unwritten(rows: TraceRows, written: dict[str, str]) -> TraceRows:
    """Those of the rows whose traces an archive does not hold in this state, given the digests of what it holds."""
    if not any(row[1] in written for row in rows.traces):
        return rows
    return rows.among(
        {
            one
            for one, state in rows.states().items()
            if one not in written or written[one] != digest_of(record_of_state(state))
        }
    )


def _columns(rows: TraceRows) -> files.Columns:
    """Rows as the columns of a part."""
    seqs, *of_traces = zip(*rows.traces, strict=True)
    # Without a span there is nothing to turn into columns.
    named, *of_spans = zip(*rows.spans, strict=True) if rows.spans else ((),) * (len(SPAN) + 1)
    columns: dict[str, Any] = dict(zip(("id", *TRACE), of_traces, strict=True))
    counts = Counter(named)
    columns["spans"] = files.Nested([counts[seq] for seq in seqs], dict(zip(SPAN, of_spans, strict=True)))
    for name, (_, names, _) in BELONGING.items():
        columns[name] = ["[]"] * len(seqs)
        if own := rows.belonging.get(name):
            given = (own.get(one, ()) for one in columns["id"])
            columns[name] = [[dict(zip(names, row, strict=True)) for row in each] for each in given]
    return columns


def _without_user(folder: Path, part: files.ArchivePartList, user: str) -> int:
    """Write a part anew without a user; the old one goes when the new one is there. One that has nothing of theirs stays."""
    path, gone, changed = folder / part.file, 0, False
    for rows in files.read_part(path, ["user_id", "trace_corrections", "trace_scores"]):
        for row in rows:
            record = files.record_of(row, LISTS)
            gone += record["user_id"] == user
            changed = changed or record["user_id"] == user or _unsaid(record, user) is not record
    if changed:
        kept = (
            [_unsaid(files.record_of(row, LISTS), user) for row in rows if row["user_id"] != user]
            for rows in files.read_part(path)
        )
        names = [name for name in SPAN if part.format > 1 or name != "shared"]
        # The new part is complete on disk before the old one goes;
        # a crash between leaves both, and the newer one counts.
        files.write_part(folder, (files.columns_of(batch, "spans", names) for batch in kept if batch))
        files.remove_part(folder, part)
    return gone


def _unsaid(record: dict[str, Any], user: str) -> dict[str, Any]:
    """A record of somebody else without the user's corrections and reactions."""
    reaction = Reaction(trace_id="any", emoji=None, author=user).key
    left = {
        "trace_corrections": [row for row in record["trace_corrections"] if row["author"] != user],
        "trace_scores": [row for row in record["trace_scores"] if row["key"] != reaction],
    }
    if all(left[name] == record[name] for name in left):
        return record
    return record | left
