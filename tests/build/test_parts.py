"""Small parts of a build: lines of a file, findings, profiles, samples, manifests and their rules."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.build import manifest as manifests
from evergold.build.compare import Profile, _bound, changes_between, drift, rank_of, read_record, total_variation
from evergold.build.groups import _leaves, group_key, parse_shares, require_groups, settle_groups
from evergold.build.manifest import SHOWN, BuildFinding, Report
from evergold.build.offline_records import Refusal, bare_line, members_of, read_fields, show_value
from evergold.build.rag import Rejection
from evergold.build.snapshot import SnapshotSpec, canary_of, draft
from evergold.build.spec import SPLITS, declare_splits, load_spec, project_root
from evergold.errors import BadInput, Conflict
from evergold.model.case import CaseKind, Provenance
from tests.build.rag_builders import freeze
from tests.builders import a_case
from tests.rows import each_row


@each_row(
    ("reason", "raw", "key", "value"),
    [
        ("wrong type", b'{"task_id":"a","n":1E400}', "record", b'{"task_id":"a","n":1E400}'),
        ("not JSON", b"{broken", "text", b'"{broken"'),
        ("not UTF-8", b"\xff", "text", '"�"'.encode()),
    ],
)
def test_a_rejection_holds_the_record_or_its_beginning(reason: str, raw: bytes, key: str, value: bytes) -> None:
    line = Rejection(4, 100, len(raw), reason, "detail", None, raw).to_json(10)
    assert b'"line":14' in line and b'"%b":%b' % (key.encode(), value) in line and line.endswith(b"}\n")


def test_findings_count_everything_and_show_the_first() -> None:
    finding = BuildFinding("schema", "qa")
    for number in range(SHOWN + 5):
        finding.fail(f"line {number}")
    assert (finding.count, len(finding.examples), finding.message) == (SHOWN + 5, SHOWN, "line 0")
    report = Report(
        "m", "v1", [finding, BuildFinding("hash", "qa"), BuildFinding("drift", "qa", "not measured", "no baseline")]
    )
    suite = ElementTree.fromstring(report.to_junit()).find("testsuite")
    assert suite is not None and [suite.get(key) for key in ("tests", "failures", "skipped")] == ["3", "1", "1"]
    assert suite.find("testcase/failure").get("message") == f"{SHOWN + 5} times: line 0"  # type: ignore[union-attr]
    assert report.failed == [finding] and report.to_json()["passed"] is False


def a_profile(*rows: tuple[str, list[str], str, str]) -> Profile:
    profile = Profile()
    for row in rows:
        profile.add(*row)
    return profile


def test_a_profile_counts_repeats_without_case_and_space_around() -> None:
    profile = a_profile(("qa", ["x"], "Who?", "Ada"), ("qa", [], " who? ", "ADA"), ("sum", [], "Who?", "Bob"))
    assert (profile.records, profile.repeated, profile.types["qa"]) == (3, 1, 2)
    assert profile.repeated_share == pytest.approx(1 / 3) and Profile().repeated_share == 0.0


def test_drift_is_nothing_for_equals_and_one_for_strangers() -> None:
    one = a_profile(("qa", ["x"], "a" * 10, "b"), ("qa", ["x"], "a" * 10, "c"))
    other = a_profile(("sum", ["y"], "a" * 5000, "b" * 5000))
    assert set(drift(one, one).values()) == {0.0}
    assert {name: value for name, value in drift(one, other).items() if value != 1.0} == {"repeated share": 0.0}
    assert drift(one, Profile())["type"] == 1.0


COUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), max_size=4)


@given(COUNTS, COUNTS)
def test_total_variation_is_a_distance_between_shares(one: dict[str, int], other: dict[str, int]) -> None:
    far = total_variation(one, other)
    assert 0.0 <= far <= 1.0 + 1e-12 and far == pytest.approx(total_variation(other, one))
    assert total_variation(one, {key: 3 * value for key, value in one.items()}) == pytest.approx(0.0)


@each_row(("text", "bound"), [("", 0), ("a", 1), ("ab", 2), ("abc", 4), ("a" * 1024, 1024), ("a" * 1025, 2048)])
def test_lengths_are_shown_by_their_power_of_two(text: str, bound: int) -> None:
    assert _bound(text) == bound


def test_a_rank_depends_on_seed_and_id_alone() -> None:
    assert rank_of(1, "a") == rank_of(1, "a") != rank_of(2, "a") != rank_of(2, "b")


@each_row(
    ("line", "value"),
    [
        (b'{"n": 9223372036854775807}', 9223372036854775807),
        (b'{"n": 9223372036854775808}', "9223372036854775808"),
        (b'{"n": 1E400}', "1E400"),
        (b'{"n": 1.5}', 1.5),
        (b'{"n": ' + b"9" * 5000 + b"}", "9" * 5000),
    ],
)
def test_a_number_that_no_computer_holds_stays_as_it_was_written(line: bytes, value: Any) -> None:
    assert read_record(line) == {"n": value}


def test_changes_are_listed_field_by_field_and_revisions_are_none() -> None:
    before = b'{"a": {"b": 1, "c": [1]}, "rev": "x", "gone": null, "same": 2}'
    after = b'{"a": {"b": true, "c": [1]}, "rev": "y", "came": "new", "same": 2}'
    changes = [tuple(change.model_dump().values()) for change in changes_between(before, after)]
    assert changes == [("a.b", 1, True), ("came", "...", "new"), ("gone", None, "...")]
    assert changes_between(before, before) == []


@each_row(
    ("text", "reason"),
    [
        ("train", "is not NAME=SHARE"),
        ("train=x", "is not NAME=SHARE"),
        ("a/b=1", "is no name for a file"),
        ("=1", "is no name for a file"),
        ("train=0.5,train=0.5", "each split once"),
        ("train=nan", "each share between 0 and 1"),
        ("train=0,test=1", "each share between 0 and 1"),
        ("train=0.5,test=0.4", "add up to 0.9"),
    ],
)
def test_shares_that_cannot_be_dealt_name_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        parse_shares(text)


def test_shares_keep_their_order_and_may_have_blanks() -> None:
    assert list(parse_shares(" train = 0.7 , test-1=0.3 ").items()) == [("train", 0.7), ("test-1", 0.3)]


SOURCE = Provenance(session_id="s", document="d", repository="r", trace_id="t", user_id="u")


@each_row(
    ("kind", "group_by", "key"),
    [
        (CaseKind.CHAT, "auto", "session:s"),
        (CaseKind.CONTEXT, "auto", "repository:r"),
        (CaseKind.QA, "auto", "document:d"),
        (CaseKind.CHAT, "user", "user:u"),
        (CaseKind.CHAT, "trace", "trace:t"),
        (CaseKind.CHAT, "none", "case:c1"),
    ],
)
def test_a_case_belongs_to_the_group_of_its_kind(kind: CaseKind, group_by: str, key: str) -> None:
    assert group_key(a_case(kind=kind, provenance=SOURCE), group_by) == key


def test_a_case_without_the_group_is_one_of_its_own() -> None:
    assert group_key(a_case("x"), "session") == "case:x"
    assert group_key(a_case("x", kind=CaseKind.QA, metadata={"document": "m"}), "auto") == "document:m"
    with pytest.raises(BadInput, match="--group-by"):
        group_key(a_case(), "colour")
    assert require_groups([a_case("a"), a_case("b", provenance=SOURCE)], "user") == 1
    with pytest.raises(BadInput, match="none of the 1 cases names a user"):
        require_groups([a_case()], "user")


def test_most_cases_of_a_group_decide_where_it_was() -> None:
    cases = [a_case(name, provenance=SOURCE) for name in "abc"]
    assert settle_groups(cases, {"a": "test", "b": "train", "c": "train"}, "session") == {"session:s": "train"}
    assert settle_groups(cases, {"a": "test", "b": "train"}, "session") == {"session:s": "test"}
    assert settle_groups(cases, {}, "session") == {}


@each_row(
    ("line", "texts"),
    [
        (b'{"a": ["x", {"b": "y"}], "n": 3}', {"x", "y"}),
        (b'"alone"', {"alone"}),
        (b"not JSON\n", {"not JSON"}),
        (b"[]", set()),
    ],
)
def test_every_text_of_a_training_line_is_looked_at(line: bytes, texts: set[str]) -> None:
    assert set(_leaves(line)) == texts


@each_row(
    ("raw", "offset", "expected"),
    [
        (b"\xef\xbb\xbf{}\r\n", 0, b"{}"),
        (b"\xef\xbb\xbf{}", 5, b"\xef\xbb\xbf{}"),
        (b'{"a":\r1}\n', 9, b'{"a": 1}'),
        (b" \n", 3, b""),
    ],
)
def test_a_line_without_what_is_around_it(raw: bytes, offset: int, expected: bytes) -> None:
    assert bare_line(raw, offset) == expected


def test_a_field_of_rag_is_opened_one_level_and_keeps_its_bytes() -> None:
    assert read_fields(b'{"a": 1.0, "rag": {"x": [1, 2], "y": {"z": 0}}}') == {
        "a": b"1.0",
        "rag.x": b"[1, 2]",
        "rag.y": b'{"z": 0}',
    }
    assert read_fields(b'{"rag": null}') == {}
    with pytest.raises(Refusal) as refused:
        read_fields(b'{"rag": [1]}')
    assert refused.value.detail == "rag must be an object, not [1]"


@each_row(
    ("line", "reason"),
    [
        (b'{"a": 1, "a": 2}', "repeated key"),
        (b"[1]", "not an object"),
        (b"{", "not JSON"),
        (b'{"a": NaN}', "not JSON"),
        (b"[" * 100_000, "not an object"),
        (b'{"a": ' + b"[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_is_no_object_says_why(line: bytes, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        members_of(line)
    assert refused.value.reason == reason


def test_a_value_is_shown_by_its_beginning() -> None:
    assert show_value(b"x" * 60) == "x" * 60 and show_value(b"x" * 61) == "x" * 60 + "…"


@each_row(
    ("table", "reason"),
    [
        ({"colour": 1}, "colour"),
        ({}, "give it `fields`"),
        ({"fields": {}}, "fields must be a table"),
        ({"fields": {"task_id": "x"}}, "come by themselves"),
        ({"fields": {"q": 5}}, "write `from:"),
        ({"fields": {"q": {"from": "x", "kinds": "text"}}}, "kinds"),
        ({"fields": {"q": {"from": "x", "kind": "number"}}}, "number"),
        ({"fields": {"q": {"from": "x", "required": "yes"}}}, "required is true or false"),
        ({"fields": {"q": "a.b"}}, "too deep"),
        ({"fields": {"q": [1]}}, "a list of texts"),
        ({"fields": {"q": "x"}, "task_types": []}, "a list of texts"),
        ({"fields": {"q": "x"}, "file": "a/b"}, "the name of a file"),
        ({"fields": {"q": "x"}, "file": ".."}, "the name of a file"),
    ],
)
def test_a_split_of_ones_own_that_is_wrong_names_the_key(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        declare_splits("mine", table)
    assert "'mine'" in refused.value.message


def test_a_split_of_ones_own_has_the_envelope_behind_its_fields() -> None:
    split = declare_splits("mine", {"fields": {"q": {"from": ["rag.q", "q"], "required": True}, "sources": "urls"}})
    assert [column.name for column in split.columns[:2]] == ["q", "sources"] and split.columns[0].required
    assert [column.name for column in split.columns].count("sources") == 1
    assert (split.task_types, split.file_name) == (("mine",), "mine.jsonl")
    assert declare_splits("qa", {"task_types": [" QA ", "faq"]}).task_types == ("qa", "faq")
    assert declare_splits("qa", {}).columns == SPLITS["qa"].columns
    with pytest.raises(BadInput, match="letters, digits"):
        declare_splits("a b", {})


def test_relative_paths_start_at_the_folder_above_configs(tmp_path: Path) -> None:
    assert project_root(tmp_path / "configs" / "x.yaml") == tmp_path.resolve()
    assert project_root(tmp_path / "x.yaml") == tmp_path.resolve()
    assert project_root(None) == Path.cwd()


@pytest.mark.parametrize(
    "splits",
    ["[{qa: {output: x.jsonl}}]", "[[qa]]", "[]", "qa", "5", "{qa: 3}", "[qa, 2]"],
)
def test_splits_of_the_wrong_shape_are_one_clear_line(tmp_path: Path, splits: str) -> None:
    config = tmp_path / "x.yaml"
    config.write_text(f"evaluation:\n  splits: {splits}\n")
    with pytest.raises(BadInput, match="split"):
        load_spec(config, {})


@each_row("version", ["v1", "v2.1", "v10.0.3"])
def test_a_version_is_v_and_numbers(version: str) -> None:
    assert manifests.require_version(version) == version
    for wrong in (version[1:], f"{version}-rc", f"{version}.", "v", ""):
        with pytest.raises(BadInput, match="is not of the form v1"):
            manifests.require_version(wrong)


def test_a_seal_is_over_all_fields_but_itself() -> None:
    sealed = manifests.seal_manifest({"version": "v1", "splits": {}})
    assert manifests.seal_of(sealed) == sealed[manifests.SEAL]
    assert manifests.seal_of({**sealed, "version": "v2"}) != sealed[manifests.SEAL]
    assert manifests.encode(sealed).endswith(b"}\n") and orjson.loads(manifests.encode(sealed)) == sealed


def test_the_time_of_a_build_can_be_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert manifests.now_utc() == datetime(1970, 1, 2, tzinfo=UTC)
    assert manifests.stamp(manifests.now_utc()) == "1970-01-02T00:00:00Z"


@pytest.mark.parametrize("value", ["yesterday", "1.5", "9" * 30])
def test_a_time_that_is_no_number_of_seconds_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", value)
    with pytest.raises(BadInput, match="SOURCE_DATE_EPOCH"):
        manifests.now_utc()


@pytest.mark.parametrize("content", [b"[]", b'"text"', b"{broken", b"null"])
def test_a_manifest_of_another_shape_in_the_way_is_a_conflict(tmp_path: Path, content: bytes) -> None:
    spec = SnapshotSpec(dataset="d", version="v1", out=tmp_path)
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(Conflict, match="holds another build"):
        draft(spec, [a_case()])


def test_a_canary_names_its_dataset_and_is_no_case(tmp_path: Path) -> None:
    assert canary_of("a") == canary_of("a") != canary_of("b")
    frozen = freeze(SnapshotSpec(dataset="d", version="v1", out=tmp_path, canary=True), [a_case()])
    first, _ = (tmp_path / "all.jsonl").read_bytes().splitlines()
    assert orjson.loads(first) == {"canary": canary_of("d")} and frozen.manifest.splits["all"].count == 1
