from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.ingest.prepare import SpanFacts, summarise, summarise_many, summarise_one, trace_row


def facts(number: int, parent: int | None = None, kind: str = "span", **fields: Any) -> SpanFacts:
    return SpanFacts(
        id=str(number),
        parent_id=None if parent is None else str(parent),
        name=f"step {number}",
        kind=kind,
        failed=fields.pop("failed", False),
        started=str(fields.pop("started", number)),
        ended=str(fields.pop("ended", number + 1)),
        has_input=fields.pop("has_input", True),
        has_output=fields.pop("has_output", True),
        stated=fields,
    )


def test_the_root_speaks_for_the_trace() -> None:
    told = summarise(
        [facts(1, 0, "llm"), facts(0, session_id="s", trace_name="checkout"), facts(2, 0, "llm", failed=True)]
    )
    assert (told.input_from, told.output_from) == ("0", "0")
    assert (told.name, told.session_id, told.status) == ("checkout", "s", "completed")
    assert told.metadata["failed_spans"] == ["step 2"]


def test_an_answered_trace_does_not_fail_by_the_error_of_its_tool() -> None:
    error: dict[str, Any] = {"failed": True, "error": "expired"}
    tool = facts(1, 0, "tool", has_output=False, **error)
    assert summarise([facts(0, kind="agent", **error), tool, facts(2, 0, "llm", **error)]).status == "completed"
    assert summarise([facts(0, kind="agent", has_output=False, **error), tool]).status == "failed"
    assert summarise([facts(0, kind="agent", **error), facts(1, 0, "llm", **error)]).status == "failed"


def test_the_error_of_a_failed_trace_is_no_answer() -> None:
    call = facts(1, 0, "llm", has_output=False, failed=True, error="ModelError: overloaded")
    failed = summarise([facts(0, kind="agent", failed=True, error="run status: error"), call])
    assert trace_row("t", failed, ("Hi", "overloaded"), "now").output_text is None
    assert trace_row("t", failed, ("Hi", "Sorry, we are overloaded"), "now").output_text == "Sorry, we are overloaded"
    answered = summarise([facts(0, kind="agent"), call])
    assert trace_row("t", answered, ("Hi", "overloaded"), "now").output_text == "overloaded"


def test_without_a_speaking_root_the_first_and_last_model_call_do() -> None:
    told = summarise(
        [facts(3, 0, "llm"), facts(0, has_input=False, has_output=False), facts(1, 0, "tool"), facts(2, 0, "llm")]
    )
    assert (told.input_from, told.output_from) == ("2", "3")
    rootless = summarise([facts(3, 9, "llm", failed=True), facts(2, 9, "llm")])
    assert (rootless.input_from, rootless.output_from, rootless.status) == ("2", "3", "failed")


def test_a_trace_with_neither_root_nor_model_call_has_only_begun() -> None:
    told = summarise([facts(5, 4, "tool")])
    assert (told.status, told.input_from, told.output_from) == ("started", None, None)


def test_tokens_are_counted_where_they_were_spent() -> None:
    agent = facts(0, None, "agent", input_tokens=30, model="m")
    told = summarise(
        [agent, facts(1, 0, "llm", input_tokens=10, model="m"), facts(2, 0, "llm", input_tokens=20, model="n")]
    )
    assert told.metadata["input_tokens"] == 30
    assert told.metadata["models"] == ["m", "n"]
    assert summarise([agent]).metadata["input_tokens"] == 30


def test_clock_skew_leaves_a_trace_that_ends_after_it_starts() -> None:
    told = summarise([facts(0, started=20, ended=30), facts(1, 0, started=10, ended=15)])
    assert (told.started, told.ended) == ("10", "30")


SPANS = [
    facts(0, None, "agent", session_id="s", tags=["a"]),
    facts(1, 0, "llm", input_tokens=3, tags=["b"], metadata={"k": 1}),
    facts(2, 1, "tool", tool="search", started=1),
    facts(3, 0, "llm", input_tokens=4, tags=["a"], metadata={"k": 2}),
]


@given(st.permutations(SPANS))
def test_the_order_of_arrival_does_not_matter(spans: list[SpanFacts]) -> None:
    assert summarise(spans) == summarise(SPANS)


SAID = st.fixed_dictionaries(
    {},
    optional={
        "trace_name": st.text(max_size=3),
        "trace_input": st.text(max_size=3),
        "trace_output": st.text(max_size=3),
        "session_id": st.text(max_size=3),
        "user_id": st.text(max_size=3),
        "model": st.text(max_size=3),
        "tool": st.text(max_size=3),
        "service": st.text(max_size=3),
        "input_tokens": st.integers() | st.booleans(),
        "cost": st.floats(0, 1),
        "tags": st.lists(st.text(max_size=2) | st.integers()),
        "metadata": st.dictionaries(
            st.sampled_from(["model", "models", "input_tokens", "k"]), st.lists(st.text(), min_size=1)
        ),
    },
)
ONE = st.builds(
    SpanFacts,
    st.just("a"),
    st.none() | st.just("p"),
    st.text(max_size=3),
    st.sampled_from(["span", "llm", "event", "tool", "embedding"]),
    st.booleans(),
    st.text(max_size=3),
    st.text(max_size=3),
    st.booleans(),
    st.booleans(),
    SAID,
)


@given(ONE)
def test_a_trace_of_one_span_is_told_as_one_of_many(span: SpanFacts) -> None:
    assert summarise_one(span) == summarise_many([span])


def test_the_first_trace_input_and_the_last_trace_output_win() -> None:
    spans = [facts(2, 0, trace_input="third", trace_output="last"), facts(1, 0, trace_input="second", trace_output="b")]
    summary = summarise([*spans, facts(0, trace_input="first", trace_output="a")])
    assert (summary.input, summary.output) == ("first", "last"), "whatever the order in which the spans came"
