"""Diffs that a command printed → the lines of the new side that came before the agent, with their numbers.

A review looks at `git show` or a pull request's diff instead of at files. What stands there now (context and added lines) was
shown; what was taken out is no longer in the file, and after an edit of the session's own it would only repeat the answer.
The diff may be cut off anywhere, so it is read line by line and believed as far as it goes.

The output of grep and its kin → numbered lines per file.

`path:N:match`, `path-N-context`, and `N:match` where one file was searched; a path alone where only names were asked for. A dash
is also a sign of paths and of numbers, so a context line is cut where what stands before it looks like a file.
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


_NUMBERED = re.compile(r"\s*(\d{1,9})[:=-](.*)", re.DOTALL)
# The sign before and after the number must be the same: `a-1-b` is context, `a-1:` is not.
_CUT = re.compile(r"([:-])(\d{1,9})\1")
_FILE_LIKE = re.compile(r"[^\s:]*\.[A-Za-z0-9_]{1,12}|(?:[^\s:]*/)?[A-Z][A-Za-z]+file")
_PATH_TEXT = re.compile(r"([^\s:]+?\.[A-Za-z0-9_]{1,12}):(.*)", re.DOTALL)
# A colon or NUL cannot be part of a listed path: such a line is output of another kind.
_PATH = re.compile(r"(?:\./|/|\w)[^\0:]*")


def numbered_of_one(output: Lines, ref: FileRef) -> Iterator[Looked]:
    """Lines of the one file that was searched."""
    hit = {int(match[1]): match[2] for line in output if (match := _NUMBERED.fullmatch(line))}
    hit.pop(0, None)
    if hit:
        yield Looked(ref, numbered=hit)


def numbered_by_path(output: Lines, folder: str | None) -> Iterator[Looked]:
    """Lines of many files, grouped by file in the order of their first line."""
    results: dict[str, dict[int, str]] = {}
    heading: str | None = None
    for at, line in enumerate(output):
        if cut := _cut(line):
            path, number, text = cut
            if number:
                results.setdefault(path, {})[number] = text
        elif heading and (match := _NUMBERED.fullmatch(line)):
            results.setdefault(heading, {})[int(match[1])] = match[2]
        # `rg --heading` prints the path on a line of its own above its numbered lines.
        elif line and at + 1 < len(output) and _FILE_LIKE.fullmatch(line) and _NUMBERED.fullmatch(output[at + 1]):
            heading = line
        # grep prints `--` between groups of context lines of one file.
        elif line != "--":
            heading = None
    for path, lines in results.items():
        yield Looked(FileRef(path, folder), numbered=lines)


def shown_by_path(output: Lines, folder: str | None) -> Iterator[Looked]:
    """`path:text` without numbers: the text is looked up in the file."""
    results: dict[str, Lines] = {}
    for line in output:
        if match := _PATH_TEXT.fullmatch(line):
            results.setdefault(match[1], []).append(match[2])
    for path, lines in results.items():
        yield Looked(FileRef(path, folder), shown=lines)


def bare_paths(output: Lines, folder: str | None) -> Iterator[Looked]:
    """One path per line, as `ls`, `find`, `grep -l` and globs print them."""
    for line in output:
        path = line.strip()
        if path and _FILE_LIKE.fullmatch(path.rsplit("/", 1)[-1]) and _PATH.fullmatch(path):
            yield Looked(FileRef(path, folder))


def _cut(line: str) -> tuple[str, int, str] | None:
    """(path, number, text) of a line that begins with a path; the first cut whose path looks like a file."""
    # Paths are short. The limit keeps a minified line with thousands of numbers from being tried at each of them.
    for match in _CUT.finditer(line, 0, 1000):
        path = line[: match.start()]
        if _FILE_LIKE.fullmatch(path.rsplit("/", 1)[-1]) and "\t" not in path:
            return path, int(match[2]), line[match.end() :]
    return None
