"""Every format gives back the case it was given, whatever the case says."""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from evergold import plugins
from evergold.build.snapshot import SnapshotSpec
from evergold.errors import BadInput
from evergold.model.case import (
    Answer,
    Case,
    CaseKind,
    CaseStatus,
    Context,
    Difficulty,
    EntryType,
    LineRange,
    Provenance,
    RankedPath,
    ReviewState,
)
from evergold.model.faults import Rejected
from evergold.model.tool_calls import ExpectedTool, ToolCall
from evergold.storage import open_read
from tests.build.rag_builders import freeze
from tests.formats.openai_rules import problems_of

LOSSLESS = sorted({*plugins.names("formats")} - {"dataset-a", "dataset-b", "harbor", "swe-bench", "shout"})
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    [
        *(
            "",
            "2026-01-02",
            "1e5",
            "null",
            "a\nb",
            "a\r\nb\r",
            "[1] x",
            "\x85 \u2028 \u2029",
            "---",
            "{}",
            "  x ",
            "\x00\x1b\x7f",
        ),
        *(
            "=1+1",
            'a,b;"c"',
            "{{ x }}",
            "file://x",
            "yes",
            "0x1F",
            "1_000",
            "!!str x",
            "- a: b # c",
            "\ufeffx",
            "\U0001f9ff",
        ),
    ]
)
WORD = st.text(st.characters(min_codepoint=33, max_codepoint=0x24F), min_size=1, max_size=12)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([-0.0, 1.0, 5e-324, 1e308, 2**63, -(2**63)])
    | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORD, inner, max_size=2),
    max_leaves=4,
)
OBJECT = st.dictionaries(WORD | TEXT | st.sampled_from(["evergold", "split", "document", "tags"]), JSON, max_size=3)
CALL = st.builds(ToolCall, name=WORD, args=OBJECT, id=st.none() | WORD, result=JSON, failed=st.booleans())
EXPECTED = st.builds(ExpectedTool, name=WORD, args=OBJECT)
ANSWER = st.builds(Answer, text=st.none() | TEXT, tool_calls=st.none() | st.lists(CALL, max_size=1).map(tuple))
CASES = st.builds(
    Case,
    id=WORD | st.sampled_from(["a b", "a,b", "2026-01-02", "1", "null", "ñ/…\u2028"]),
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
    expected_tools=st.none() | st.lists(EXPECTED, max_size=2).map(tuple),
    ordered=st.booleans(),
    turn=st.lists(st.fixed_dictionaries({"role": st.just("assistant"), "content": TEXT}), max_size=2).map(tuple),
    approved=st.none() | ANSWER,
    revised=st.none() | ANSWER,
    paths=st.lists(st.builds(RankedPath, path=WORD, sources=st.just(("manual",))), max_size=2).map(tuple),
    ranges=st.lists(st.builds(LineRange, path=WORD, start=st.just(3), end=st.integers(3, 9)), max_size=2).map(tuple),
    base_commit=st.none() | WORD,
    citations=st.lists(OBJECT, max_size=2).map(tuple),
    answer_citations=st.none() | st.lists(OBJECT, max_size=1).map(tuple),
    tags=st.lists(WORD | st.sampled_from(["a, b", "c:d", " e "]), max_size=3, unique=True).map(sorted).map(tuple),
    metadata=OBJECT,
    extra=OBJECT,
    provenance=st.builds(
        Provenance,
        source=WORD,
        trace_id=st.none() | WORD,
        session_id=st.none() | TEXT,
        user_id=st.none() | TEXT,
        policy=st.none() | WORD,
        policy_rev=st.none() | WORD,
        inclusion_probability=st.none() | st.floats(0, 1),
        document=st.none() | TEXT,
        repository=st.none() | TEXT,
        flow_id=st.none() | WORD,
        case_index=st.none() | st.integers(0, 9),
    ),
    review=st.sampled_from(ReviewState),
    status=st.sampled_from(CaseStatus),
    created_at=st.none() | st.datetimes(timezones=st.just(UTC)),
)


