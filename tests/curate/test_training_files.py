"""Files for training, over random sessions: nothing held wrong is trained on, no preferred answer opens with a concession."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evergold.model.case import Candidates
from evergold.model.trace import Correction, CorrectionKind, Score, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

ITEMS = ("blue coat", "wool scarf", "leather belt", "rain hat", "silk tie", "linen shirt")
CONCEDING = (
    *("You're right", "You are absolutely right", "My bad", "Sorry about that", "I apologize for the mistake"),
    *("Oops, I mixed them up", "I stand corrected", "Good catch", "I made an error", "Apologies", "I was wrong"),
    *("Tienes razón", "Tiene usted toda la razón", "Perdón", "Me equivoqué", "Disculpa el error", "Lo siento mucho"),
    *("I understand now", "Ahora entiendo lo que preguntas", "Fue mi error", "Thanks for the correction"),
)
JOINS = (". ", "! ", ", ", ": ", " — ")


def random_session(number: int, chance: random.Random) -> tuple[list[Trace], list[Correction]]:
    """Two to four turns about prices: wrong answers that are corrected, conceded or scored, whole histories in some."""
    traces: list[Trace] = []
    corrections: list[Correction] = []
    history: list[dict[str, Any]] = []
    for turn in range(chance.randint(2, 4)):
        item, price = chance.choice(ITEMS), chance.randint(100, 999)
        asked, answer = (
            f"How much is the {item} of shelf {number}{turn}?",
            f"The {item} of shelf {number}{turn} costs {price} pesos.",
        )
        if traces and chance.random() < 0.5:
            asked = chance.choice(
                (f"No, it costs {price} pesos", f"that is wrong, it is {price}", "that worked, thanks")
            )
            opening = "".join(
                one + chance.choice(JOINS) for one in chance.sample(CONCEDING, chance.choice((0, 1, 1, 2)))
            )
            answer = opening + (answer if not opening.endswith((", ", "— ", ": ")) else answer[0].lower() + answer[1:])
            if chance.random() < 0.4:
                stated = f"{opening}the {item} of shelf {number} costs {price - 50} pesos."
                kind, text = chance.choice(((CorrectionKind.REMARK, asked), (CorrectionKind.ANSWER, stated)))
                corrections.append(Correction(trace_id=traces[-1].id, text=text, kind=kind))
        scores: list[Score] = []
        if chance.random() < 0.6:
            name, source = chance.choice((("reward", "system"), ("thumb", "user"), ("opinion", "human")))
            scores = [a_score(name, chance.choice((0.0, 0.2, 1.0, 1.0)), source)]
        messages = [*history, {"role": "user", "content": asked}]
        traces.append(
            a_trace(
                f"s{number}-{turn}",
                session_id=f"s{number}",
                input=asked,
                output=answer,
                started_at=f"2026-07-01T{number // 60:02}:{number % 60:02}:{turn:02}Z",
                scores=tuple(scores),
                **({"messages": messages} if number % 2 else {}),
            )
        )
        history = [*messages, {"role": "assistant", "content": answer}]
    return traces, corrections


def exported(ws: Workspace, name: str, path: Path) -> list[Any]:
    ws.cases.export(CaseFilter(dataset="live", candidates=Candidates.INCLUDE), name, path, rejected=[])
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("settings", "seed"), [("sqlite", 0), ("sqlite", 1), ("postgres", 2)], indirect=["settings"])
def test_training_files_teach_nothing_that_is_held_wrong(settings: Settings, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with Workspace.open(replace(settings, checks_builtin="true", checks_off=("grounded",))) as ws:
        for number in range(60):
            for records in random_session(number, chance):
                ws.intake.accept(records)
        ws.live.curate()
        held = {case.output for case in ws.cases.iterate(CaseFilter(entry_type="failure"))}
        corrected = {case.output for case in ws.cases.iterate(CaseFilter(entry_type="correction"))}
        lines, pairs = exported(ws, "openai-ft", tmp_path / "a.jsonl"), exported(ws, "dpo", tmp_path / "b.jsonl")
    learned = [
        message["content"]
        for line in lines
        for message in line["messages"]
        if message["role"] == "assistant" and message.get("weight") != 0
    ]
    preferred = [pair["preferred_output"][0]["content"] for pair in pairs]
    assert len(learned) >= 20 and len(preferred) >= 5 and len(held) >= 20
    assert held.isdisjoint(learned) and held.isdisjoint(preferred)
    assert [text for text in preferred if text.startswith(CONCEDING)] == []
    assert all(pair["non_preferred_output"][0]["content"] in held | corrected for pair in pairs)
