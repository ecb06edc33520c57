"""What somebody outside this repository would write: nouns in, nouns out, no store in sight."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.generation import Draft, Idea, Passage, WritingTask
from evergold.model.trace import Trace
from evergold.seams import Incoming


class Shout:
    """Cases as upper-case lines."""

    suffix: ClassVar[str] = ".txt"

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"SHOUT ")

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        lines = [f"SHOUT {case.id} {case.input.upper()}\n" for case in cases]
        path.write_text("".join(lines))
        return len(lines)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        for line in path.read_text().splitlines():
            _, case_id, text = line.split(" ", 2)
            yield Case(id=case_id, dataset="shouted", input=text)


class ShoutSource:
    """Traces from lines that begin with `!`."""

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"!")

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for number, line in enumerate(lines, 1):
            text = line.decode().removeprefix("!").strip()
            yield Trace(id=f"shout-{number}", input=text, output=text.upper())


class ShoutWriter:
    """Asks for the first word of a passage, loudly."""

    identity = "shout"
    label = "shouted"

    def __init__(self, **parts: Any) -> None:
        assert "prompts" in parts

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        return [Idea(instruction="WHAT IS THE FIRST WORD?", method="shout", basis=passage.text.split()[0])]

    async def write(self, assignment: WritingTask) -> Draft:
        return Draft(text=assignment.idea.basis.upper() + "!")

    async def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Draft:
        return Draft(text=draft.text)
