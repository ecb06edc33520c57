"""Every format gives back the case it was given, whatever the case says."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evergold import plugins
from evergold.model.case import (
    Case,
    CaseKind,
    Context,
    Difficulty,
    EntryType,
    LineRange,
    Provenance,
    RankedPath,
    ReviewState,
    ToolCall,
)
from evergold.model.rejected import Rejected

LOSSLESS = sorted({*plugins.names("formats")} - {"dataset-a", "dataset-b", "shout"})
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["", "2026-01-02", "1e5", "null", "a\nb", "[1] x", "\x85 \u2028", "---", "{}", "  x "]
)
WORD = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORD, inner, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(WORD | st.just("evergold"), JSON, max_size=3)
CALL = st.builds(ToolCall, name=WORD, args=OBJECT)
CASES = st.builds(
    Case,
    id=WORD,
    dataset=WORD,
    kind=st.sampled_from(CaseKind),
    entry_type=st.sampled_from(EntryType),
    name=st.none() | TEXT,
    input=TEXT,
    output=st.none() | TEXT,
    expected=st.none() | TEXT,
    prompt=st.none() | TEXT,
    difficulty=st.none() | st.sampled_from(Difficulty),
    contexts=st.lists(
        st.builds(Context, text=st.none() | TEXT, source=st.none() | TEXT, retrieved=st.none() | OBJECT), max_size=3
    ).map(tuple),
    messages=st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": TEXT}), max_size=2).map(tuple),
    tools=st.lists(OBJECT, max_size=2).map(tuple),
    tool_calls=st.lists(CALL, max_size=2).map(tuple),
    expected_tools=st.lists(CALL, max_size=2).map(tuple),
    paths=st.lists(st.builds(RankedPath, path=WORD, sources=st.just(("manual",))), max_size=2).map(tuple),
    ranges=st.lists(st.builds(LineRange, path=WORD, start=st.just(3), end=st.integers(3, 9)), max_size=2).map(tuple),
    base_commit=st.none() | WORD,
    citations=st.lists(OBJECT, max_size=2).map(tuple),
    answer_citations=st.none() | st.lists(OBJECT, max_size=1).map(tuple),
    tags=st.lists(WORD, max_size=3, unique=True).map(sorted).map(tuple),
    metadata=OBJECT,
    extra=OBJECT,
    provenance=st.builds(Provenance, source=WORD, trace_id=st.none() | WORD, document=st.none() | TEXT),
    review=st.sampled_from(ReviewState),
)


@pytest.mark.parametrize("name", LOSSLESS)
@settings(max_examples=40, phases=(Phase.explicit, Phase.generate))
@given(cases=st.lists(CASES, min_size=1, max_size=4, unique_by=lambda case: case.id))
def test_a_file_read_back_gives_the_same_cases(name: str, cases: list[Case]) -> None:
    chosen = plugins.load("formats", name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"cases{chosen.suffix}"
        unfit: list[Rejected] = []
        written = chosen.write(iter(cases), path, rejected=unfit)
        back = list(chosen.read(path)) if written else []
    assert written + len(unfit) == len(cases)
    left_out = {item.where for item in unfit}
    expected = [case for case in cases if f"{case.dataset}/{case.id}" not in left_out]
    assert _contents(back) == _contents(expected)


def _contents(cases: list[Any]) -> list[dict[str, Any]]:
    assert [str(case) for case in cases if isinstance(case, Rejected)] == []
    return sorted(
        ({**case.content(), "review": case.review} for case in cases),
        key=lambda content: (content["id"], content["dataset"]),
    )


@pytest.mark.parametrize("name", LOSSLESS)
def test_a_format_knows_its_own_files_and_only_those(name: str, tmp_path: Path) -> None:
    case = Case(
        id="c1",
        dataset="d",
        input="Where is Lima?",
        output="In Chile.",
        expected="In Peru.",
        entry_type=EntryType.CORRECTION,
        contexts=(Context(text="Lima is in Peru."),),
    )
    chosen = plugins.load("formats", name)
    path = tmp_path / f"x{chosen.suffix or '-folder'}"
    assert chosen.write([case], path) == 1
    head = (path / "README.md" if path.is_dir() else path).read_bytes()
    knowing = [other for other in LOSSLESS if plugins.load("formats", other).accepts(head)]
    assert knowing == [name]


FOREIGN = {
    "inspect": b'{"input": [{"role": "user", "content": "Q"}], "target": ["A", "B"]}\n',
    "ragas": b'{"user_input": "Q", "reference": "A", "retrieved_contexts": ["c"]}\n',
    "deepeval": b'[{"input": "Q", "expectedOutput": "A", "retrievalContext": ["c"]}]',
    "mlflow": b'{"inputs": {"question": "Q"}, "expectations": {"expected_response": "A"}}\n',
    "openai-ft": b'{"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}]}\n',
    "openai-evals": b'{"input": [{"role": "user", "content": "Q"}], "ideal": "A"}\n',
    "dpo": b'{"input": {"messages": [{"role": "user", "content": "Q"}]}, "preferred_output": [{"role": "assistant", '
    b'"content": "A"}], "non_preferred_output": [{"role": "assistant", "content": "B"}]}\n',
    "promptfoo": b"tests:\n- vars: {input: Q}\n  assert: [{type: equals, value: A}]\n",
    "pydantic-evals": b"cases:\n- name: n\n  inputs: Q\n  expected_output: A\n",
    "qa": b'{"task_id": "1", "task_type": "qa", "question": "Q", "reference_answer": "A", "contexts": ["[1] c"]}\n',
    "summaries": b'{"task_id": "1", "task_type": "summaries", "instruction": "Q", "reference_summary": "A"}\n',
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_tools_are_read(name: str, tmp_path: Path) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(FOREIGN[name])
    (case,) = plugins.load("formats", name).read(path)
    assert (case.input, case.expected) == ("Q", "A")
    assert case.id


def test_goldens_are_read_in_either_spelling(tmp_path: Path) -> None:
    path = tmp_path / "goldens.json"
    for golden in (
        b'[{"input": "Q", "expected_output": "A", "expected_tools": [{"name": "t", "input_parameters": {"x": 1}}]}]',
        b'[{"input": "Q", "expectedOutput": "A", "expectedTools": [{"name": "t", "inputParameters": {"x": 1}}]}]',
    ):
        path.write_bytes(golden)
        (case,) = plugins.load("formats", "deepeval").read(path)
        assert (case.expected, case.expected_tools) == ("A", (ToolCall(name="t", args={"x": 1}),))


@pytest.mark.parametrize("name", ["inspect", "ragas", "mlflow", "openai-ft", "qa", "case-jsonl"])
def test_a_bad_line_is_named_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    good = FOREIGN.get(name, b'{"id": "1", "dataset": "d", "kind": "chat", "input": "Q"}\n')
    path = tmp_path / "f.jsonl"
    path.write_bytes(good + b"{nonsense\n[1]\n{}\n" + good)
    items = list(plugins.load("formats", name).read(path))
    assert [type(item).__name__ for item in items] == ["Case", "Rejected", "Rejected", "Rejected", "Case"]
    assert [str(item).split(":")[1] for item in items if isinstance(item, Rejected)] == ["2", "3", "4"]
