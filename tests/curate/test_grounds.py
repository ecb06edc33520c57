"""A remark makes a failure only on good grounds; a weaker one keeps the answer out of golden and leaves its pair to review."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from evergold.model.case import EntryType
from evergold.model.policy import Explanation
from evergold.model.trace import Correction, Score, ScoreLine, ScoreSource
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.rows import each_row

ASKED = ("Which platform does the train to Lyon leave from?", "It leaves from platform 3.")
WEAK = ("That's wrong, there is no train on platform 3", "The board of this morning says platform 3.")


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(replace(settings, checks_builtin="true")) as opened:
        yield opened


def curated(ws: Workspace, *turns: tuple[str, str], scores: tuple[Score, ...] = ()) -> Explanation:
    """Curate a session, and explain what became of its first answer."""
    ws.intake.accept(
        a_trace(
            f"t{number}",
            session_id="s",
            input=asked,
            output=answer,
            started_at=f"2026-07-01T10:0{number}:00Z",
            scores=scores if number == 0 else (),
        )
        for number, (asked, answer) in enumerate((ASKED, *turns))
    )
    ws.live.curate()
    return ws.live.explain("t0")[0]


@each_row(
    ("message", "reply"),
    [
        ("That's wrong, there is no train on platform 3", "I apologize for the mistake. It leaves from platform 6."),
        ("I waited at platform 6, not at 3", "Sorry about that, I got it wrong."),
        ("the board shows platform 6", "You are right, it is platform 6 today."),
        ("eso es incorrecto, no sale del 3", "Perdón, sale del andén 6."),
    ],
)
def test_a_fault_that_the_next_answer_owns_up_to_makes_a_failure(ws: Workspace, message: str, reply: str) -> None:
    shown = curated(ws, (message, reply))
    assert (shown.tier, shown.evidence) == ("failure", "user")
    assert "the next answer" in shown.remarks[0].evidence[-1]


@each_row(
    ("message", "reply"),
    [
        WEAK,
        ("That's wrong, there is no train on platform 3", "You are right to ask, many people do."),
        ("I need it to be platform 6", "I apologize for the confusion. Here is a train from platform 6."),
        ("That's wrong, there is no train on platform 3", "I apologize if that was not what you expected."),
    ],
)
def test_one_sign_alone_is_a_doubt_that_keeps_the_answer_out(ws: Workspace, message: str, reply: str) -> None:
    shown = curated(ws, (message, reply))
    assert shown.tier == "none" and "too weak a ground" in shown.reason
    assert shown.remarks[0].kind in ("correction", "complaint") and "too weak a ground" in shown.remarks[0].evidence[-1]
    assert ws.live.explain("t1")[0].tier == "none"
    (kept,) = (reason for reason in ws.live.kept_out("").reasons if reason.code == "objected")
    assert (kept.traces, kept.scores) == (1, {"user_correction": 1})
    pairs = ws.cases.iterate(CaseFilter(entry_type=EntryType.CORRECTION, trace_id="t0"))
    assert all(pair.reference() is None for pair in pairs)


def test_a_weak_remark_stays_against_an_answer_that_an_outcome_or_a_later_message_praises(ws: Workspace) -> None:
    good = Score(name="reward", value=1.0, source=ScoreSource.SYSTEM)
    thanked = ("perfect, that worked, I am on the train now", "Have a good trip!")
    assert curated(ws, WEAK, thanked, scores=(good,)).tier == "none"


def test_a_person_outranks_a_weak_remark(ws: Workspace) -> None:
    curated(ws, WEAK)
    ws.intake.accept([Correction(trace_id="t0", text="It leaves from platform 6.")])
    ws.live.curate()
    assert ws.live.explain("t0")[0].tier == "failure"
    ws.intake.accept([ScoreLine(trace_id="t0", name="opinion", value=1.0, source=ScoreSource.USER)])
    ws.live.curate()
    assert "person corrected" in ws.live.explain("t0")[0].reason


@each_row(
    ("message", "confirmed"),
    [("It works now, thanks", True), ("Center it", False), ("was the sync completed", False)],
)
def test_praise_is_in_the_words_of_the_message(ws: Workspace, message: str, confirmed: bool) -> None:
    question = "How do I show this picture smaller on the page of my project?"
    answer = 'Yes, you can control its size by the attribute `width` of the `<img>` tag. For a medium size use `width="600"`.'
    turns = ((question, answer), (message, "To center it and keep its size, wrap the tag in a paragraph."))
    ws.intake.accept(
        a_trace(
            f"{message}:{number}",
            session_id=message,
            input=asked,
            output=replied,
            started_at=f"2026-07-01T10:0{number}:00Z",
        )
        for number, (asked, replied) in enumerate(turns)
    )
    ws.live.curate()
    assert (ws.live.explain(f"{message}:0")[0].tier == "confirmed") == confirmed
