"""A line becomes a record: every value survives, and what cannot be used is refused with its reason."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.build.offline_records import Block, Refusal
from evergold.build.rag import Part, route_block
from evergold.build.spec import SPLITS
from evergold.build.split_records import Excluded, RecordRouter, Routed, trim_record
from tests.build.rag_builders import an_offline_record
from tests.rows import each_row

ROUTER = RecordRouter([SPLITS["qa"], SPLITS["summaries"]])


def routed(record: dict[str, Any] | bytes) -> dict[str, Any]:
    line = record if isinstance(record, bytes) else json.dumps(record).encode()
    result = ROUTER.route(line)
    assert isinstance(result, Routed)
    value: dict[str, Any] = json.loads(result.line)
    return value


def refused(record: dict[str, Any] | bytes) -> Refusal:
    with pytest.raises(Refusal) as caught:
        routed(record)
    return caught.value


def with_rag(**fields: Any) -> dict[str, Any]:
    return an_offline_record(rag=an_offline_record()["rag"] | fields)


def test_a_qa_record_has_the_specified_fields() -> None:
    assert routed(an_offline_record()) == {
        "task_id": "r1",
        "task_type": "qa",
        "question": "What is assumed?",
        "reference_answer": "That the sea is flat [1].",
        "rag_prompt": "You are an assistant.",
        "contexts": ["[1] The sea is flat.", "[2] The moon is round."],
        "sources": ["a.txt#page=1", "b.txt#page=2"],
        "retrieved": [{"score": 0.5}, {"score": 0.25}],
        "citations": [{"marker": 1}],
        "answer_citations": [{"marker": 1}],
        "metadata": {"document": "a.txt"},
    }


def test_a_summary_takes_its_fallbacks() -> None:
    record = {
        "task_id": "s",
        "task_type": " Summaries ",
        "prompt": "Sum it up",
        "response": "Short.",
        "instruction": " ",
    }
    result = routed(record)
    assert result["task_type"] == "summaries"
    assert result["instruction"] == "Sum it up"
    assert result["reference_summary"] == "Short."
    assert result["contexts"] == result["sources"] == result["retrieved"] == result["citations"] == []
    assert result["metadata"] == {}


def test_fields_of_rag_may_stand_at_top_level() -> None:
    record = an_offline_record(rag=None, contexts=["a"], sources=["s"], citations=[{"marker": 1}])
    result = routed(record)
    assert (result["contexts"], result["sources"], result["citations"]) == (["[1] a"], ["s"], [{"marker": 1}])


def test_own_answer_citations_are_kept() -> None:
    result = routed(an_offline_record(answer_citations=[{"marker": 2}]))
    assert (result["answer_citations"], result["citations"]) == ([{"marker": 2}], [{"marker": 1}])


@each_row(
    ("contexts", "expected"),
    [
        (["  a \n", "b"], ["[1] a", "[2] b"]),
        (["[1] a", "[2] b"], ["[1] a", "[2] b"]),
        (["[4] a", "[7] b"], ["[4] a", "[7] b"]),
        (["[1] a", "b"], ["[1] a", "[2] b"]),
        (["[7] a", "b"], ["[1] [7] a", "[2] b"]),
        (["a", None], ["[1] a", "[2]"]),
        (["[1] a", ""], ["[1] a", "[2]"]),
        (["\n[1] a", "[2] b"], ["[1] a", "[2] b"]),
        (["\u00a0a\u3000", "\\n"], ["[1] a", "[2] \\n"]),
        (['ends with a quote"', "tab\t"], ['[1] ends with a quote"', "[2] tab"]),
    ],
)
def test_contexts_are_trimmed_and_numbered_in_place(contexts: list[str | None], expected: list[str]) -> None:
    for ensure_ascii in (True, False):
        line = json.dumps(with_rag(contexts=contexts), ensure_ascii=ensure_ascii).encode()
        assert routed(line)["contexts"] == expected


white_texts = st.text(
    st.sampled_from(' \n\t\r\f\v\x1c\x85\xa0\u1680\u200a\u2028\u202f\u205f\u3000aé\\"u0nf/'), max_size=9
)


@given(white_texts, st.booleans())
def test_trimming_takes_white_space_of_any_kind_and_nothing_else(text: str, ascii_only: bool) -> None:
    raw = json.dumps(text, ensure_ascii=ascii_only).encode()
    result = trim_record(raw)
    assert json.loads(result) == text.strip()
    assert result[1:-1] in raw


def test_null_sources_and_retrieved_keep_their_place() -> None:
    result = routed(with_rag(sources=[None, "b"], retrieved=[{"x": 1}, None]))
    assert result["sources"] == ["", "b"]
    assert result["retrieved"] == [{"x": 1}, {}]


def test_what_no_column_takes_travels_under_extra() -> None:
    record = an_offline_record(difficulty=3, question="unused")
    record["rag"] |= {"latency": 1.50, "scores": [1, 2]}
    result = routed(record)
    assert result["extra"] == {"difficulty": 3, "question": "unused", "rag": {"latency": 1.5}}
    assert result["scores"] == [1, 2]


@each_row(
    "value",
    [
        "1.0e400",
        "1E5",
        "0.10",
        "-0",
        "-0.0",
        "1" * 5000,
        '"2025-11-04"',
        '{"a":1,"a":2}',
        '"\\u00e9\\/"',
        "[1,  2]",
        "null",
    ],
)
def test_values_keep_their_very_bytes(value: str) -> None:
    for spacing in ("", " "):
        line = (
            f'{{"task_id":{spacing}"x",{spacing}"task_type":{spacing}"qa",{spacing}"question":{spacing}"q",'
            f'{spacing}"answer":{spacing}"a",{spacing}"metadata":{spacing}{{"v":{value}}}}}'
        ).encode()
        result = ROUTER.route(line)
        assert isinstance(result, Routed)
        assert b'"metadata":{"v":%b}' % value.encode() in result.line


@each_row(
    ("change", "reason"),
    [
        ({"task_id": ""}, "missing task_id"),
        ({"task_id": 5}, "missing task_id"),
        ({"task_type": None}, "missing task_type"),
        ({"instruction": " \n"}, "missing question"),
        ({"expected_response": ""}, "missing reference_answer"),
        ({"expected_response": 5}, "wrong type"),
        ({"metadata": []}, "wrong type"),
        ({"rag": []}, "wrong type"),
        ({"rag": {"contexts": "text"}}, "wrong type"),
        ({"rag": {"contexts": [5]}}, "wrong type"),
        ({"rag": {"retrieved": [5]}}, "wrong type"),
        ({"rag": {"contexts": ["a"], "sources": ["s", "t"]}}, "misaligned"),
        ({"rag": {"contexts": ["a"], "retrieved": [{}, {}]}}, "misaligned"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(change: dict[str, Any], reason: str) -> None:
    assert refused(an_offline_record(**change)).reason == reason


@each_row(
    ("line", "reason", "detail"),
    [
        (b"{not json", "not JSON", "malformed"),
        (b'{"a": NaN}', "not JSON", "NaN"),
        (b'{"a": "\\ud800"}', "not JSON", "surrogate"),
        (b"[1]", "not an object", "array"),
        (b'{"a":' + b"[" * 100_000, "not JSON", "deep"),
        (b'{"task_id":"a","task_id":"b"}', "repeated key", "task_id"),
        (b'{"task_id": "a", "rag": {"contexts": [], "contexts": []}}', "repeated key", "contexts"),
    ],
)
def test_a_broken_line_says_why(line: bytes, reason: str, detail: str) -> None:
    refusal = refused(line)
    assert refusal.reason == reason
    assert detail in refusal.detail


def test_a_line_that_is_no_utf8_names_the_byte() -> None:
    (refused,) = route(b'{"a": "\xff"}\n').rejected
    assert (refused.reason, refused.detail) == ("not UTF-8", "byte 8 of the line is 0xff")


def test_a_type_without_a_split_is_excluded_whatever_else_it_lacks() -> None:
    assert ROUTER.route(b'{"task_type": "Citations"}') == Excluded("citations")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(texts, json_values, max_size=3)


@st.composite
def offline_records(draw: st.DrawFn) -> dict[str, Any]:
    size = draw(st.integers(0, 3))
    rag = {
        "prompt": texts,
        "contexts": st.lists(texts | st.none(), min_size=size, max_size=size),
        "sources": st.lists(texts, min_size=size, max_size=size),
        "retrieved": st.lists(objects, min_size=size, max_size=size),
        "citations": st.lists(objects, max_size=3),
        "scores": json_values,
        "unknown": json_values,
    }
    top = {
        "task_id": texts,
        "task_type": st.sampled_from(["qa", "summaries", "QA "]),
        "instruction": texts,
        "question": texts,
        "expected_response": texts,
        "answer": texts,
        "rag": st.fixed_dictionaries({}, optional=rag) | st.none(),
        "metadata": objects,
        "more": json_values,
    }
    record: dict[str, Any] = draw(st.fixed_dictionaries({}, optional=top))
    return record


@st.composite
def good_records(draw: st.DrawFn) -> dict[str, Any]:
    """Records of a split or of a type that has none."""
    size = draw(st.integers(0, 12))
    long_texts = st.builds(lambda first, middle, last: first + middle + last, texts, st.just("x" * 9), texts)
    contexts = draw(st.lists(long_texts, min_size=size, max_size=size))
    if draw(st.booleans()):
        contexts = [f"[{place}] {text}" for place, text in enumerate(contexts, draw(st.integers(1, 2)))]
    rag = {
        "prompt": draw(texts),
        "contexts": contexts,
        "sources": draw(st.lists(texts, min_size=size, max_size=size)),
        "retrieved": draw(st.lists(objects, min_size=size, max_size=size)),
        "citations": draw(st.lists(objects, max_size=3)),
        "scores": draw(json_values),
    }
    return an_offline_record(
        draw(st.sampled_from(["a", "b", "é", "c\n"])),
        task_type=draw(st.sampled_from(["qa", "summaries", "citations", "QA "])),
        rag=rag,
        instruction=draw(texts),
        metadata=draw(objects),
    )


_SPACINGS = [(",", ":"), (", ", ": "), (" , ", " :"), (", ", ":")]


@st.composite
def lines_of_a_file(draw: st.DrawFn) -> bytes:
    """Lines as one program wrote them, and among them some that were tampered with."""
    separators, ensure_ascii = draw(st.sampled_from(_SPACINGS)), draw(st.booleans())
    lines = []
    for record in draw(st.lists(good_records() | offline_records(), min_size=1, max_size=5)):
        line = json.dumps(record, ensure_ascii=ensure_ascii, separators=separators).encode()
        lines.append(draw(st.just(line) | tampered_lines(line)))
    breaks = draw(st.sampled_from([b"\n", b"\n", b"\r\n"]))
    return breaks.join([*lines, b""])


@st.composite
def tampered_lines(draw: st.DrawFn, line: bytes) -> bytes:
    """Separators that lose or gain a space, a key given again, a byte changed, a blank line before."""
    for _ in range(draw(st.integers(0, 12))):
        before, after = draw(
            st.sampled_from([(b", ", b","), (b": ", b":"), (b",", b", "), (b'":', b'" :'), (b"]", b"] ")])
        )
        line = line.replace(before, after, draw(st.integers(1, 3)))
    again = draw(
        st.sampled_from([b"", b"", b'"task_id":"t",', b'"rag": {}, ', b'"instruction": "", ', b'"metadata":{},'])
    )
    line = line.replace(b"{", b"{" + again, 1)
    if draw(st.booleans()):
        place = draw(st.integers(0, len(line)))
        line = line[:place] + draw(st.sampled_from([b"", b"\xff", b"5", b'"', b"\\", b"\t"])) + line[place + 1 :]
    return draw(st.sampled_from([b"", b"", b"\n", b" "])) + line


class Pairs(list[tuple[str, Any]]):
    """An object with all its members, also those given twice."""


def repeats_a_key(line: bytes) -> bool:
    """Whether the record or its `rag` has a key twice, as the standard library reads it."""
    pairs = json.loads(line, object_pairs_hook=Pairs)
    names = [name for name, _ in pairs]
    inside = [name for key, value in pairs if key == "rag" and isinstance(value, Pairs) for name, _ in value]
    return len(set(names)) < len(names) or len(set(inside)) < len(inside)


def route(block: bytes) -> Part:
    return route_block(Block(0, len(block), block), ROUTER, 1 << 20)


@given(lines_of_a_file())
def test_every_line_is_kept_counted_or_refused(block: bytes) -> None:
    part = route(block)
    lines = block.split(b"\n")[:-1]
    blank = sum(not line.strip() for line in lines)
    assert part.lines == len(lines) == len(part.kept) + part.excluded.total() + len(part.rejected) + blank
    assert part.records == len(part.kept) + part.excluded.total() + sum(
        "not " not in one.reason for one in part.rejected
    )
    for kept in part.kept:
        line = lines[kept.line - 1]
        assert block[kept.offset : kept.offset + kept.size] == line + b"\n"
        record, written = json.loads(line), json.loads(kept.written)
        assert written["task_id"] == record["task_id"] and written["metadata"] == (record.get("metadata") or {})
        assert not repeats_a_key(line)
    for refused in part.rejected:
        if refused.reason == "repeated key":
            assert repeats_a_key(lines[refused.line - 1])


def test_a_field_that_no_split_declares_travels_in_the_order_of_its_name() -> None:
    record = an_offline_record(zeal=[1], age=0.50)
    record["rag"] |= {"took": {"ms": 5}, "k": None}
    (kept,) = route(json.dumps(record).encode() + b"\n").kept
    assert b',"extra":{"age":0.5,"zeal":[1],"rag":{"k":null,"took":{"ms": 5}}}}\n' in kept.written


def test_a_repeated_key_cannot_hide_behind_missing_spaces() -> None:
    """The line weighs exactly what it would without the pair, each separator written with its space."""
    record = an_offline_record(rag={**an_offline_record()["rag"], "contexts": ["The sea is flat."] * 2})
    honest = json.dumps(record).encode()
    again = b'"rag":{},'
    forged = b"{" + again + honest[1:].replace(b", ", b",", len(again))
    assert len(forged) == len(honest)
    part = route(honest + b"\n" + forged + b"\n")
    assert [(one.line, one.reason) for one in part.rejected] == [(2, "repeated key")]
    assert refused(forged).reason == "repeated key"


@given(offline_records())
def test_every_value_of_a_record_survives(record: dict[str, Any]) -> None:
    record = (
        an_offline_record() | record | {"task_id": "x", "task_type": "qa", "instruction": "q", "expected_response": "a"}
    )
    result = routed(record)
    rag = record["rag"] or {}
    kept = result.get("extra", {})
    for name in ("prompt", "sources", "retrieved", "citations", "scores", "unknown"):
        if name in rag:
            column = "rag_prompt" if name == "prompt" else name
            assert rag[name] in (result.get(column), kept.get("rag", {}).get(name, ...))
    for name in ("question", "answer", "more"):
        if name in record:
            assert kept[name] == record[name]
    assert result["metadata"] == record["metadata"]
    for place, (before, after) in enumerate(zip(rag.get("contexts", []), result["contexts"], strict=True), 1):
        text = (before or "").strip()
        assert after in (text, f"[{place}] {text}", f"[{place}]")
