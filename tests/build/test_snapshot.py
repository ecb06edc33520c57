"""Frozen datasets: the same bytes for the same cases, groups that never part, leaks that are seen."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.build.check import check
from evergold.build.compare import diff
from evergold.build.groups import Dealing, deal, group_key, near_duplicates, overlaps, parse_shares, settle_groups
from evergold.build.manifest import verify
from evergold.build.snapshot import SnapshotSpec
from evergold.errors import BadInput, Conflict, EvergoldError, Incomplete
from evergold.model.case import Case, CaseStatus, Provenance
from tests.build.rag_builders import freeze, read_jsonl
from tests.builders import a_case
from tests.rows import each_row

HALVES = {"train": 0.5, "test": 0.5}


def cases(count: int = 40, sessions: int = 10) -> list[Case]:
    return [
        a_case(f"c{n:03}", input=f"Question number {n}?", provenance=Provenance(session_id=f"s{n % sessions}"))
        for n in range(count)
    ]


def a_snapshot(folder: Path, **more: Any) -> SnapshotSpec:
    return SnapshotSpec(**{"dataset": "live", "version": "v1", "out": folder, "shares": HALVES, **more})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_cases_and_seed_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    freeze(a_snapshot(tmp_path / "a", seed=7), cases())
    freeze(a_snapshot(tmp_path / "b", seed=7), reversed(cases()))
    freeze(a_snapshot(tmp_path / "c", seed=8), cases())
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_the_manifest_tells_everything(tmp_path: Path) -> None:
    some = [
        *cases(),
        a_case("gone", status=CaseStatus.WITHDRAWN),
        a_case("half", kind="qa", expected=None),
        a_case("policy", provenance=Provenance(policy="default", policy_rev="sha256:1"), tags=("x",)),
    ]
    manifest = freeze(a_snapshot(tmp_path, filters={"review": None}, canary=True), some).manifest
    extra = manifest.model_extra or {}
    assert extra["dataset"] == "live"
    assert extra["excluded"] == {"lacks expected": 1, "withdrawn": 1}
    assert read_jsonl(tmp_path / "excluded.jsonl") == [
        {"id": "gone", "reason": "withdrawn"},
        {"id": "half", "reason": "lacks expected"},
    ]
    assert extra["policies"] == [{"policy": "default", "rev": "sha256:1", "cases": 1}]
    assert extra["tags"] == {"x": 1}
    assert extra["parent"] is None
    assert sum(entry.count for entry in manifest.splits.values()) == 41
    assert read_jsonl(tmp_path / "train.jsonl")[0] == {"canary": extra["canary"]}
    assert not verify(tmp_path).failed
    assert not check(tmp_path).failed


def test_verify_and_check_see_a_changed_case(tmp_path: Path) -> None:
    freeze(a_snapshot(tmp_path), cases())
    path = tmp_path / "train.jsonl"
    path.write_bytes(path.read_bytes().replace(b"Question", b"question", 1))
    assert {finding.check for finding in verify(tmp_path).failed} == {"sha256", "case revisions"}
    assert {finding.check for finding in check(tmp_path).failed} == {"hash"}


@given(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from(["s", "d", ""])), min_size=1, max_size=60), st.integers(0, 5)
)
def test_a_group_never_straddles_splits(shape: list[tuple[int, str]], seed: int) -> None:
    some = [
        a_case(
            f"c{place}",
            kind="qa" if kind == "d" else "chat",
            expected="x",
            provenance=Provenance(session_id=f"{n}" if kind == "s" else None, document=f"{n}" if kind == "d" else None),
        )
        for place, (n, kind) in enumerate(shape)
    ]
    split_of = deal(some, Dealing({"train": 0.7, "test": 0.3}, "auto", seed), {})
    assert split_of.keys() == {case.id for case in some}
    splits: dict[str, set[str]] = {}
    for case in some:
        splits.setdefault(group_key(case, "auto"), set()).add(split_of[case.id])
    assert all(len(where) == 1 for where in splits.values())


def test_shares_are_met_as_closely_as_groups_allow() -> None:
    split_of = deal(cases(100, sessions=50), Dealing({"train": 0.7, "test": 0.3}, "session", 7), {})
    assert Counter(split_of.values()) == {"train": 70, "test": 30}


def test_groups_stay_where_an_earlier_version_put_them() -> None:
    first = deal(cases(40), Dealing(HALVES, "session", 1), {})
    more = [
        *cases(40),
        *(a_case(f"n{n}", input=f"New {n}?", provenance=Provenance(session_id=f"new{n}")) for n in range(40)),
    ]
    second = deal(more, Dealing(HALVES, "session", 99), settle_groups(cases(40), first, "session"))
    assert {one: second[one] for one in first} == first
    assert Counter(second.values()) == {"train": 40, "test": 40}


def test_near_duplicates_across_splits_are_named_and_can_fail(tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(60))
    some = [
        a_case("a", input="How does it work?", expected=text),
        a_case("b", input="And how is it done?", expected=text),
        a_case("c", input="yes"),
        a_case("d", input="no"),
    ]
    seed = next(
        seed for seed in range(99) if len({deal(some, Dealing(HALVES, "auto", seed), {})[one] for one in "ab"}) == 2
    )
    pairs = (freeze(a_snapshot(tmp_path, seed=seed), some).manifest.model_extra or {})["near_duplicates"]
    assert (pairs["count"], {pairs["pairs"][0]["a"], pairs["pairs"][0]["b"]}) == (1, {"a", "b"})
    with pytest.raises(Conflict) as caught:
        freeze(a_snapshot(tmp_path / "new", seed=seed, on_leak="fail"), some)
    assert len(caught.value.problems) == 1
    assert not (tmp_path / "new").exists()


def test_short_cases_leak_when_they_are_quite_the_same() -> None:
    some = [
        a_case("a", input="Capital of Peru?", expected="Lima."),
        a_case("b", input="capital of Peru", expected="Lima"),
        a_case("c", input="Capital of Peru?", expected="Cusco"),
        a_case("d", input="Capital of Peru?", expected="Lima"),
    ]
    pairs = near_duplicates(some, {"a": "train", "b": "test", "c": "test", "d": "test"})
    assert [(pair["a"], pair["b"], pair["similarity"]) for pair in pairs] == [("a", "b", 1.0), ("a", "d", 1.0)]


def test_an_answer_of_a_word_is_no_overlap(tmp_path: Path) -> None:
    training = tmp_path / "tune.jsonl"
    training.write_text(
        '{"messages": [{"role": "user", "content": "Is it good?"}, {"role": "assistant", "content": "yes"}]}'
    )
    some = [
        a_case("short", input="Is it bad?", expected="Yes."),
        a_case("role", input="Who asks?", expected="user"),
        a_case("asked", input="is it GOOD", expected="no"),
    ]
    assert overlaps(some, training) == ["asked"]


def test_overlap_with_a_training_file_is_named(tmp_path: Path) -> None:
    training = tmp_path / "tune.jsonl"
    message = {"messages": [{"role": "user", "content": "question  NUMBER 3"}]}
    training.write_text(json.dumps(message) + "\nplain text\n")
    overlap = (freeze(a_snapshot(tmp_path / "b", avoid=(training,)), cases()).manifest.model_extra or {})["overlap"]
    assert overlap == {"tune.jsonl": {"count": 1, "cases": ["c003"]}}


def test_a_build_is_never_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze(a_snapshot(tmp_path), cases())
    before = contents(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    freeze(a_snapshot(tmp_path), cases())
    assert contents(tmp_path) == before
    with pytest.raises(Conflict, match="another --version"):
        freeze(a_snapshot(tmp_path), cases(41))
    with pytest.raises(Conflict, match="another --version"):
        freeze(a_snapshot(tmp_path, version="v2"), cases())
    assert contents(tmp_path) == before
    with pytest.raises(Incomplete, match="it is empty"):
        freeze(a_snapshot(tmp_path / "none"), [])


@each_row("text", ["train", "train=x", "train=0.7", "a=0.5,a=0.5", "a=0,b=1", "../a=1", "a=1.5"])
def test_shares_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--split"):
        parse_shares(text)


def test_files_that_no_manifest_knows_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("precious")
    with pytest.raises(Conflict, match=r"holds train\.jsonl already"):
        freeze(a_snapshot(tmp_path), cases())
    assert contents(tmp_path) == {"train.jsonl": b"precious"}
    freeze(a_snapshot(tmp_path, force=True), cases())
    assert not verify(tmp_path).failed


def test_two_training_files_of_one_name_are_both_looked_at(tmp_path: Path) -> None:
    for folder, text in (("a", "Question number 3?"), ("b", "Question number 4?")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tune.jsonl").write_text(json.dumps({"text": text}))
    avoid = (tmp_path / "a" / "tune.jsonl", tmp_path / "b" / "tune.jsonl")
    overlap = (freeze(a_snapshot(tmp_path / "build", avoid=avoid), cases()).manifest.model_extra or {})["overlap"]
    assert [entry["cases"] for entry in overlap.values()] == [["c003"], ["c004"]]


def truncated(folder: Path) -> None:
    path = folder / "train.jsonl"
    path.write_bytes(path.read_bytes()[:1000])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a line that is no case": (
        lambda folder: (folder / "test.jsonl").write_text('[1]\nnull\n{"id": 3}\n'),
        "case revisions",
    ),
    "a truncated file": (truncated, "case revisions"),
    "a missing file": (lambda folder: (folder / "test.jsonl").unlink(), "sha256"),
    "one more file": (lambda folder: (folder / "more.jsonl").write_text("{}\n"), "files"),
    "another schema": (lambda folder: (folder / "schema.json").write_text("{}"), "schema hash"),
    "no schema": (lambda folder: (folder / "schema.json").unlink(), "schema hash"),
    "a broken schema": (lambda folder: (folder / "schema.json").write_text("{"), "schema hash"),
    "another exclusion": (lambda folder: (folder / "excluded.jsonl").write_text("{}\n"), "sha256"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_verify_names_any_damage(tmp_path: Path, damage: str) -> None:
    freeze(a_snapshot(tmp_path), cases())
    cause, check_name = DAMAGE[damage]
    cause(tmp_path)
    assert check_name in {finding.check for finding in verify(tmp_path).failed}
    check(tmp_path)


def test_a_broken_line_is_named_by_check_and_diff(tmp_path: Path) -> None:
    freeze(a_snapshot(tmp_path / "a", canary=True), cases())
    freeze(a_snapshot(tmp_path / "b", version="v2"), cases())
    path = tmp_path / "a" / "train.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], b"[1]\n", *lines[3:]]))
    schema = next(finding for finding in check(tmp_path / "a").failed if finding.check == "schema")
    assert schema.message == "line 3: expected an object, got list"
    with pytest.raises(BadInput, match=r"train\.jsonl, line 3: no record"):
        diff(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    "more", [{"version": "2"}, {"on_leak": "maybe"}, {"group_by": "colour"}, {"shares": {"excluded": 0.5, "test": 0.5}}]
)
def test_a_spec_that_makes_no_sense_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(EvergoldError):
        freeze(a_snapshot(tmp_path / "b", **more), cases())
    assert not (tmp_path / "b").exists()


def test_diff_field_by_field(tmp_path: Path) -> None:
    before = cases(6, sessions=6)
    freeze(a_snapshot(tmp_path / "a", shares={"all": 1.0}, canary=True), before)
    changed = before[1].model_copy(update={"expected": "Lima", "metadata": {"deep": {"x": 1}}})
    after = [before[0], changed, *before[3:], a_case("new", input="Brand new?")]
    freeze(a_snapshot(tmp_path / "b", version="v2", shares={"all": 1.0}), after)
    found = diff(tmp_path / "a", tmp_path / "b" / "manifest.json")
    assert (found.added, found.removed, found.counts.unchanged) == (["new"], ["c002"], 4)
    assert [tuple(change.model_dump().values()) for change in found.changed["c001"]] == [
        ("expected", None, "Lima"),
        ("metadata.deep", "...", {"x": 1}),
    ]
    kept = before[0].model_copy(update={"metadata": {"flag": True, "n": 1}})
    for place, metadata in (("d", {"flag": True, "n": 1}), ("e", {"flag": 1, "n": 1.0})):
        freeze(a_snapshot(tmp_path / place), [kept.model_copy(update={"metadata": metadata})])
    changed_kinds = diff(tmp_path / "d", tmp_path / "e").changed["c000"]
    assert [change.field for change in changed_kinds] == ["metadata.flag", "metadata.n"]
    freeze(a_snapshot(tmp_path / "c", version="v3", shares={"other": 1.0}), after)
    assert len(diff(tmp_path / "b", tmp_path / "c").moved) == 6
