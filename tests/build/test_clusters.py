"""Repeats of one question: what is one, that they stay together, and which one stands for all."""

from pathlib import Path
from typing import Any

import pytest

from evergold.build.groups import Dealing, best_of, clusters_of, deal, question_of
from evergold.build.snapshot import SnapshotSpec
from evergold.errors import BadInput
from evergold.model.case import Answer, Case, Provenance
from tests.build.rag_builders import freeze
from tests.builders import a_case
from tests.rows import each_row

LONG = "Please tell me in detail how I can cancel the order that I placed last week in your shop"
HALVES = {"train": 0.5, "test": 0.5}


def talk(id: str, *turns: str, **more: Any) -> Case:
    messages = tuple({"role": "user", "content": turn} for turn in turns)
    return a_case(id, input=turns[-1], messages=messages, **more)


def extra_of(folder: Path, cases: list[Case], **more: Any) -> dict[str, Any]:
    spec = SnapshotSpec(**{"dataset": "live", "version": "v1", "out": folder, "shares": HALVES, **more})
    return freeze(spec, cases).manifest.model_extra or {}


def test_short_repeats_and_near_repeats_are_one_cluster() -> None:
    cases = [
        a_case("a", input="Hi!"),
        a_case("b", input="hi"),
        a_case("c", input=LONG),
        a_case("d", input=LONG + " please"),
        a_case("e", input="Something else"),
    ]
    assert clusters_of(cases).list_repeats() == {"a": ["a", "b"], "c": ["c", "d"]}


def test_the_same_words_after_another_question_are_another_question() -> None:
    cases = [
        talk("a", "Cancel it", "Yes, please"),
        talk("b", "Book it", "Yes, please"),
        talk("c", "Book it", "yes please"),
    ]
    assert clusters_of(cases).list_repeats() == {"b": ["b", "c"]}
    assert question_of(a_case("d", input="Yes, please", messages=())) == "yes please"


@pytest.mark.parametrize("next_turn", ["thanks", "and how long does the refund take after that"])
def test_the_next_turn_of_a_conversation_is_no_repeat_of_it(next_turn: str) -> None:
    before = " ".join(f"word{n}" for n in range(60))
    cases = [talk("a", before, LONG), talk("b", before, LONG, next_turn), talk("c", before, LONG + " please")]
    assert clusters_of(cases).list_repeats() == {"a": ["a", "c"]}


def test_what_is_near_to_two_joins_them() -> None:
    words = [f"word{n}" for n in range(40)]
    first, middle, last = (" ".join(part) for part in (words, [*words[3:], "x", "y"], [*words[6:], "x", "y", "z"]))
    cases = [a_case("a", input=first), a_case("b", input=last), a_case("c", input=middle)]
    assert clusters_of(cases).list_repeats() == {"a": ["a", "b", "c"]}


@each_row("seed", range(5))
def test_thirty_greetings_stay_in_one_split(seed: int) -> None:
    cases = [a_case(f"h{n}", input="Hello!") for n in range(30)] + [a_case(f"q{n}", input=f"Q {n}") for n in range(30)]
    split_of = deal(cases, Dealing(HALVES, "none", seed, clusters_of(cases).name_of), {})
    assert len({split_of[f"h{n}"] for n in range(30)}) == 1
    assert set(split_of.values()) == {"train", "test"}


def test_one_keeps_the_best_and_says_how_many_it_stands_for(tmp_path: Path) -> None:
    cases = [
        a_case("a", input="Hello!"),
        a_case("b", input="hello", approved=Answer(text="Hi.")),
        a_case("c", input="Hello", metadata={"confirmed": True}),
        a_case("d", input="Bye"),
    ]
    assert best_of(cases).id == "b"
    extra = extra_of(tmp_path, cases, repeats="one")
    assert extra["repeats"]["weights"] == {"b": 3} and extra["excluded"] == {"repeat": 2}
    assert b'"reason":"repeats b"' in (tmp_path / "excluded.jsonl").read_bytes()


def test_grouping_by_a_user_nobody_names_is_refused_and_some_are_counted(tmp_path: Path) -> None:
    cases = [a_case(f"c{n}", input=f"Q {n}") for n in range(3)]
    with pytest.raises(BadInput, match="none of the 3 cases names a user"):
        extra_of(tmp_path / "x", cases, group_by="user")
    named = a_case("u", input="Mine", provenance=Provenance(user_id="u1"))
    assert extra_of(tmp_path / "y", [*cases, named], group_by="user")["repeats"]["ungrouped"] == 3
