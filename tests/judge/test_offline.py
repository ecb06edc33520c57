"""The offline judge: all five metrics of the seed give a labelled answer with no key and no network."""

import asyncio
import socket
from dataclasses import replace
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.errors import BadInput
from evergold.judge import offline
from evergold.judge.offline import OfflineJudge, is_outside, make_offline, refuses, shipped_calibration
from evergold.model.case import Case, Context
from evergold.model.judge import Question
from evergold.model.report import Mean
from evergold.model.run import Measurement, MeasurementState
from evergold.model.tool_calls import ExpectedTool, ToolCall
from evergold.settings import Settings
from evergold.store.run.attempts import Value
from evergold.text.words import Text, sentences
from tests.builders import a_case, an_attempt
from tests.rows import each_row

PASSAGE = (
    "The Eiffel Tower was completed in March 1889 and stands 330 metres tall. It was designed by engineers of the "
    "company of Gustave Eiffel. About seven million people visit it every year."
)
BREAD = "Bread is made of flour, water and yeast. The dough rises for two hours."
JUDGES = [OfflineJudge(), OfflineJudge(lexical=True)]


def a_tower(**more: Any) -> Case:
    expected = "The Eiffel Tower was completed in 1889."
    contexts = (Context(text=PASSAGE), Context(text=BREAD))
    return a_case(input="When was the Eiffel Tower completed?", expected=expected, contexts=contexts, **more)


def measured(metric: str, output: str, judge: OfflineJudge = JUDGES[0], case: Case | None = None) -> Measurement:
    return asyncio.run(measure(make_metric(metric), case or a_tower(), an_attempt(output), judge))


def value(metric: str, output: str, judge: OfflineJudge) -> float:
    made = measured(metric, output, judge)
    assert made.value is not None and 0 <= made.value <= 1
    return made.value


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the offline judge opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize("judge", JUDGES, ids=["model", "lexical"])
def test_what_the_contexts_say_is_more_faithful_than_what_they_do_not(judge: OfflineJudge) -> None:
    good = value("faithfulness", "The Eiffel Tower was completed in March 1889.", judge)
    number = value("faithfulness", "The Eiffel Tower was opened to visitors in May 1921.", judge)
    nonsense = value("faithfulness", "Quantum computers factor large integers with ease.", judge)
    assert good > 0.5 > number >= nonsense


@pytest.mark.parametrize("judge", JUDGES, ids=["model", "lexical"])
def test_the_right_answer_is_more_correct_than_a_wrong_one(judge: OfflineJudge) -> None:
    right = value("correctness", "It was completed in 1889.", judge)
    assert value("correctness", "The Eiffel Tower was completed in 1889.", judge) >= 0.99
    assert right > value("correctness", "It was completed in 1950.", judge)
    assert right > value("correctness", "Bread is made of flour.", judge)


@pytest.mark.parametrize("judge", JUDGES, ids=["model", "lexical"])
def test_an_answer_about_the_question_is_more_relevant_than_one_beside_it(judge: OfflineJudge) -> None:
    about = value("answer_relevancy", "The Eiffel Tower was completed in 1889.", judge)
    beside = value("answer_relevancy", "My favourite soup has onions in it.", judge)
    assert about == 1.0 and beside == 0.0


@pytest.mark.parametrize("judge", JUDGES, ids=["model", "lexical"])
def test_a_useful_context_in_front_is_better_than_behind(judge: OfflineJudge) -> None:
    case = a_tower()
    turned = case.model_copy(update={"contexts": case.contexts[::-1]})
    assert measured("contextual_precision", "x", judge, case).value == 1.0
    assert measured("contextual_precision", "x", judge, turned).value == 0.5


def test_tool_arguments_can_be_judged_too() -> None:
    case = a_case(expected_tools=(ExpectedTool(name="book", args={"city": "New York", "day": 3}),))
    attempt = an_attempt(tool_calls=(ToolCall(name="book", args={"city": "new york", "day": 3}),))
    other = an_attempt(tool_calls=(ToolCall(name="book", args={"city": "new york", "day": 4}),))
    metric = make_metric("tool_correctness:semantic=true")
    assert asyncio.run(measure(metric, case, attempt, JUDGES[0])).value == 1.0
    assert asyncio.run(measure(metric, case, other, JUDGES[0])).value == pytest.approx(0.0)


def test_what_it_says_is_labelled() -> None:
    made = measured("correctness", "It was completed in 1889.")
    assert made.details["scoring"] == "offline" and (made.reason or "").startswith("offline: ")
    assert JUDGES[0].identity.startswith("offline/14 (encoder ")
    assert JUDGES[1].identity.startswith("offline/14 (lexical, weights ")
    assert make_offline("lexical", Settings()).identity == JUDGES[1].identity
    with pytest.raises(BadInput, match="write offline"):
        make_offline("gpt", Settings())


