"""Remarks in what users write: measured on lists that shaped nothing, English and Spanish apart."""

import pytest

from evergold.curate import remark_encoder
from evergold.curate.detectors import HIGH, LOW, PatternDetector
from evergold.curate.remark_encoder import ALARMS, classify, read_together
from evergold.judge.encoder import shipped_encoder
from evergold.model.check import EarlierTurn, Remark, RemarkKind, UserMessage
from scripts.remark_data import LISTS, Labelled, remarks
from tests.rows import each_row

DAY = 24 * 3600.0


def alarms(labelled: list[Labelled]) -> tuple[int, int, int]:
    """Count the alarms that are right, all alarms, and the real corrections and complaints."""
    judged = [(each.kind, classify(each.message, each.answer, each.question).kind) for each in labelled]
    found = [real for real, kind in judged if kind in ALARMS]
    return sum(real in ALARMS for real in found), len(found), sum(real in ALARMS for real, _ in judged)


def remark(text: str, *turns: EarlierTurn, reply: str | None = None) -> Remark | None:
    return PatternDetector().remark(UserMessage("m", text, turns, reply))


@pytest.mark.parametrize("language", ["en", "es"])
def test_precision_and_recall_on_remarks_that_shaped_nothing(language: str) -> None:
    labelled = list(remarks(LISTS / f"measured_{language}.txt"))
    right, found, there = alarms(labelled)
    assert len(labelled) >= 200
    assert right / found >= 0.8 and right / there >= 0.5


def test_no_list_that_measures_shares_a_chat_with_the_one_that_shapes() -> None:
    shaping = {each.question.casefold() for each in remarks(LISTS / "shaping.txt")}
    for language in ("en", "es"):
        assert not shaping & {each.question.casefold() for each in remarks(LISTS / f"measured_{language}.txt")}


@each_row("message", ["no está mal, gracias", "NO ESTÁ MAL, GRACIAS", "That should be all I need. Thank you"])
def test_courtesies_are_no_remarks(message: str) -> None:
    assert PatternDetector().detect(message, "It costs 12 euros.") is None


def test_no_is_an_answer_when_the_reply_asked() -> None:
    assert PatternDetector().detect("No, it's for my sister", "Is the ticket for you?") is None


def test_a_remark_has_kind_target_probability_and_evidence() -> None:
    found = remark(
        "no, it is on Friday, not on Monday", EarlierTurn("t1", "When is the exam?", "It is on Monday.", 60.0)
    )
    assert found is not None
    assert (found.kind, found.trace_id) == (RemarkKind.CORRECTION, "t1")
    assert 0.5 <= found.probability <= 1 and "says what is right instead" in found.evidence[0]


def test_the_turn_is_the_one_whose_content_the_message_touches() -> None:
    earlier = EarlierTurn("t1", "how much is the ferry to Skye", "The ferry to Skye costs 20 pounds.", 180.0)
    between = EarlierTurn("t2", "is there a café on board?", "Yes, on the upper deck.", 60.0)
    found = remark("the ferry to Skye costs 25, not 20", between, earlier)
    assert found is not None and found.trace_id == "t1"


def test_a_short_message_is_in_the_language_of_its_conversation() -> None:
    turn = EarlierTurn("t1", "Wie weit ist der Flughafen?", "Der Flughafen ist zwanzig Kilometer entfernt.", 60.0)
    assert remark("danke, das hat geklappt", turn, reply="Gern geschehen!") is None


def test_after_a_day_a_message_is_on_no_turn() -> None:
    assert remark("that's wrong", EarlierTurn("t1", "when?", "On Monday.", DAY - 1)) is not None
    assert remark("that's wrong", EarlierTurn("t1", "when?", "On Monday.", DAY + 1)) is None


def test_the_admission_of_the_next_answer_is_evidence() -> None:
    turn = EarlierTurn("t1", "which platform?", "Platform 3.", 60.0)
    unsure, admitted = remark("six today", turn), remark("six today", turn, reply="You are right, it is platform 6.")
    assert unsure is None and admitted is not None
    assert "the next answer admits it" in admitted.evidence


def test_an_undone_answer_is_a_complaint_and_words_against_an_answer_are_a_doubt_at_least() -> None:
    undone = remark("/undo", EarlierTurn("t1", "rename the function", "Done: I renamed it.", 60.0))
    assert undone is not None and undone.kind is RemarkKind.COMPLAINT
    for question, answer, message in (
        ("quién es el presidente de Chile", "El presidente de Chile es Piñera.", "ya no we, es Boric"),
        ("who wrote Rayuela", "Rayuela was written by Borges.", "Cortázar, come on"),
        ("is there parking at the museum?", "There is no parking there.", "there is, I parked there last week"),
        ("how do I fix the import error?", "Run pip install foo.", "didn't work"),
    ):
        found = remark(message, EarlierTurn("t1", question, answer, 60.0))
        assert found is not None and found.kind in (*ALARMS, RemarkKind.DOUBT), message


