from typing import Any

from evergold.sources.conventions.scores import scores_in
from evergold.sources.spans import WireEvent, WireSpan
from tests.rows import each_row


def span(attributes: dict[str, Any] | None = None, *events: dict[str, Any]) -> WireSpan:
    listed = [WireEvent("gen_ai.evaluation.result", 5, event) for event in events]
    return WireSpan("t", "s", None, "call", 0, 9, attributes=attributes or {}, events=listed)


def result(**fields: Any) -> dict[str, Any]:
    names = {"name": "name", "value": "score.value", "label": "score.label", "explanation": "explanation"}
    return {f"gen_ai.evaluation.{names[key]}": value for key, value in fields.items()}


def test_an_evaluation_event_is_a_score_of_the_system() -> None:
    refused: list[str] = []
    (score,) = scores_in(span(None, result(name="relevance", value=0.75, explanation="on topic")), refused)
    assert (score.trace_id, score.span_id, score.name, score.value) == ("t", "s", "relevance", 0.75)
    assert (score.source, score.comment, score.time_ns, refused) == ("system", "on topic", 5, [])


def test_a_sender_may_say_whose_score_it_is() -> None:
    event = result(name="stars", value=1) | {"evergold.score.source": "user"}
    (score,) = scores_in(span(None, event), [])
    assert score.source == "user"


def test_a_verdict_without_a_number() -> None:
    (score,) = scores_in(span(None, result(name="guard", label="Fail")), [])
    assert (score.value, score.comment) == (0.0, "Fail")


@each_row(
    ("event", "message"),
    [
        (result(name="a", value=1.5), "score 'a' on trace t is 1.5; a score is a number from 0 to 1"),
        (result(name="a", value=float("nan")), "is nan"),
        (result(name="a", value="high"), "is 'high'"),
        (result(name="a", value=True), "is True"),
        (result(value=1), "has no name"),
        (result(name="a", label="good"), "a score is a number"),
        (result(name="a", value=1) | {"evergold.score.source": "aunt"}, "source 'aunt'; use one of human"),
    ],
)
def test_what_is_no_score_is_refused_by_name(event: dict[str, Any], message: str) -> None:
    refused: list[str] = []
    assert list(scores_in(span(None, event), refused)) == []
    assert len(refused) == 1 and message in refused[0]


def test_openinference_annotations() -> None:
    attributes = {
        "annotations.0.annotation.name": "helpful",
        "annotations.0.annotation.score": 1.0,
        "annotations.0.annotation.annotator_kind": "HUMAN",
        "annotations.1.annotation.name": "faithful",
        "annotations.1.annotation.score": 0.2,
        "annotations.1.annotation.explanation": "made up",
        "annotations.1.annotation.annotator_kind": "LLM",
        "trace.annotations.0.annotation.name": "valid",
        "trace.annotations.0.annotation.score": 1,
        "trace.annotations.0.annotation.annotator_kind": "CODE",
    }
    scores = list(scores_in(span(attributes), []))
    assert [(s.name, s.value, s.source, s.span_id) for s in scores] == [
        ("helpful", 1.0, "human", "s"),
        ("faithful", 0.2, "llm_judge", "s"),
        ("valid", 1.0, "system", None),
    ]
    assert scores == list(scores_in(span(attributes), [])), "the same delivery gives the same ids"
    assert len({score.id for score in scores}) == 3
