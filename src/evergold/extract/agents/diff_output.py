"""Diffs that a command printed → the lines of the new side that came before the agent, with their numbers.

A review looks at `git show` or a pull request's diff instead of at files. What stands there now (context and added lines) was
shown; what was taken out is no longer in the file, and after an edit of the session's own it would only repeat the answer.
The diff may be cut off anywhere, so it is read line by line and believed as far as it goes.
"""

import re
from collections.abc import Iterator

from evergold.extract.agents.events import FileRef, Lines, Looked
from evergold.repo.quoting import path_text, unquote

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_FILE = "+++ "


def shown_in_diff(output: Lines) -> Iterator[Looked]:
    """One look per file of the diff; paths are those of the repository."""
    path: str | None = None
    shown: dict[int, str] = {}
    number = left = 0
    for line in output:
        if line.startswith("diff --git "):
            yield from _look(path, shown)
            path, shown, left = None, {}, 0
        # Inside a hunk a line that begins with "+++ " is an added line of the file.
        elif left <= 0 and line.startswith(_FILE):
            path = _new_path(line)
        elif path and (hunk := _HUNK.match(line)):
            number, left = int(hunk[1]), int(hunk[2] or 1)
        elif left > 0 and not line.startswith(("-", "\\")):
            # Removed lines and remarks are no lines of the new side, so `left` does not count them.
            shown[number] = line[1:]
            number, left = number + 1, left - 1
    yield from _look(path, shown)


def _look(path: str | None, shown: dict[int, str]) -> Iterator[Looked]:
    # Line 0 stands for an empty side and is no line.
    shown.pop(0, None)
    if path and shown:
        yield Looked(FileRef(path, None), numbered=shown)


def _new_path(line: str) -> str | None:
    spelled = line[len(_FILE) :].partition("\t")[0].rstrip("\r")
    path = path_text(unquote(spelled.encode("utf-8", "surrogatepass")))
    return None if path == "/dev/null" else path.partition("/")[2] if path.startswith(("b/", "w/", "i/")) else path