def test_another_language_is_marked_in_the_measurement_and_beside_the_mean() -> None:
    case = a_tower().model_copy(
        update={
            "contexts": (Context(text="Das Museum ist von Dienstag bis Sonntag geöffnet, und der Eintritt ist frei."),)
        }
    )
    made = measured("faithfulness", "Das Museum ist am Montag nicht geöffnet, und der Eintritt ist teuer.", case=case)
    assert made.details["outside"] is True
    assert all(verdict["verdict"] != "contradicted" for verdict in made.details["verdicts"])
    assert Value.of("c", 0, "faithfulness", made).outside
    assert "2 outside the judge's languages" in str(Mean(metric="m", value=1, low=1, high=1, n=2, of=2, outside=2))
    assert "outside" not in measured("faithfulness", "It was completed in 1889.").details


def test_each_claim_is_shown_with_its_probability_and_evidence() -> None:
    (shown,) = measured("faithfulness", "The tower was completed in 1889.").details["verdicts"]
    assert shown["evidence"].startswith("The Eiffel Tower was completed") and 0 <= shown["p"] <= 1
    assert shown["uncertain"] in (True, False)


def test_the_strict_judge_gives_no_score_where_it_is_uncertain(monkeypatch: pytest.MonkeyPatch) -> None:
    everywhere = dict.fromkeys(shipped_calibration().uncertain, 1.0)
    monkeypatch.setattr(offline, "shipped_calibration", lambda: replace(shipped_calibration(), uncertain=everywhere))
    for metric in ("correctness", "faithfulness", "answer_relevancy"):
        strict = measured(metric, "The tower was finished in 1889.", make_offline("strict", Settings()))
        assert strict.state is MeasurementState.UNSCORED and "uncertain" in (strict.reason or "")
        assert measured(metric, "The tower was finished in 1889.").value is not None


def test_a_refusal_is_reported() -> None:
    assert measured("answer_relevancy", "I'm sorry, but the passages do not mention that.").details["refusal"] is True
    assert not refuses("It was completed in 1889.")


def test_an_answer_of_questions_makes_no_claims_and_markers_are_not_words() -> None:
    assert measured("faithfulness", "Which tower do you mean?").reason == "the answer makes no claims"
    plain, marked = (measured("faithfulness", f"It was completed in March 1889{m}.") for m in ("", " [1][2]"))
    assert plain.value == marked.value


@pytest.mark.parametrize("output", ["…", "🙂🙂", "— —", "東京は日本の首都です。", "a" * 10_000])
def test_odd_text_gives_a_measurement_and_never_an_error(output: str) -> None:
    for metric in ("correctness", "faithfulness", "answer_relevancy", "contextual_precision"):
        for judge in JUDGES:
            assert measured(metric, output, judge).state is not MeasurementState.ERROR


@pytest.mark.parametrize("judge", JUDGES, ids=["model", "lexical"])
def test_a_context_of_function_words_alone_supports_nothing(judge: OfflineJudge) -> None:
    case = a_tower().model_copy(update={"contexts": (Context(text="It was so, and they are as we were."),)})
    claim = "The Eiffel Tower was completed in March 1889."
    faithful = measured("faithfulness", claim, judge, case)
    assert faithful.value is not None and faithful.value < 0.5
    assert measured("contextual_precision", claim, judge, case).value == 0.0


def test_a_task_it_does_not_know_is_no_answer() -> None:
    question = Question(task="poetry", inputs={}, prompt="", answer_schema={"properties": {}})
    answer = asyncio.run(JUDGES[0].ask(question))
    assert answer.data is None and "poetry" in (answer.reason or "")


def test_sentences_keep_abbreviations_and_numbers_whole() -> None:
    text = "Dr. Smith paid $1.5 million on Jan. 3. He left.\n- first item\n2. second item\n\nWhy?"
    assert sentences(text) == (
        "Dr. Smith paid $1.5 million on Jan. 3.",
        "He left.",
        "first item",
        "second item",
        "Why?",
    )
    assert sentences("  \n ") == ()


def test_numbers_and_names_are_matched_by_what_they_mean() -> None:
    assert Text("1,200 or seven, the 3rd").numbers == {1200.0, 7.0, 3.0}
    assert Text("Then Anna met Bob there.").names == {"anna", "bob"}


@each_row(
    ("claim", "context"),
    [
        ("It is -5 °C outside.", "It is 5 °C outside."),
        ("It costs $5.", "It costs €5."),
        ("The employer pays the fee.", "The employed pays the fee."),
    ],
)
def test_only_the_same_sentence_is_the_same_sentence(claim: str, context: str) -> None:
    judge = OfflineJudge()
    (same,) = judge.supports([context], judge.evidence([context]))
    (other,) = judge.supports([claim], judge.evidence([context]))
    assert same.identical and not other.identical


def test_short_texts_of_other_languages_are_outside_and_names_are_not() -> None:
    for text in ("Fenster bleiben nachts offen.", "Vergunning verloopt volgende maand.", "Mağaza erken kapanır."):
        assert is_outside(text), text
    for text in ("Kazuo Ishiguro", "Windows stay open.", "El incendio empezó tarde.", "42", "Reset router settings"):
        assert not is_outside(text), text
