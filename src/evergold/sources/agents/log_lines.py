"""Reading logs that another program writes while we read: lines of any length, some of them broken.

A line that cannot be read is counted with its place and costs nothing else. A session may be spread over several
files, each of which repeats the one before: a line seen once is not parsed again.
"""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import Unavailable
from evergold.storage import open_read

SHOWN_PROBLEMS = 5
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class LogLines:
    """The JSON objects of one session's files, in order; `problems` says what could not be read."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.paths = list(paths)
        self.problems: list[str] = []
        self._seen: set[bytes] = set()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for path in self.paths:
            bad: list[str] = []
            good = False
            for number, line in numbered_lines(path):
                # A resumed session is a copy: most of its lines are those of the file before.
                if line in self._seen:
                    good = True
                    continue
                # A single file repeats no other, so its lines need not be remembered.
                if len(self.paths) > 1:
                    self._seen.add(line)
                event = parsed(line)
                if event is None:
                    bad.append(f"{path}:{number}: not a JSON object ({len(line)} bytes)")
                else:
                    good = True
                    yield event
            self._report(path, bad, good)

    def _report(self, path: Path, bad: list[str], good: bool) -> None:
        if bad and not good:
            self.problems.append(
                f"{path}: none of its {len(bad)} lines is a JSON object; is it the log of another agent?"
            )
            return
        self.problems += bad[:SHOWN_PROBLEMS]
        if len(bad) > SHOWN_PROBLEMS:
            self.problems.append(f"{path}: {len(bad) - SHOWN_PROBLEMS} more lines are no JSON objects")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that hold something, with their numbers."""
    try:
        with open_read(path) as file:
            for number, line in enumerate(file, start=1):
                if stripped := line.strip():
                    yield number, stripped
    except OSError as problem:
        raise Unavailable(f"cannot read {str(path)!r}: {problem.strerror}") from problem


def parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def moment(value: object, otherwise: datetime = EPOCH) -> datetime:
    """A time as logs write it; one that is missing or unreadable is taken to be that of the event before."""
    if not isinstance(value, str):
        return otherwise
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return otherwise
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def text_of_blocks(content: object) -> str:
    """The text of a message or result: a string, or blocks of which the textual ones count."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") if isinstance(block, dict) else block for block in content)
    return "\n".join(text for text in texts if isinstance(text, str))