def test_values_are_as_the_contract_says() -> None:
    detector = PatternDetector()
    assert detector.detect("No, it's 42, not 40", "The result is 40.") == HIGH
    complaint = detector.detect("that's wrong", "The result is 40.")
    assert complaint is not None and HIGH < complaint < LOW
    assert detector.detect("are you sure?", "The result is 40.") == LOW


def test_a_pasted_document_is_no_remark() -> None:
    huge = "no, that's wrong, not Sydney " * 40_000
    assert remark(huge, EarlierTurn("t1", huge, huge, 1.0)) is None


@each_row(
    ("question", "answer", "message"),
    [
        ("When do you open?", "At nine.", "My discount code does not work"),
        ("¿A qué hora abren?", "A las nueve.", "¿Qué hago si se rompe la impresora?"),
    ],
)
def test_a_problem_with_something_else_is_a_new_matter(question: str, answer: str, message: str) -> None:
    assert classify(message, answer, question).kind not in ALARMS


@each_row("message", ["It does not work", "That link does not work", "The page you sent me is broken"])
def test_a_problem_with_what_was_answered_is_an_alarm(message: str) -> None:
    guess = classify(message, "Use the link on the login page.", "How do I reset my password?")
    assert guess.kind in ALARMS


@each_row(
    ("question", "answer", "message"),
    [
        ("I lost my card", "Please describe what happened in a short report.", "Money is missing, about 300"),
        ("I need a cab to the fair", "I need to know the pick-up address.", "Harbour Street 12 is the address"),
        ("When was the bridge built?", "It was opened in 1932.", "My sister turned 40, we all went dancing"),
        (
            "Tell me a joke",
            "Two hats meet. One says: you stay, I go on ahead.",
            "now a joke on how robots see the human race",
        ),
        ("What is an epic poem?", "A long poem about heroes.", "Why is human history told in songs"),
        ("Count to three in Rust", "```\nfor i in 1..=3 {}\n```", "```\nfn main() { let wrong = false; }\n```"),
        ("Cheap trains to Vienna?", "The night train is 39 EUR.", "sorry, I meant Venice"),
    ],
)
def test_a_reply_a_next_task_and_a_slip_are_no_alarms(question: str, answer: str, message: str) -> None:
    assert classify(message, answer, question).kind not in ALARMS


@each_row(
    ("question", "answer", "message"),
    [
        ("Book for four", "For how many people should I book?", "I just said four"),
        ("Tell me a joke", "Two hats meet. One stays.", "That is not a joke, you just told me nonsense"),
        ("Mars in the 4th house", "Mars in the 7th house stands for quarrels.", "I said the 4th house, not the 7th"),
        ("When was the bridge built?", "It was opened in 1932.", "That's wrong, it was opened in 1934"),
    ],
)
def test_remarks_in_the_same_situations_are_alarms(question: str, answer: str, message: str) -> None:
    assert classify(message, answer, question).kind in ALARMS


def test_an_apology_that_leads_up_to_a_refusal_is_no_admission() -> None:
    asked = ("Could it also be read aloud, slowly and clearly", "Guten Morgen", "How do I greet people in German?")
    plain = classify(*asked)
    refused = classify(*asked, "I apologize, but as a text-based assistant I have no voice.")
    admitted = classify(*asked, "I apologize for the mistake, here it is.")
    assert refused.alarm == plain.alarm < admitted.alarm


def test_an_answer_to_a_quiz_that_is_called_correct_is_no_alarm() -> None:
    quiz = ("Snail", "A ____ takes 33 hours to crawl a mile", "Next one, please")
    assert classify(*quiz, "Correct! Would you like another question?").kind not in ALARMS


def test_a_message_is_read_once_and_with_others_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [("When does it open?", "At nine.", message) for message in ("no, at ten", "thanks", "no, at ten", " ")]
    monkeypatch.setattr(remark_encoder, "_read", {})
    together = read_together(asked)
    encoder = shipped_encoder()
    monkeypatch.setattr(encoder, "logits", lambda *_: pytest.fail("it was read before"))
    assert read_together(asked) == together and together[0] == together[2] and together[3] is None
    monkeypatch.undo()
    monkeypatch.setattr(remark_encoder, "_read", {})
    for one, shares in zip(asked[:2], together[:2], strict=True):
        assert read_together([one])[0] == pytest.approx(shares, abs=1e-4)
