"""Tools that were offered and passages that were retrieved, in every provider's spelling."""

from typing import Any

from evergold.conversation.assembly import contexts_of, documents_in
from evergold.conversation.tools import tools_in
from evergold.model.trace import Span
from tests.rows import each_row

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
F = {"type": "function", "function": {"name": "f", "description": "d", "parameters": SCHEMA}}


@each_row(
    "value",
    [
        [F],
        {"tools": [F], "messages": []},
        {"kwargs": {"tools": [F]}},
        {"functions": [{"name": "f", "description": "d", "parameters": SCHEMA}]},
        [{"name": "f", "description": "d", "input_schema": SCHEMA}],
        {"tools": {"f": {"description": "d", "inputSchema": SCHEMA}}},
        {"toolConfig": {"tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": SCHEMA}}}]}},
        [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": {**SCHEMA, "type": "OBJECT"}}]}],
        [
            {
                "tool": {
                    "json_schema": '{"name": "f", "description": "d", "parameters": {"type": "object", "properties": '
                    '{"a": {"type": "string"}}}}'
                }
            }
        ],
        '{"tools": [{"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": '
        '{"type": "string"}}}}]}',
    ],
)
def test_one_tool_in_every_spelling_is_the_same_tool(value: Any) -> None:
    assert tools_in(value) == [F]


def test_parameters_of_coheres_first_api_become_a_schema() -> None:
    (tool,) = tools_in(
        [{"name": "f", "parameter_definitions": {"a": {"type": "str", "required": True}, "b": {"type": "int"}}}]
    )
    assert tool["function"]["parameters"] == {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
        "required": ["a"],
    }


@each_row("tool", [{"type": "web_search"}, {"type": "computer_use", "display": 1}, {"odd": True}])
def test_a_tool_of_another_kind_stays_as_it_came(tool: dict[str, Any]) -> None:
    assert tools_in([tool]) == [tool]


@each_row("value", [None, "", "text", 5, [], {}, {"tools": []}, [5], {"tools": "x"}])
def test_what_offers_no_tools_gives_none(value: Any) -> None:
    assert tools_in(value) == []


def test_requests_inside_requests_end() -> None:
    value: dict[str, Any] = {"tools": [F]}
    for _ in range(20):
        value = {"config": value}
    assert tools_in(value) == []


@each_row(
    ("value", "texts"),
    [
        (["a", "b"], ["a", "b"]),
        ([{"page_content": "a", "metadata": {"source": "x.md"}}], ["a"]),
        ({"documents": [{"content": "a"}]}, ["a"]),
        ({"results": {"matches": [{"text": "a"}]}}, ["a"]),
        ([[{"text": "a"}]], ["a"]),
        ({"matches": [{"metadata": {"text": "a", "page": 3}, "score": 0.8}]}, ["a"]),
        ([[{"entity": {"text": "a"}, "distance": 0.1}]], ["a"]),
        ([{"payload": {"text": "a"}, "score": 0.8}], ["a"]),
        ('[{"text": "a"}]', ["a"]),
        ({"text": "a"}, ["a"]),
        ([5, None], []),
        ("plain", []),
        ({"a": 1}, []),
    ],
)
def test_documents_are_found_in_what_a_retriever_wraps_them_in(value: Any, texts: list[str]) -> None:
    spans = [Span(id="r", kind="retriever", metadata={"attributes": {"output.value": value}})]
    assert [context.text for context in contexts_of(spans, {})] == texts
    assert len(documents_in(value)) == len(texts)


def retrieved(*documents: Any, kind: str = "retriever", id: str = "r") -> Span:
    return Span(id=id, kind=kind, metadata={"documents": list(documents)})


def test_a_passage_keeps_its_source_score_and_metadata() -> None:
    document = {"id": "d1", "score": 0.5, "document": {"content": "a", "metadata": {"url": "https://x", "page": 3}}}
    (context,) = contexts_of([retrieved(document)], {})
    assert (context.text, context.source) == ("a", "https://x")
    assert context.retrieved == {"id": "d1", "score": 0.5, "metadata": {"url": "https://x", "page": 3}}


def test_a_passage_without_a_source_is_named_by_its_id() -> None:
    assert contexts_of([retrieved({"text": "a", "id": 7})], {})[0].source == "7"


def test_passages_are_given_once_and_those_of_the_trace_first() -> None:
    spans = [retrieved({"text": "a"}), retrieved({"text": "a"}, {"text": "b"}, id="r2")]
    assert [context.text for context in contexts_of(spans, {})] == ["a", "b"]
    assert [context.text for context in contexts_of(spans, {"contexts": ["own"]})] == ["own"]


def test_the_choice_of_a_reranker_stands_for_what_it_chose_from() -> None:
    spans = [retrieved({"text": "a"}, {"text": "b"}), retrieved({"text": "b"}, kind="reranker", id="rr")]
    assert [context.text for context in contexts_of(spans, {})] == ["b"]


def test_metadata_that_is_too_deep_is_left_out() -> None:
    deep: Any = 1
    for _ in range(150):
        deep = [deep]
    span = Span.model_construct(
        id="r",
        kind="retriever",
        output=None,
        metadata={"documents": [{"text": "a", "id": "x", "metadata": {"d": deep}}]},
    )
    (context,) = contexts_of([span], {})
    assert context.retrieved == {"id": "x"}


def test_the_text_of_a_retriever_is_a_passage_where_it_is_all_there_is() -> None:
    assert [one.text for one in contexts_of([Span(id="r", kind="retriever", output="found text")], {})] == [
        "found text"
    ]
    assert contexts_of([Span(id="c", kind="chain", output="found text")], {}) == []


def test_a_step_that_lists_texts_as_documents_gives_passages_and_the_chunks_of_an_answer_are_none() -> None:
    spans = [Span(id="c", kind="chain", output='{"documents": [["found text"]], "ids": [["a"]]}')]
    assert [one.text for one in contexts_of(spans, {})] == ["found text"]
    assert contexts_of([Span(id="c", kind="chain", output='{"chunks": ["It opens", " at nine."]}')], {}) == []
