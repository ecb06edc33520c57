"""Labelled remarks: our own lists, and chats of people that are kept outside the repository.

A list is a text file: `Q` a question, `A` its answer, then a line for each reply: its kind, then its words.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LISTS = Path(__file__).parent.parent / "tests" / "curate" / "remarks"
READ = Path(__file__).parent / "remark_labels.json"
KINDS = ("none", "correction", "complaint", "doubt", "repeat")
UNCLEAR = "skip"  # read, and not clear enough to learn from


@dataclass(frozen=True)
class Labelled:
    """A message after a question and its answer, the answer that it got, and what it is; `id` names its place in its chat."""

    kind: str
    message: str
    answer: str
    question: str
    reply: str | None = None
    id: str = ""
    read: bool = False


def remarks(path: Path) -> Iterator[Labelled]:
    """Read one of our own lists."""
    question = answer = ""
    for line in path.read_text("utf-8").splitlines():
        word, _, rest = line.partition(" ")
        if word == "Q":
            question = rest
        elif word == "A":
            answer = rest.replace("\\n", "\n")
        elif word in KINDS:
            yield Labelled(word, rest, answer, question)


def guided_chats(folder: Path) -> Iterator[Labelled]:
    """Read the dialogues of the Schema-Guided Dialogue dataset; what nobody read and labelled counts as no remark."""
    read = labels_read()
    for path in sorted(folder.glob("dialogues_*.json")):
        for dialogue in json.loads(path.read_text("utf-8")):
            said = [turn["utterance"] for turn in dialogue["turns"]]
            yield from _chat(f"sgd:{dialogue['dialogue_id']}", said, read)


def satisfaction_chats(path: Path) -> Iterator[Labelled]:
    """Read a file of the User Satisfaction Simulation data: chats of people, with each user turn's mean satisfaction."""
    for number, block in enumerate(path.read_text("utf-8").split("\n\n")):
        rows = [line.split("\t") for line in block.splitlines() if line.strip()]
        rows = [row for row in rows if len(row) > 1 and row[1] != "OVERALL"]
        said: list[str] = []
        for row in rows:
            user = row[0] == "USER"
            if user == (len(said) % 2 == 0):
                said.append(row[1].strip())
            elif said:
                said[-1] += " " + row[1].strip()
            else:
                said += ["", row[1].strip()]
        yield from _chat(f"uss:{path.stem}:{number}", said, {})


def labels_read() -> dict[str, str]:
    """The labels given by reading, by place: `sgd:DIALOGUE:TURN` and the like; the texts stay where they are."""
    return dict(json.loads(READ.read_text("utf-8"))) if READ.exists() else {}


def _chat(name: str, said: list[str], read: dict[str, str]) -> Iterator[Labelled]:
    for at in range(2, len(said), 2):
        place = f"{name}:{at}"
        reply = said[at + 1] if at + 1 < len(said) else None
        if said[at].strip():
            yield Labelled(
                read.get(place, "none"), said[at].strip(), said[at - 1], said[at - 2], reply, place, place in read
            )