@pytest.mark.parametrize("name", LOSSLESS)
@settings(max_examples=12, phases=(Phase.explicit, Phase.generate))
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


KEPT = ("review", "status", "created_at")


def _contents(cases: list[Any]) -> list[dict[str, Any]]:
    assert [str(case) for case in cases if isinstance(case, Rejected)] == []
    return sorted(
        ({**case.content(), **{name: getattr(case, name) for name in KEPT}} for case in cases),
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
        revised=Answer(text="In Peru."),
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
        assert (case.expected, case.expected_tools) == ("A", (ExpectedTool(name="t", args={"x": 1}),))


def knowing(path: Path) -> list[str]:
    """The formats that take a file for theirs."""
    return [name for name in LOSSLESS if plugins.load("formats", name).accepts(path.read_bytes())]


def test_goldens_saved_as_lines_by_deepeval_itself_are_read(tmp_path: Path) -> None:
    golden = {"input": "Q", "actual_output": "O", "expected_output": "A", "retrieval_context": "r1|r2", "context": "c"}
    path = tmp_path / "goldens.jsonl"
    path.write_text(json.dumps(golden) + "\n" + json.dumps(dict.fromkeys(golden) | {"input": "Q2"}) + "\n")
    assert knowing(path) == ["deepeval"]
    first, second = plugins.load("formats", "deepeval").read(path)
    assert (first.input, first.expected, first.output) == ("Q", "A", "O")
    assert [context.text for context in first.contexts] == ["r1", "r2"]
    assert (second.input, second.expected, second.contexts) == ("Q2", None, ())


def test_cases_saved_as_json_by_pydantic_evals_itself_are_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    cases = [{"name": "c1", "inputs": "Q", "metadata": {"k": 1}, "expected_output": "A", "evaluators": []}]
    path.write_text(json.dumps({"$schema": "x.json", "name": "d", "cases": cases}, indent=2))
    assert knowing(path) == ["pydantic-evals"]
    (case,) = plugins.load("formats", "pydantic-evals").read(path)
    assert (case.id, case.input, case.expected, case.metadata) == ("c1", "Q", "A", {"k": 1})


@pytest.mark.parametrize("expected", ["{{ x }}", "{% raw %}{{ y }}{% endraw %}", '{{ "z" }}', "file://a.txt", "{# c"])
def test_an_answer_that_looks_like_a_template_is_asserted_to_the_letter(expected: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.yaml"
    promptfoo = plugins.load("formats", "promptfoo")
    promptfoo.write([Case(id="a", dataset="d", input="Q", expected=expected)], path)
    value = yaml.safe_load(path.read_text())["tests"][0]["assert"][0]["value"]
    assert value in (f"{{% raw %}}{expected}{{% endraw %}}", f"{{{{ {json.dumps(expected)} }}}}")
    assert [case.expected for case in promptfoo.read(path)] == [expected]


def test_a_picture_adds_nothing_to_the_text_of_a_message(tmp_path: Path) -> None:
    parts = [{"type": "text", "text": "Q"}, {"type": "image", "image": "data:image/png;base64,AA=="}]
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps({"input": [{"role": "user", "content": parts}], "target": "A"}))
    (case,) = plugins.load("formats", "inspect").read(path)
    assert case.input == "Q"


@pytest.mark.parametrize("name", ["inspect", "ragas", "mlflow", "openai-ft", "qa", "case-jsonl"])
def test_a_bad_line_is_named_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    good = FOREIGN.get(name, b'{"id": "1", "dataset": "d", "kind": "chat", "input": "Q"}\n')
    path = tmp_path / "f.jsonl"
    path.write_bytes(good + b"{nonsense\n[1]\n{}\n" + good)
    items = list(plugins.load("formats", name).read(path))
    assert [type(item).__name__ for item in items] == ["Case", "Rejected", "Rejected", "Rejected", "Case"]
    assert [str(item).split(":")[1] for item in items if isinstance(item, Rejected)] == ["2", "3", "4"]


UNREAD: dict[str, tuple[bytes, dict[str, Any]]] = {
    "live-jsonl": (
        b'{"id": 1, "entry_type": "golden", "input": "Q", "expected_output": "A", "team": "north"}',
        {"team": "north"},
    ),
    "inspect": (b'{"input": "Q", "target": "A", "choices": ["A", "B"]}', {"choices": ["A", "B"]}),
    "ragas": (
        b'{"user_input": "Q", "reference": "A", "retrieved_contexts": ["c"], "reference_contexts": ["d"]}',
        {"reference_contexts": ["d"]},
    ),
    "deepeval": (b'[{"input": "Q", "expectedOutput": "A", "sourceFile": "a.txt"}]', {"sourceFile": "a.txt"}),
    "mlflow": (
        b'{"inputs": {"question": "Q", "k": 3}, "expectations": {"expected_response": "A", "expected_facts": ["f"]}}',
        {"inputs": {"k": 3}, "expectations": {"expected_facts": ["f"]}},
    ),
    "openai-ft": (
        b'{"messages": [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "A", "weight": 0}], "functions": [1]}',
        {"functions": [1], "answer": {"weight": 0}},
    ),
    "openai-evals": (b'{"input": [{"role": "user", "content": "Q"}], "ideal": "A", "more": 1}', {"more": 1}),
    "promptfoo": (
        b"tests:\n- vars: {input: Q, name: Ada}\n  threshold: 0.5\n"
        b"  assert: [{type: llm-rubric, value: polite}, {type: equals, value: A}]",
        {"vars": {"name": "Ada"}, "threshold": 0.5, "assert": [{"type": "llm-rubric", "value": "polite"}]},
    ),
    "pydantic-evals": (
        b"cases:\n- {name: n, inputs: Q, expected_output: A, evaluators: [IsInstance: str]}",
        {"evaluators": [{"IsInstance": "str"}]},
    ),
    "qa": (
        b'{"task_id": "1", "question": "Q", "reference_answer": "A", "scores": [0.5], "extra": {"run": 7}}',
        {"scores": [0.5], "run": 7},
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_what_a_format_does_not_read_is_kept(name: str, tmp_path: Path) -> None:
    """A file of another tool comes in, goes out and comes in again: still with all it said."""
    content, unread = UNREAD[name]
    chosen = plugins.load("formats", name)
    path, again = tmp_path / "foreign", tmp_path / "again"
    path.write_bytes(content)
    (case,) = chosen.read(path)
    assert (case.input, case.expected, case.extra) == ("Q", "A", unread)
    chosen.write([case], again)
    assert _contents(list(chosen.read(again))) == _contents([case])


@pytest.mark.parametrize("name", [*FOREIGN, "case-jsonl", "live-jsonl"])
def test_a_byte_order_mark_is_no_obstacle(name: str, tmp_path: Path) -> None:
    right = Answer(text="A")
    case = Case(id="c1", dataset="d", input="Q", output="B", revised=right, entry_type=EntryType.CORRECTION)
    chosen = plugins.load("formats", name)
    path = tmp_path / "file"
    chosen.write([case], path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with open_read(path) as handle:
        assert chosen.accepts(handle.read())
    assert _contents(list(chosen.read(path))) == _contents([case])


def test_records_that_differ_in_anything_are_different_cases(tmp_path: Path) -> None:
    path = tmp_path / "tune.jsonl"
    talks = [["Shall I book it?", "yes"], ["Shall I cancel it?", "yes"]]
    lines = [
        {
            "messages": [
                {"role": "assistant", "content": a},
                {"role": "user", "content": b},
                {"role": "assistant", "content": "Done."},
            ]
        }
        for a, b in talks
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, second = plugins.load("formats", "openai-ft").read(path)
    assert (first.input, first.expected) == (second.input, second.expected) == ("yes", "Done.")
    assert first.id != second.id


def test_an_answer_in_tool_calls_is_an_expected_call(tmp_path: Path) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "route", "arguments": '{"to": "Cusco"}'}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    path = tmp_path / "tune.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "To Cusco"}, answer]}))
    (case,) = plugins.load("formats", "openai-ft").read(path)
    assert (case.expected, case.expected_tools) == (None, (ExpectedTool(name="route", args={"to": "Cusco"}),))


TRAINED = [
    Case(
        id=f"c{n}",
        dataset="d",
        entry_type=EntryType.FAILURE,
        input="Same?" if n > 2 else f"Q{n}",
        output="No.",
        expected="Yes.",
        tags=(f"t{n}",),
    )
    for n in range(5)
]


@pytest.mark.parametrize("name", ["openai-ft", "dpo"])
def test_lines_of_a_training_file_may_be_added_moved_and_taken_out(name: str, tmp_path: Path) -> None:
    chosen = plugins.load("formats", name)
    path = tmp_path / "tune.jsonl"
    chosen.write(TRAINED, path)
    lines = path.read_bytes().splitlines()
    added = lines[0].replace(b"Q0", b"New?")
    path.write_bytes(b"\r\n".join([lines[4], lines[2], lines[3], added, lines[1]]) + b"\r\n")
    cases = list(chosen.read(path))
    assert [(case.id, case.tags) for case in cases if case.input != "New?"] == [
        (one, (f"t{one[1]}",)) for one in ("c3", "c2", "c4", "c1")
    ]
    assert (cases[3].input, cases[3].expected) == ("New?", "Yes.")
    path.with_name("tune.evergold.jsonl").write_bytes(b'{"line": 5}\n[1]\nnonsense\n')
    assert [case.input for case in chosen.read(path)] == ["Same?", "Q2", "Same?", "New?", "Q1"]


SHOWN = Case(
    id="c1",
    dataset="d",
    kind=CaseKind.QA,
    name="Capital",
    input="Where is Lima?",
    expected="In Peru.",
    contexts=(Context(text="Lima is in Peru.", source="a.txt"), Context(text="Cusco too.", source="b.txt")),
)
EDITS = {
    "inspect": (("Where is Lima?", "Where is Cusco?"), {"input": "Where is Cusco?"}),
    "ragas": (("Cusco too.", "Not Cusco."), {}),
    "deepeval": (("Cusco too.", "Not Cusco."), {}),
    "qa": (("Cusco too.", "Not Cusco."), {}),
    "yaml": (("name: Capital", "name: City"), {"name": "City"}),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_was_edited_in_a_file_of_ours_counts(name: str, tmp_path: Path) -> None:
    chosen = plugins.load("formats", name)
    path = tmp_path / f"x{chosen.suffix}"
    talk = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": SHOWN.input})
    case = SHOWN.model_copy(update={"messages": talk}) if name == "inspect" else SHOWN
    chosen.write([case], path)
    (old, new), changed = EDITS[name]
    assert path.read_text().count(old) >= 1
    path.write_text(path.read_text().replace(old, new, 1))
    (back,) = chosen.read(path)
    if not changed:
        assert back.contexts[0] == SHOWN.contexts[0]
        assert back.contexts[1].text == "Not Cusco."
    assert {name: getattr(back, name) for name in changed} == changed
    if name == "inspect":
        assert back.messages[1]["content"] == "Where is Cusco?"


def a_folder(tmp_path: Path, rows: list[dict[str, Any]], card: str) -> Path:
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "README.md").write_text(card)
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


CARD = (
    "---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: train.jsonl\n---\n"
)


def test_a_folder_of_anybody_is_read_by_its_card(tmp_path: Path) -> None:
    rows = [{"id": n, "question": f"Q{n}", "answer": f"A{n}", "level": n} for n in range(3)]
    folder = a_folder(tmp_path, [*rows, {"x": 1}], CARD)
    *cases, rejected = plugins.load("formats", "hf").read(folder)
    assert [(case.id, case.input, case.expected, case.extra, case.metadata) for case in cases] == [
        (str(n), f"Q{n}", f"A{n}", {"level": n}, {"split": "train"}) for n in range(3)
    ]
    assert "no column holds the question" in rejected.reason
    assert "there are: x" in rejected.reason


def test_files_that_the_card_does_not_name_are_not_read(tmp_path: Path) -> None:
    chosen = plugins.load("formats", "hf")
    old = SHOWN.model_copy(update={"metadata": {"split": "train"}})
    chosen.write([old], tmp_path / "set")
    chosen.write([SHOWN], tmp_path / "set")
    assert (tmp_path / "set" / "data" / "train-00000-of-00001.parquet").exists()
    assert _contents(list(chosen.read(tmp_path / "set"))) == _contents([SHOWN])


def test_a_card_cannot_name_files_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"question": "Q"}\n')
    for number, path in enumerate(("../../secret.jsonl", str(tmp_path / "secret.jsonl"))):
        home = tmp_path / str(number)
        home.mkdir()
        with pytest.raises(BadInput, match="nothing to read"):
            list(plugins.load("formats", "hf").read(a_folder(home, [], CARD.replace("train.jsonl", path))))


def test_a_table_with_dates_and_bytes_is_kept_as_text(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    path = tmp_path / "t.parquet"
    row = {"question": "Q", "when": datetime(2026, 1, 2, tzinfo=UTC), "raw": b"x", "n": 3}
    parquet.write_table(Table.from_pylist([row]), path)
    (case,) = plugins.load("formats", "parquet").read(path)
    assert case.extra == {"when": "2026-01-02T00:00:00+00:00", "raw": "x", "n": 3}
    assert case.rev()


@pytest.mark.parametrize("content", [b"", b"garbage", b"PAR1 garbage PAR1"])
def test_a_broken_table_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(BadInput, match="no Parquet file"):
        list(plugins.load("formats", "parquet").read(path))


@pytest.mark.parametrize("content", [b"", b"[", b"[" * 10_000, b'[{"input": "Q"}] x'])
def test_a_broken_array_of_goldens_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"g\.json"):
        list(plugins.load("formats", "deepeval").read(path))


def test_an_object_that_is_no_golden_is_named(tmp_path: Path) -> None:
    (tmp_path / "g.json").write_bytes(b"{}")
    (refused,) = plugins.load("formats", "deepeval").read(tmp_path / "g.json")
    assert str(refused) == "g.json[1]: field 'input' is missing"


def test_the_split_of_a_frozen_dataset_is_read_as_cases(tmp_path: Path) -> None:
    spec = SnapshotSpec("d", "v1", tmp_path / "build", canary=True)
    freeze(spec, [SHOWN, SHOWN.model_copy(update={"id": "c2"})])
    path = spec.out / "all.jsonl"
    chosen = plugins.load("formats", "case-jsonl")
    assert chosen.accepts(path.read_bytes())
    assert [case.rev() for case in chosen.read(path)] == [SHOWN.rev(), SHOWN.model_copy(update={"id": "c2"}).rev()]
    path.write_bytes(path.read_bytes().replace(b"In Peru.", b"In Chile.", 1))
    first, second = chosen.read(path)
    assert "changed after it was frozen" in first.reason
    assert second.id == "c2"


@settings(max_examples=20, phases=(Phase.explicit, Phase.generate))
@given(cases=st.lists(CASES, min_size=1, max_size=4, unique_by=lambda case: case.id))
def test_every_line_for_fine_tuning_follows_the_published_rules(cases: list[Case]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.jsonl"
        plugins.load("formats", "openai-ft").write(iter(cases), path, rejected=[])
        lines = path.read_bytes().decode().split("\n")[:-1]
    assert [problem for line in lines for problem in problems_of(line)] == []


def test_numbers_of_yaml_1_2_stay_texts(tmp_path: Path) -> None:
    case = Case(id="1e5", input="0o7", expected="1E5", metadata={"day": "+.5e3"})
    path = tmp_path / "x.yaml"
    plugins.load("formats", "promptfoo").write([case], path)
    text = path.read_text()
    assert all(quoted in text for quoted in ("'1e5'", "'0o7'", "'1E5'", "'+.5e3'"))
