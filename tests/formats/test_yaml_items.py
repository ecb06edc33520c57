from io import BytesIO
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evergold import plugins
from evergold.errors import BadInput
from evergold.formats.yaml_documents import MAX_BYTES, Unreadable, items, read
from tests.rows import each_row

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


def of(text: str, key: str = "cases") -> list[object]:
    return list(items(BytesIO(text.encode()), key))


@given(st.lists(VALUES), st.booleans())
def test_items_are_the_values_of_the_list(values: list[object], flow: bool) -> None:
    text = yaml.safe_dump({"name": "x", "cases": values, "zz": [1]}, default_flow_style=flow, allow_unicode=True)
    assert of(text) == yaml.safe_load(text)["cases"]


def test_an_item_comes_before_the_rest_is_read() -> None:
    found = items(BytesIO(b"cases:\n" + b"- {n: 1}\n" * 20_000 + b"- {n: [}\n"), "cases")
    assert [next(found) for _ in range(3)] == [{"n": 1}] * 3
    with pytest.raises(Unreadable, match="not valid YAML") as problem:
        list(found)
    assert problem.value.problem.line == 20_002


def test_anchors_reach_into_later_items() -> None:
    text = "base: &base {kind: chat, day: 2026-01-02}\ncases:\n- &one {<<: *base, n: 1}\n- [*one, *one]\n"
    first = {"kind": "chat", "day": "2026-01-02", "n": 1}
    assert of(text) == [first, [first, first]]


def test_an_anchor_may_be_given_again() -> None:
    assert read("a: &x 1\nb: [*x, &x 2, *x]\n").value == {"a": 1, "b": [1, 2, 2]}


@each_row(
    ("text", "said"),
    [
        ("cases: {a: 1}", "expected a list under 'cases'"),
        ("other: [1]", "expected a list under 'cases'"),
        ("- 1", "expected a list under 'cases'"),
        ("", "expected a list under 'cases'"),
        ("cases: [1]\ncases: [2]", "is there twice"),
        ("cases: [1]\n---\ncases: [2]", "more than one document"),
        ("cases: [*gone]", "names nothing"),
        ("cases: [&a [*a]]", "points back into the value that contains it"),
        ("cases: [!!python/name:os.system x]", "has no JSON value"),
        ("cases: [.nan]", "is not a number JSON can hold"),
        ("cases: [{a: 1, a: 2}]", "already set"),
        ("cases: [" + "[" * 100 + "]" * 100 + "]", "60 levels"),
        (
            "cases: [" + "".join(f"&a{n} [{', '.join([f'*a{n - 1}'] * 9 if n else ['x'])}], " for n in range(9)) + "]",
            "aliases expand",
        ),
    ],
)
def test_what_cannot_be_read_is_named(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        of(text)


def test_a_problem_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    path.write_text("tests:\n- vars: {input: a}\n- vars: {input: a, input: b}\n")
    with pytest.raises(BadInput, match=r"t\.yaml:3: the key 'input' is already set on line 3"):
        list(plugins.load("formats", "promptfoo").read(path))


def test_a_task_file_that_is_too_large_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "t.yaml"
    with path.open("wb") as file:
        file.write(b"tasks:\n")
        file.truncate(300_000_000)
    with pytest.raises(BadInput, match=f"the file has 300,000,000 bytes; at most {MAX_BYTES:,} are read: split it"):
        list(plugins.load("formats", "yaml").read(path))
