"""Lines looked at many at a time: what was compiled and what is written in Python say the same, whatever they are given."""

import json
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.build import lines, lines_reference
from tests.build.json_lines import INNER, OUTER, difference

IMPLEMENTATIONS = (lines, lines_reference)
seeds = st.integers(0, 1 << 40)


@given(seeds)
def test_valid_lines_are_taken_alike(seed: int) -> None:
    assert difference(seed, 0.0) is None


@given(seeds, st.sampled_from([0.02, 0.1, 0.3]))
def test_odd_and_broken_lines_are_taken_alike(seed: int, oddity: float) -> None:
    assert difference(seed, oddity) is None


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=4), st.booleans())
def test_texts_of_any_kind_are_numbered_alike(texts: list[str], ascii_only: bool) -> None:
    block = json.dumps({"list": texts}, ensure_ascii=ascii_only).encode()
    makes = [implementation.survey(block, OUTER, INNER)[1] for implementation in IMPLEMENTATIONS]
    assert makes[0] == makes[1]


def survey(implementation: ModuleType, line: bytes) -> tuple[Any, bytes | None]:
    table, makes = implementation.survey(line, OUTER, INNER)
    assert len(makes) == 1
    return table, makes[0]


def kinds(implementation: ModuleType, line: bytes) -> bytes | None:
    make = survey(implementation, line)[1]
    return make if make is None else make[::2].replace(b"\0", b"-")


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"id":"a","text":" ","list":null,"rag":{"text":{},"list":[],"x":-1.5e+7}}\n', b"tbn-ooe-v"),
        (b'\t{ "list" : [ "a" , "b" ] , "rag" : null } \r\n', b"--B-n----"),
        (b'{"list":["[1] a","[7] b"],"text":"\\"q\\""}', b"-tN------"),
        (b'{"list":["[1] a","b"],"text":"\\n"}', b"-bT------"),
        (b'{"list":["a "],"text":"\\/"}', b"-tB------"),
        (b'{"list":["\\n a\\r\\t"],"text":""}', b"-bB------"),
        (b'{"list":["[1] a "],"text":""}', b"-bT------"),
        (b'{"list":["a"," "],"text":""}', b"-bT------"),
        (b'{"list":["a\\\\n"],"text":true}', b"-vB------"),
        (b'{"list":["a\\u0020"],"rag":{"objects":[{},{"a":[1]}]}}', b"--T-o--O-"),
        (b'{"list":["a",null],"rag":{"objects":[{},1]}}', b"--M-o--M-"),
        ('{"list":["\u3000a"],"text":"é"}'.encode(), b"-tT------"),
    ],
)
def test_a_make_tells_what_is_at_each_place(implementation: ModuleType, line: bytes, expected: bytes) -> None:
    assert kinds(implementation, line) == expected


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b'{"id":1,"id":1}\n',
        b'{"rag":{},"rag":{}}\n',
        b'{"rag":{"x":1,"x":1}}\n',
        b'{"unknown":1}\n',
        b'{"rag":{"unknown":1}}\n',
        b'{"rag":[]}\n',
        b'{"id":01}\n',
        b'{"id":NaN}\n',
        b'{"id":"\\ud800"}\n',
        b'{"id":"\x1f"}\n',
        b'{"id":"\xed\xa0\x80"}\n',
        b'{"id":"\xc0\x80"}\n',
        b'{"id":1,}\n',
        b'{"id":1}}\n',
        b'{"id":\r1}\n',
        b'\xef\xbb\xbf{"id":1}\n',
        b'{"id":"a\0"}\n',
        b'{"id":"',
        b'{"list":[' + b"1," * 255 + b"1]}\n",
    ],
)
def test_what_is_no_such_line_is_left_to_the_careful_way(implementation: ModuleType, line: bytes) -> None:
    assert survey(implementation, line)[1] is None


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
def test_lines_are_woven_from_what_was_given_and_what_was_read(implementation: ModuleType) -> None:
    block = b'{"id": "a", "list": [ " x\\n" ,"y" ]}\nbroken\n{"id": 1.50}\n'
    table, makes = implementation.survey(block, OUTER, INNER)
    assert implementation.pick(table, 0) == [b'"a"', None, b"1.50"]
    assert makes[1] is None
    woven = implementation.weave(table, ((0, b" ", ~2, b" ", 2, b"\n"), b"careful\n", None))
    assert woven == b'"a" ["[1] x","[2] y"] [ " x\\n" ,"y" ]\ncareful\n'


@pytest.mark.parametrize("implementation", IMPLEMENTATIONS)
@pytest.mark.parametrize("recipe", [(1,), (~0,), (~2,), (~1,)])
def test_what_is_not_there_cannot_be_woven(implementation: ModuleType, recipe: tuple[int, ...]) -> None:
    table, _ = implementation.survey(b'{"id": "a", "list": ["[1] numbered"]}\n', OUTER, INNER)
    with pytest.raises(ValueError, match="nothing to be written at place"):
        implementation.weave(table, (recipe,))
