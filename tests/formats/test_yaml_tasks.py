"""YAML tasks: what the schema takes, and that every mistake is named with its line and what to write instead."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold import plugins
from evergold.errors import BadInput
from evergold.formats import task_files
from evergold.formats.task_files import Task, check_tasks, json_schema, parse_tasks, write_tasks
from evergold.model.case import Difficulty
from tests.builders import a_case
from tests.rows import each_row

MINIMAL = """\
name: My Custom Benchmark
description: Tests for domain-specific code generation.

tasks:
  - id: custom-001
    name: Generate API endpoint
    input: "Write a Go HTTP handler that returns JSON."
    expected_output: |
      func handler(w http.ResponseWriter, r *http.Request) {}
"""


def problems(text: str) -> list[str]:
    return [f"{problem.line}: {problem.message}" for problem in check_tasks(text).problems]


def test_the_minimal_dataset_and_its_defaults() -> None:
    file = parse_tasks(MINIMAL, "mine.yaml")
    case = file.tasks[0].case("mine")
    assert (case.id, case.difficulty, case.expected_tools, case.contexts) == ("custom-001", Difficulty.MEDIUM, None, ())
    assert case.expected == "func handler(w http.ResponseWriter, r *http.Request) {}\n"


def test_every_field() -> None:
    task = parse_tasks(
        MINIMAL
        + """\
    difficulty: hard
    expected_tool_sequence: [{name: search, args: {query: go, limit: 3, deep: {a: [1, null]}}}, {name: done}]
    context: [first passage, second passage]
    tags: [go, http]
    tools: [{type: function, function: {name: search}}]
    metadata: {anything: {goes: here}, since: 2026-01-02}
""",
        "mine.yaml",
    ).tasks[0]
    assert [call.model_dump(include={"name", "args"}) for call in task.expected_tools or ()] == [
        {"name": "search", "args": {"query": "go", "limit": 3, "deep": {"a": [1, None]}}},
        {"name": "done", "args": {}},
    ]
    assert task.context == ("first passage", "second passage")
    assert task.metadata == {"anything": {"goes": "here"}, "since": "2026-01-02"}
    json.dumps(task.model_dump(mode="json"))


@each_row(
    ("change", "expected"),
    [
        ("    dificulty: easy\n", "10: tasks[0].dificulty is unknown; did you mean difficulty?"),
        (
            "    difficulty: brutal\n",
            "10: tasks[0].difficulty is 'brutal'; allowed is 'easy', 'medium' or 'hard'",
        ),
        ("    context: just text\n", "10: tasks[0].context must be a list, not a text"),
        ("    expected_tools: [{name: a, arguments: {}}]\n", "10: tasks[0].expected_tools[0].arguments is unknown; "),
        ("    id: twice\n", "10: the key 'id' is already set on line 5"),
        (
            "  - {id: custom-001, name: b, input: c, expected_output: d}\n",
            "10: tasks[1].id 'custom-001' is already used",
        ),
        (
            "  - {id: 007, name: b, input: c, expected_output: d}\n",
            "10: tasks[1].id must be text, not 7; put it in quotes",
        ),
        ("  - {id: x, name: b, input: c}\n", "10: tasks[1].expected_output is required"),
        ("    metadata: {1: a}\n", "10: the key 1 is not text; put it in quotes"),
        ("    metadata: {a: .nan}\n", "10: .nan is not a number JSON can hold"),
        ("    metadata: {a: !!set {b}}\n", "10: the tag tag:yaml.org,2002:set has no JSON value"),
        (
            "    metadata: !!python/object:os.system {}\n",
            "10: the tag tag:yaml.org,2002:python/object:os.system has no",
        ),
        ("    metadata: [unclosed\n", "11: not valid YAML: "),
    ],
)
def test_a_mistake_is_named_with_its_line(change: str, expected: str) -> None:
    found = problems(MINIMAL + change)
    assert len(found) == 1 and found[0].startswith(expected), found


@each_row("text", ["", "- a\n- b\n", "just words"])
def test_what_is_no_mapping_is_no_dataset(text: str) -> None:
    assert problems(text) == ["1: a dataset is a mapping with name, description and tasks"]


def test_a_dataset_without_tasks_is_refused() -> None:
    assert problems("name: a\ntasks: []\n") == ["2: tasks must not be empty"]
    assert problems("name: a\n") == ["1: tasks is required"]


def test_all_problems_of_a_file_are_told_at_once() -> None:
    with pytest.raises(BadInput, match=r"^mine.yaml:1: name is required \(and 2 more\)$") as refused:
        parse_tasks("tasks:\n  - {id: a, inputs: b, expected_output: c, input: d}\n", "mine.yaml")
    assert len(refused.value.problems) == 3


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    levels = "\n".join(f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 12))
    assert "aliases expand to over" in problems(f"l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n{levels}\n")[0]
    merged = "\n".join(f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 10)}]}}" for i in range(1, 12))
    assert "aliases expand to over" in problems(f"m0: &m0 {{a: b}}\n{merged}\n")[0]


def test_loops_and_towers_are_refused() -> None:
    assert "points back into the value" in problems("name: &a [*a]\n")[0]
    assert "nested more than" in problems("name: " + "[" * 5000)[0]
    tower = "\n".join(f"t{i}: &t{i} [*t{i - 1}]" for i in range(1, 200))
    assert "levels; write them out" in problems(f"t0: &t0 [x]\n{tower}\n")[0]


def test_ordinary_anchors_work() -> None:
    shared = "metadata: {passage: &passage Paris is a city}\n" + MINIMAL + "    context: [*passage, *passage]\n"
    assert parse_tasks(shared, "mine.yaml").tasks[0].context == ("Paris is a city",) * 2


def test_the_published_schema_knows_every_field() -> None:
    schema = json_schema()
    task = schema["$defs"]["Task"]
    assert task["required"] == ["id", "name", "input", "expected_output"]
    assert task["additionalProperties"] is False
    assert set(task["properties"]) == {*Task.model_fields, "expected_tool_sequence"}


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
tasks = st.builds(
    Task,
    id=texts,
    name=texts,
    input=texts,
    expected_output=texts,
    difficulty=st.sampled_from(Difficulty),
    context=st.lists(texts, max_size=3).map(tuple),
    metadata=st.dictionaries(texts, st.none() | st.booleans() | st.integers() | texts | st.lists(texts), max_size=3),
)


@given(st.lists(tasks, min_size=1, max_size=3, unique_by=lambda task: task.id))
def test_what_is_written_is_read_back_the_same(written: list[Task]) -> None:
    assert list(parse_tasks(write_tasks("A dataset", "About it", written), "x").tasks) == written


def test_a_task_file_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_files, "MAX_BYTES", 100)
    path = tmp_path / "tasks.yaml"
    with pytest.raises(BadInput, match=r"3 cases take .* export fewer .* --format case-jsonl"):
        plugins.load("formats", "yaml").write([a_case(str(number), expected="Lima.") for number in range(3)], path)
    assert not path.exists()
