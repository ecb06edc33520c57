"""Classify tool calls by what they do, whatever agent made them, and read files and lines out of what tools print.

Line numbers are those of the work tree at that moment. Paths are as the agent wrote them, beside the folder they
start from.

- The patch envelope of Codex: `*** Begin Patch`, files, chunks of context and changed lines without line numbers.
- Diffs that a command printed (`git show`, a pull request): what stands there now (context and added lines) was shown; what was
  taken out is no longer in the file, and after an edit of the session's own it would only repeat the answer. The diff may be cut
  off anywhere, so it is read line by line and believed as far as it goes.
- The output of grep and its kin: `path:N:match`, `path-N-context`, and `N:match` where one file was searched; a path alone where
  only names were asked for. A dash is also a sign of paths and of numbers, so a context line is cut where what stands before it
  looks like a file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from evergold.repo.git import path_text, unquote

Lines = list[str]
MOST_DIGITS = 9  # no file has more lines; Python refuses to convert texts of thousands of digits


class FileRef(NamedTuple):
    """A path as it was written, and the folder it is relative to."""

    path: str
    folder: str | None


class LineSpan(NamedTuple):
    """Lines by number, first and last included. A negative number counts from the end; a last of 0 is the end."""

    first: int
    last: int


WHOLE = LineSpan(1, 0)


@dataclass(frozen=True)
class Looked:
    """A file, or some of its lines, came before the agent.

    `numbered` holds lines whose numbers the tool showed. Otherwise `span` says which lines were asked for and `shown` what was
    printed, perhaps among other things: a line counts when it is in both. With neither numbers nor a span, what was
    shown is looked up in the file. With none of them only the path was seen.
    """

    ref: FileRef
    numbered: dict[int, str] | None = None
    span: LineSpan | None = None
    shown: Lines | None = None
    asked: bool = False


class Replacement(NamedTuple):
    """One text for another: the first place where it stands, or everywhere. `hint` names a line it stands behind."""

    old: str
    new: str
    everywhere: bool = False
    hint: str = ""


class Patch(NamedTuple):
    """A change by line numbers: at line `start` of the old file these lines went and those came."""

    start: int
    removed: int
    added: Lines


@dataclass(frozen=True)
class Changed:
    """A file was changed. `before` and `after` are whole contents where they are known; `None` everywhere: unseen."""

    ref: FileRef
    replacements: tuple[Replacement, ...] = ()
    patches: tuple[Patch, ...] = ()
    before: str | None = None
    after: str | None = None

    def written_lines(self) -> Lines:
        """The lines that came with the change."""
        if self.after is not None:
            return text_lines(self.after)
        if self.patches:
            return [line for patch in reversed(self.patches) for line in patch.added]
        return [line for replacement in self.replacements for line in text_lines(replacement.new)]


@dataclass(frozen=True)
class Moved:
    old: FileRef
    new: FileRef


@dataclass(frozen=True)
class Committed:
    """A commit, a merge or the merge of a pull request was made; what the tool printed of it."""

    commit: str | None = None
    subject: str | None = None
    merge: bool = False
    pull_request: str | None = None


Event = Looked | Changed | Moved | Committed


def text_lines(text: str) -> Lines:
    """Lines as git counts them, without their ends."""
    # str.splitlines would also split at form feeds and Unicode separators, which git does not count as line ends.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


BEGIN, END = "*** Begin Patch", "*** End Patch"
_ADD, _DELETE, _UPDATE, _MOVE = "*** Add File: ", "*** Delete File: ", "*** Update File: ", "*** Move to: "
_END_OF_FILE = "*** End of File"


def envelope_in(text: str) -> str | None:
    """The envelope inside a text, cut off or not; None where there is none."""
    start = text.find(BEGIN)
    if start < 0:
        return None
    # A log may hold a call that was cut off: an envelope without its end is read as far as it goes.
    end = text.find(END, start)
    return text[start : end if end >= 0 else len(text)]


def read_envelope(envelope: str, folder: str | None) -> Iterator[Event]:
    """One change per file, in the order of the envelope."""
    sections: list[tuple[str, list[str]]] = []
    # The first line is the mark of the envelope itself.
    for line in envelope.rstrip("\n").split("\n")[1:]:
        if line.startswith((_ADD, _DELETE, _UPDATE)):
            sections.append((line, []))
        elif sections:
            sections[-1][1].append(line)
    for head, body in sections:
        ref = FileRef(head.split(": ", 1)[1].strip(), folder)
        if head.startswith(_ADD):
            yield Changed(ref, after="".join(f"{line[1:]}\n" for line in body if line.startswith("+")))
            continue
        if head.startswith(_DELETE):
            yield Changed(ref)
            continue
        if body and body[0].startswith(_MOVE):
            target = FileRef(body.pop(0).removeprefix(_MOVE).strip(), folder)
            yield Moved(ref, target)
            ref = target
        yield Changed(ref, replacements=tuple(_chunks(body)))


def _chunks(body: list[str]) -> Iterator[Replacement]:
    old: list[str] = []
    new: list[str] = []
    hint = ""
    # A last "@@" closes the chunk that is open.
    for line in [*body, "@@"]:
        if line.startswith("@@"):
            if old or new:
                yield Replacement("\n".join(old), "\n".join(new), hint=hint)
            old, new, hint = [], [], line[2:].strip()
        elif line == _END_OF_FILE:
            continue
        elif line.startswith("-"):
            old.append(line[1:])
        elif line.startswith("+"):
            new.append(line[1:])
        # Models often write an empty context line without its leading space.
        elif line.startswith(" ") or not line:
            old.append(line[1:])
            new.append(line[1:])


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
            spelled = line[len(_FILE) :].partition("\t")[0].rstrip("\r")
            named = path_text(unquote(spelled.encode("utf-8", "surrogatepass")))
            path = None if named == "/dev/null" else named[2:] if named.startswith(("b/", "w/", "i/")) else named
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
    yield from (Looked(FileRef(path, folder), shown=lines) for path, lines in results.items())


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
