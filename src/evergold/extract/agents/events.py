"""Classify tool calls by what they do, whatever agent made them and whatever the tool is called.

Line numbers are those of the work tree at that moment. Paths are as the agent wrote them, beside the folder they start from.
"""

from dataclasses import dataclass
from typing import NamedTuple

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

    def written(self) -> Lines:
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
