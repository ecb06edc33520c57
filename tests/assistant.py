"""Turns of a WhatsApp-like assistant with the truth of each answer, and what curation made of them held against it.

`assistant/turns.txt` was written before the rules; its head explains its lines.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

FOLDER = Path(__file__).parent / "curate" / "assistant"
MORNING = datetime(2026, 5, 4, 8, 0, tzinfo=UTC)
TRUTHS = frozenset({"good", "fine", "wrong", "unseen", "error", "refusal", "unsure"})
BELONG = frozenset({"good", "fine"})
FAILURES = frozenset({"wrong", "error"})
_HEAD = re.compile(r"(\w+)(?: (\w+)<(\d))?")


@dataclass(frozen=True)
class AssistantTurn:
    """A message and its answer; `corrects` is the turn that the message corrects, where it does."""

    id: str
    session: str
    at: datetime
    truth: str
    message: str
    answer: str
    corrects: str | None = None


def read_turns(path: Path) -> list[AssistantTurn]:
    """Read a file of sessions; each session begins at the same hour, a minute a turn."""
    turns: list[AssistantTurn] = []
    session, at, ids = "", MORNING, list[str]()
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("== "):
            session, at, ids = line[3:], MORNING, []
        elif line.startswith("+"):
            at += timedelta(hours=int(line[1:].removesuffix("h")))
        elif line and not line.startswith("#"):
            head, message, answer = (part.strip() for part in line.split(" |", 2))
            match = _HEAD.fullmatch(head)
            assert match is not None and match[1] in TRUTHS, line
            ids.append(f"{session}-{len(ids) + 1}")
            corrected = ids[-1 - int(match[3])] if match[2] == "correction" else None
            turns.append(AssistantTurn(ids[-1], session, at, match[1], message, answer.replace("\\n", "\n"), corrected))
            at += timedelta(minutes=1)
    return turns


@dataclass(frozen=True)
class Share:
    """So many of so many."""

    part: int
    whole: int

    @property
    def value(self) -> float:
        return self.part / self.whole if self.whole else 1.0

    def __str__(self) -> str:
        return f"{self.part} of {self.whole} ({self.value:.3f})"


@dataclass(frozen=True)
class Agreement:
    """What curation made of the turns, held against their truth."""

    golden_precision: Share
    golden_recall: Share
    failures_found: Share
    failure_precision: Share
    pairs_right: Share
    pairs_found: Share


def agreement(
    turns: Sequence[AssistantTurn],
    golden: Collection[str],
    failures: Collection[str],
    pairs: Collection[tuple[str, str]],
) -> Agreement:
    """Hold golden and failure entries and pairs (the corrected turn, the message that corrects it) against the truth."""
    truth = {turn.id: turn.truth for turn in turns}
    real = {(turn.corrects, turn.message) for turn in turns if turn.corrects is not None}
    right = [trace_id for trace_id in golden if truth[trace_id] in BELONG]
    failed = [trace_id for trace_id in failures if truth[trace_id] in FAILURES]
    good = [trace_id for trace_id, kind in truth.items() if kind == "good"]
    return Agreement(
        golden_precision=Share(len(right), len(golden)),
        golden_recall=Share(len(set(golden) & set(good)), len(good)),
        failures_found=Share(len(failed), sum(kind in FAILURES for kind in truth.values())),
        failure_precision=Share(len(failed), len(failures)),
        pairs_right=Share(len(real & set(pairs)), len(pairs)),
        pairs_found=Share(len(real & set(pairs)), len(real)),
    )
