"""Situations in which a message is no alarm, what admits a mistake, and which turn an undo takes back."""

from evergold.curate.detectors import PatternDetector
from evergold.curate.remark_encoder import ALARMS, classify
from evergold.model.check import EarlierTurn, UserMessage, admits, asks_back
from scripts.remark_data import LISTS, Labelled, remarks
from tests.rows import each_row

SITUATIONS = list(remarks(LISTS / "situations.txt"))


@each_row("each", SITUATIONS, ids=lambda each: each.message[:40])
def test_a_situation_is_an_alarm_only_where_the_message_speaks_of_the_answer(each: Labelled) -> None:
    kind = classify(each.message, each.answer, each.question, each.reply).kind
    assert (kind in ALARMS) == (each.kind in ALARMS)


@each_row(
    "reply",
    [
        "Sorry for the delay, your table is booked.",
        "I apologize, I cannot book that far ahead.",
        "Perdona, no tengo esa información.",
        "Apologies for the wait. Two seats are free.",
    ],
)
def test_an_apology_for_something_else_admits_no_mistake(reply: str) -> None:
    assert not admits(reply)


@each_row(
    ("reply", "back"),
    [
        ("I apologize. Could you tell me which file you mean?", True),
        ("Sorry about that. What is the name on the booking?", True),
        ("You're right, it is Oslo. Is there anything else I can help you with?", False),
        ("My mistake, the train leaves at 7:40.", False),
    ],
)
def test_a_reply_that_asks_back_is_no_corrected_answer(reply: str, back: bool) -> None:
    assert asks_back(reply) is back


def test_an_undo_is_a_complaint_about_the_turn_it_takes_back() -> None:
    said = [("/undo", "Removed."), ("/diff", ""), ("add tests", "Added tests."), ("add a page", "Added a page.")]
    earlier = tuple(EarlierTurn(f"t{at}", message, reply) for at, (message, reply) in enumerate(said))
    remarks = [
        PatternDetector().remark(UserMessage("m", "/undo", turns)) for turns in (earlier, earlier[1:], earlier[:2])
    ]
    assert [remark and (remark.kind.value, remark.trace_id) for remark in remarks] == [
        ("complaint", "t3"),
        ("complaint", "t2"),
        None,
    ]
