"""Archives of traces: moving old ones out of the database into files by day, and bringing a day back.

A day's traces are written first, as a part that is verified by its hash; then they are deleted, each only if it still is
what was written. A command that was killed leaves traces in both places at worst; the same command again finishes.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from evergold.errors import BadInput, NotFound
from evergold.formats import trace_archive as files
from evergold.formats.tables import arrow
from evergold.model.trace import Reaction
from evergold.storage import location
from evergold.store import Store
from evergold.store.database.rows import batches, dumps, loads, stamp
from evergold.store.facts import ARCHIVES, Portion, fact, fact_to_change, put_fact
from evergold.store.trace.archive import (
    Record,
    delete_archived,
    find_archivable_days,
    find_archivable_traces,
    hash_record,
    put_records,
    read_records,
    upgrade_record,
)
from evergold.store.trace.retention import count_prunable

AGE = re.compile(r"^(\d+)\s*([smhdw])$")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
BATCH = 500
PART_CHARACTERS = 50_000_000  # of the texts in a part: so much is held in memory

Progress = Callable[[int], None]


@dataclass
class Archived:
    """What one call moved. `kept` changed or was cited while it was being moved, and stays, as do those `cited` before."""

    days: int = 0
    traces: int = 0
    kept: int = 0
    cited: int = 0
    bytes: int = 0


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
            days = find_archivable_days(connection, before)
            done = Archived(cited=count_prunable(connection, before).kept)
        if days:
            # Remembered first: an archive that was begun and cut short must be found when a user is erased.
            self.remember(archive)
        for day in days:
            trace_ids = self._store.read(find_archivable_traces, day, before)
            self._move_day(files.folder_of(archive, day), trace_ids, done, progress)
            done.days += 1
        return done

    def would_move(self, older_than: str) -> Archived:
        """Count what `move` would move, and what stays because datasets cite it; move nothing."""
        before = cutoff(older_than)
        with self._store.db.read() as connection:
            counted = count_prunable(connection, before)
            return Archived(
                days=len(find_archivable_days(connection, before)), traces=counted.deleted, cited=counted.kept
            )

    def _move_day(self, folder: Path, trace_ids: list[str], done: Archived, progress: Progress) -> None:
        held = _read_digests(folder)  # of an earlier call
        portion = Portion(BATCH)
        moved = 0
        read = (record for batch in batches(trace_ids, BATCH) for record in self._store.read(read_records, batch))
        for records in _split_into_parts(read):
            fresh = [one for one in records if one["id"] not in held or held[one["id"]] != hash_record(one)]
            if fresh:
                part = files.write_part(folder, fresh)
                # The file is read back from the disk before a single trace is deleted.
                files.require_whole(folder, part)
                done.bytes += part.bytes
            for some in portion.of(records):
                work = partial(delete_archived, written={record["id"]: record for record in some})
                moved += self._store.db.write_with_retry(portion.time_work(work))
                progress(len(some))
        done.traces += moved
        # A trace that was deleted meanwhile, by somebody else, counts as kept.
        done.kept += len(trace_ids) - moved

    def restore(self, day: str, source: str | Path) -> int:
        """Bring the traces of a day back; those that are in the workspace stay as they are. Returns how many came back."""
        folder = files.folder_of(location(source), day)
        parts = files.list_parts(folder)
        if not parts:
            days = _require_days(source)
            raise NotFound(f"no day {day} in the archive {source}; it has days from {days[0]} to {days[-1]}")
        # All parts are verified before the first is stored: half a day must not come back.
        for part in parts:
            files.require_whole(folder, part)
        count = 0
        for part in parts:  # the newest first: what it brings, an older one leaves alone
            for records in _read_part(folder, part):
                count += self._store.db.write_with_retry(partial(put_records, records=records))
        self.remember(location(source))
        return count

    def verify(self, source: str | Path) -> Iterator[VerifiedDay]:
        """Compare every file of an archive with its hash, the oldest day first."""
        for day in _require_days(source):
            folder = files.folder_of(location(source), day)
            try:
                parts = files.list_parts(folder)
            except BadInput as damage:
                yield VerifiedDay(day, 0, 0, 0, [str(damage)])
                continue
            problems = []
            for part in parts:
                try:
                    files.require_whole(folder, part)
                except (BadInput, NotFound) as problem:
                    problems.append(str(problem))
            yield VerifiedDay(day, len(parts), sum(p.traces for p in parts), sum(p.bytes for p in parts), problems)

    def erase(self, user: str) -> int:
        """Take a user's traces, and what the user said of others, out of every archive; returns how many traces went."""
        return sum(_erase_user(folder, part, user) for folder, part in self._list_all_parts())

    def count_of(self, user: str) -> int:
        """Count the traces of a user in the archives of this workspace; one in two parts counts twice."""
        return sum(
            row["user_id"] == user
            for folder, part in self._list_all_parts()
            for rows in files.read_part(folder / part.file, ["user_id"])
            for row in rows
        )

    def _list_all_parts(self) -> Iterator[tuple[Path, files.PartManifest]]:
        for archive in map(location, self.locations()):
            # One that was removed since holds nothing. One that cannot be reached may, and is an error.
            for day in files.list_days(archive):
                folder = files.folder_of(archive, day)
                yield from ((folder, part) for part in files.list_parts(folder))

    def locations(self) -> list[str]:
        """List where this workspace has archives."""
        return list(json.loads(self._store.read(fact, ARCHIVES) or "[]"))

    def remember(self, archive: Path) -> None:
        """Note where archives are, so that erasing a user finds them."""
        name = str(archive.absolute())

        def note(connection: Connection) -> None:
            # The list is read again here, where nobody else changes it: two archives noted at once are both kept.
            noted = json.loads(fact_to_change(connection, ARCHIVES) or "[]")
            if name not in noted:
                put_fact(connection, ARCHIVES, json.dumps([*noted, name]))

        if name not in self.locations():
            self._store.db.write(note)


