"""Situations in which a message is no alarm, with examples other than those that shaped the rules, and what counts as a hint."""

from evergold.curate.remark_model import ALARMS, classify
from evergold.model.checking import RemarkKind, admits, asks_back
from scripts.remark_data import LISTS, Labelled, remarks
from tests.rows import each_row

SITUATIONS = list(remarks(LISTS / "situations.txt"))


@each_row("each", SITUATIONS, ids=lambda each: each.message[:40])
def test_a_situation_is_an_alarm_only_where_the_message_speaks_of_the_answer(each: Labelled) -> None:
    kind = classify(each.message, each.answer, each.question, each.reply).kind
    assert (kind in ALARMS) == (each.kind in ALARMS)


def test_another_value_alone_is_a_hint_and_no_alarm() -> None:
    guess = classify("half past nine", "The bakery opens at 8.", "When does the bakery open?")
    assert guess.kind not in ALARMS
    hint = classify("17", "The heating is set to 27 degrees.", "Set the heating to 17 degrees")
    assert hint.kind is RemarkKind.DOUBT and "no words speak of the answer" in hint.evidence


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
