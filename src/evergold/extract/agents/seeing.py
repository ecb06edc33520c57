"""Map the text that an agent was shown of a file to lines of the base commit, each verified by its text.

The text a tool printed is the witness. Where it agrees with the file as the session's edits have left it, a line is what that
file says it is. Where it does not, something happened unseen: the text is looked for in the file and then in the base itself. A
line that is found nowhere, or that was written during the session, is no line of base and is counted instead.
"""

from typing import NamedTuple

from evergold.extract.agents.alignment import align
from evergold.extract.agents.drift import WorkFile
from evergold.extract.agents.events import Lines, LineSpan, Looked

# Below this share the file differs in more than a line or two from what the numbers refer to.
TRUSTED_SHARE = 0.8


class Seen(NamedTuple):
    """Numbers at position, in order of the file; lines written during the session; lines whose text is nowhere."""

    at_base: list[int]
    new: int = 0
    unproved: int = 0


def seen_of(look: Looked, file: WorkFile) -> Seen:
    """The base lines a look showed."""
    if look.numbered:
        return _numbered(look.numbered, file)
    if look.shown is None:
        return Seen([])
    shown = [line.strip() for line in look.shown]
    if look.span is not None:
        return _spanned(look.span, shown, file)
    return _looked_up(shown, file)


def _numbered(numbered: dict[int, str], file: WorkFile) -> Seen:
    """Numbers are believed where most of the text stands there; otherwise the text decides."""
    _learn(numbered, file)
    # Blank lines agree nearly everywhere; only lines with text are counted as witnesses.
    telling = [number for number in numbered if numbered[number].strip()] or list(numbered)
    right = sum(_same(file, number, numbered[number]) for number in telling)
    if right >= TRUSTED_SHARE * len(telling):
        positions = [number if _same(file, number, text) else 0 for number, text in sorted(numbered.items())]
    else:
        positions = [0] * len(numbered)
    texts = [text.strip() for _, text in sorted(numbered.items())]
    return _resolved(texts, positions, file)


def _learn(numbered: dict[int, str], file: WorkFile) -> None:
    """A file that was shown from its first line to beyond its last is known whole."""
    count = len(numbered)
    if count >= len(file.lines) > 0 and 1 in numbered and max(numbered) == count:
        lines = [numbered[number].rstrip("\r") for number in range(1, count + 1)]
        # Some tools number one empty line more than the file has: what stands behind its last line end.
        file.see(lines[:-1] if lines[-1] == "" and count == len(file.lines) + 1 else lines)


def _same(file: WorkFile, number: int, text: str) -> bool:
    return number <= len(file.lines) and file.lines[number - 1].rstrip() == text.rstrip()


def _resolved(texts: Lines, positions: list[int], file: WorkFile) -> Seen:
    """Lines with a known position in the file keep it; the others are looked for in the file, then at base."""
    at_base: list[int] = []
    new = unproved = 0
    missing = [at for at, position in enumerate(positions) if not position]
    if missing:
        result = align(texts, [line.strip() for line in file.lines])
        positions = [position or other for position, other in zip(positions, result, strict=True)]
    origins = [file.origin[position - 1] if position else 0 for position in positions]
    if not all(positions):
        result = align(texts, [line.strip() for line in file.base])
        origins = [
            # A line that is known in the file and has no origin was
            # written in the session: base is not asked again for it.
            origin or (0 if position else other)
            for origin, position, other in zip(origins, positions, result, strict=True)
        ]
    for text, position, origin in zip(texts, positions, origins, strict=True):
        if origin:
            at_base.append(origin)
        # Blank lines are neither new nor unproved: their text says nothing about where they come from.
        elif text:
            new += bool(position)
            unproved += not position
    return Seen(sorted(set(at_base)), new, unproved)


def _spanned(span: LineSpan, shown: Lines, file: WorkFile) -> Seen:
    """Of the lines that were asked for, those that were printed."""
    count = len(file.lines)
    first = span.first if span.first > 0 else max(1, count + span.first + 1)
    last = min(span.last or count, count)
    wanted = [line.strip() for line in file.lines[first - 1 : last]]
    # The exact comparison first: it is the common case, and alignment costs far more.
    printed = [1] * len(wanted) if wanted == shown[: len(wanted)] else align(wanted, shown)
    hits = [first + at for at, position in enumerate(printed) if position]
    # Less than half arrived: the numbers refer to another state of the file, so the text decides.
    if wanted and len(hits) * 2 < len(wanted):
        return _looked_up(shown, file)
    origins = [file.origin[number - 1] for number in hits]
    return Seen([origin for origin in origins if origin], new=origins.count(0))


def _looked_up(shown: Lines, file: WorkFile) -> Seen:
    """Text without numbers: only what can be found counts, and what cannot may be of another file."""
    result = _resolved(shown, [0] * len(shown), file)
    # Text without a number may belong to another file that was printed too, so what is unproved is not counted.
    return Seen(result.at_base, result.new)
