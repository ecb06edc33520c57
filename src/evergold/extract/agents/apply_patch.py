"""The patch envelope of Codex: `*** Begin Patch`, files, chunks of context and changed lines without line numbers."""

from collections.abc import Iterator

from evergold.extract.agents.events import Changed, Event, FileRef, Moved, Replacement

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
