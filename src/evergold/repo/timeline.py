"""Every commit of every branch, with the times at which it was written and recorded: where a session's work is looked for."""

from datetime import UTC, datetime
from typing import NamedTuple

from evergold.repo.git import Repo

_FIELDS = "%H%x00%P%x00%at%x00%ct%x00%B"
# Git keeps any number of seconds. A year is left at both ends of the calendar, so that days can be added and taken away.
_EARLIEST, _LATEST = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (2, 9999))


class Moment(NamedTuple):
    """A commit. A rebase or an amendment keeps `authored` and renews `committed`."""

    id: str
    parents: tuple[str, ...]
    authored: datetime
    committed: datetime
    message: str

    @property
    def subject(self) -> str:
        return self.message.partition("\n")[0].strip()


def timeline(repo: Repo, since: datetime | None = None) -> list[Moment]:
    """The commits all refs reach, newest first; `since` leaves out what was recorded before."""
    limit = [f"--since={since.isoformat()}"] if since else []
    # `-z` ends each record with NUL, as the format ends each field: five fields a commit, in one flat list.
    fields = repo.run("log", "--all", "-z", f"--format={_FIELDS}", *limit).split(b"\0")
    return [_moment(fields[at : at + 5]) for at in range(0, len(fields) - 4, 5)]


def reachable(repo: Repo, *tips: str) -> set[str]:
    """The commits that some tips reach."""
    return set(repo.run("rev-list", *tips, "--").decode().split()) if tips else set()


def _moment(fields: list[bytes]) -> Moment:
    id, parents, authored, committed, message = (field.decode("utf-8", "replace") for field in fields)
    return Moment(id.strip(), tuple(parents.split()), commit_time(authored), commit_time(committed), message)


def commit_time(seconds: str) -> datetime:
    """Read a time of a commit; one that Python's calendar does not have becomes the nearest day that can be counted on."""
    return datetime.fromtimestamp(min(max(int(seconds or 0), _EARLIEST), _LATEST), UTC)