def cutoff(older_than: str) -> str:
    """The moment that lies an age (`90d`) back."""
    match = AGE.match(older_than.strip())
    if match is None:
        raise BadInput(f"age {older_than!r} is not a number and a unit: use 90d, 12h, 2w (s, m, h, d, w)")
    number, unit = match.groups()
    try:
        moment = datetime.now(UTC) - timedelta(**{UNITS[unit]: int(number)})
    except (OverflowError, ValueError) as problem:  # ValueError: more digits than Python converts
        raise BadInput(f"age {older_than[:40]!r} reaches back before the year 1") from problem
    return stamp(moment) or ""


def _require_days(source: str | Path) -> list[str]:
    days = files.list_days(location(source))
    if not days:
        raise NotFound(f"no archive of traces at {source}; `evergold traces archive` writes one")
    return days


def _split_into_parts(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Group records into lists that each make a part."""
    some: list[Record] = []
    size = 0
    for record in records:
        some.append(record)
        size += len(record["input_text"]) + sum(
            len(span["raw"]) + len(span["input_text"] or "") for span in record["spans"]
        )
        if size >= PART_CHARACTERS:
            yield some
            some, size = [], 0
    if some:
        yield some


def _read_part(folder: Path, part: files.PartManifest) -> Iterator[list[Record]]:
    """Read the records of a part, some at a time, in the format of today."""
    for records in files.read_part(folder / part.file):
        yield records if part.format == files.FORMAT else [upgrade_record(record) for record in records]


def _read_digests(folder: Path) -> dict[str, str]:
    """Read which traces a day holds already, in which state; of several the newest."""
    known: dict[str, str] = {}
    for part in files.list_parts(folder):
        for records in _read_part(folder, part):
            # Parts come newest first, so the first state seen of a trace is the newest.
            known |= {record["id"]: hash_record(record) for record in records if record["id"] not in known}
    return known


def _erase_user(folder: Path, part: files.PartManifest, user: str) -> int:
    """Write a part anew without a user, with its earlier time; one that has nothing of theirs stays."""
    looked_at = ["user_id", "trace_corrections", "trace_scores"]
    rows = [row for some in files.read_part(folder / part.file, looked_at) for row in some]
    gone: int = sum(row["user_id"] == user for row in rows)
    if gone or any(_remove_feedback(row, user) != row for row in rows):
        kept = (
            _remove_feedback(one, user) for some in _read_part(folder, part) for one in some if one["user_id"] != user
        )
        # The new part is complete on disk before the old one goes; a crash between leaves both, and erasing again finishes.
        for records in _split_into_parts(kept):
            files.write_part(folder, records, part.created_at)
        files.remove_part(folder, part)
    return gone


def _remove_feedback(record: Record, user: str) -> Record:
    """Take the user's corrections and reactions out of a record of somebody else."""
    reaction = Reaction(trace_id="any", emoji=None, author=user).key
    theirs = {"trace_corrections": ("author", user), "trace_scores": ("key", reaction)}
    return record | {
        name: dumps([row for row in loads(record[name]) if row[column] != value])
        for name, (column, value) in theirs.items()
    }
