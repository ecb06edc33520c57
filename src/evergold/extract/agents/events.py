"""Classify tool calls by what they do, whatever agent made them and whatever the tool is called.

Line numbers are those of the work tree at that moment. Paths are as the agent wrote them, beside the folder they start from.

The patch envelope of Codex: `*** Begin Patch`, files, chunks of context and changed lines without line numbers.
"""

from collections.abc import Iterator
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
