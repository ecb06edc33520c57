"""`check` names records whose contexts do not support their reference, or do not come from the source that they name."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.build import rag
from evergold.build.check import CheckLimits, check
from evergold.build.groundedness import document_of
from evergold.build.manifest import BuildFinding
from evergold.cli import invoke as run
from evergold.errors import BadInput
from tests.build.rag_builders import a_spec, an_offline_record

CONTEXTS = ["[1] The shop opens at nine in the morning.", "[2] Parking behind the house costs two euros."]


def a_record(task_id: str, answer: str, **rag_fields: Any) -> dict[str, Any]:
    made = an_offline_record(task_id, expected_response=answer)
    made["rag"] |= {
        "contexts": CONTEXTS,
        "sources": ["shop.md#page=1", "house.md#page=2"],
        "citations": [],
        **rag_fields,
    }
    made["metadata"] = {"source_path": "raw/shop.md"}
    return made


def a_build(folder: Path, *records: dict[str, Any]) -> Path:
    spec = a_spec(folder, records)
    rag.build(spec)
    return spec.manifest


def finding(manifest: Path, name: str, limits: CheckLimits | None = None) -> BuildFinding:
    return next(one for one in check(manifest, limits=limits).findings if (one.check, one.split) == (name, "qa"))


GOOD = a_record("good", "In the morning the shop opens at nine [1]. Parking behind the house costs two euros [2].")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Visitors always pay with bitcoin at the museum [1].", "“Visitors always pay with bitcoin at the museum.”"),
        ("The shop opens at nine in the morning [1]. Dogs get a free breakfast [2].", "“Dogs get a free breakfast.”"),
        ("Parking behind the house costs two euros [1].", "“Parking behind the house costs two euros.”"),
    ],
    ids=["invented", "one sentence of two", "supported by another context than the cited one"],
)
def test_a_record_with_an_unsupported_sentence_is_named(tmp_path: Path, answer: str, says: str) -> None:
    found = finding(a_build(tmp_path, GOOD, a_record("bad", answer)), "grounded")
    assert (found.outcome, found.count) == ("failed", 1)
    assert found.message.startswith("line 2 (bad): the contexts ")
    assert says in found.message
    assert (found.measured["judged"], found.measured["supported"]) == (2, 1)
    assert "offline/" in found.measured["judge"]


def test_quoted_and_restated_sentences_are_grounded(tmp_path: Path) -> None:
    assert finding(a_build(tmp_path, GOOD), "grounded").outcome == "passed"


def test_a_share_of_ungrounded_records_can_be_tolerated_and_they_are_still_listed(tmp_path: Path) -> None:
    manifest = a_build(tmp_path, GOOD, a_record("bad", "Visitors always pay with bitcoin at the museum."))
    tolerant = finding(manifest, "grounded", CheckLimits(max_ungrounded=0.5))
    assert (tolerant.outcome, tolerant.count, len(tolerant.examples)) == ("passed", 1, 1)
    assert run(["check", str(manifest), "--max-ungrounded", "0.5"]) == 0
    assert run(["check", str(manifest)]) == 1


def test_by_default_false_alarms_of_the_judge_fail_no_split_and_a_split_without_support_fails(tmp_path: Path) -> None:
    bad = [a_record(f"bad{number}", f"Visitors number {number} always pay with bitcoin.") for number in range(10)]
    good = [a_record(f"good{number}", "The shop opens at nine in the morning [1].") for number in range(10)]
    for name in ("few", "all", "strict"):
        (tmp_path / name).mkdir()
    assert run(["check", str(a_build(tmp_path / "few", *good[:7], *bad[:3]))]) == 0
    assert run(["check", str(a_build(tmp_path / "all", *bad))]) == 1
    assert run(["check", str(a_build(tmp_path / "strict", *good, bad[0])), "--max-ungrounded", "0"]) == 1


def test_the_number_of_judged_records_is_bounded(tmp_path: Path) -> None:
    manifest = a_build(tmp_path, *(a_record(f"r{number}", f"Unknown thing number {number}.") for number in range(20)))
    assert finding(manifest, "grounded", CheckLimits(judged=3)).measured["judged"] == 3
    none = finding(manifest, "grounded", CheckLimits(judged=0))
    assert (none.outcome, none.message) == ("not measured", "--judged 0 asks for none")
    with pytest.raises(BadInput, match="--judged -1"):
        check(manifest, limits=CheckLimits(judged=-1))
    with pytest.raises(BadInput, match="--max-ungrounded 2"):
        check(manifest, limits=CheckLimits(max_ungrounded=2))


def test_records_without_contexts_are_not_measured(tmp_path: Path) -> None:
    bare = a_record("bare", "The shop opens at nine.", contexts=[], sources=[], retrieved=[])
    found = finding(a_build(tmp_path, bare), "grounded")
    assert (found.outcome, found.message) == ("not measured", "no drawn record has contexts and a sentence to judge")


@pytest.mark.parametrize(
    ("sources", "citations", "says"),
    [
        (
            ["x/other.txt#page=1", "more.pdf"],
            [],
            "none of its 2 contexts comes from metadata.source_path 'raw/shop.md'",
        ),
        (
            ["shop.md", "house.md"],
            [{"marker": 1, "source": "gone.md"}],
            "citations: 'gone.md' is the source of no context",
        ),
        (
            ["shop.md", "house.md"],
            [{"marker": 2, "source": "shop.md"}],
            "[2] names 'shop.md', its context comes from 'house.md'",
        ),
    ],
)
def test_sources_that_do_not_match_are_named(
    tmp_path: Path, sources: list[str], citations: list[Any], says: str
) -> None:
    bad = a_record("bad", "The shop opens at nine in the morning [1].", sources=sources, citations=citations)
    found = finding(a_build(tmp_path, GOOD, bad), "source_match")
    assert (found.outcome, found.count) == ("failed", 1)
    assert found.message.startswith("line 2 (bad): ")
    assert says in found.message


@pytest.mark.parametrize(
    ("metadata", "sources"),
    [
        ({"source_path": "data/raw/2510.25529.pdf"}, ["data/processed/2510.25529.txt#page=28", "else.txt"]),
        ({"source_path": "C:\\docs\\Shop.PDF"}, ["https://example.org/shop.html?page=2", "house.md"]),
        ({"source_path": "shop.md"}, ["17", "18"]),
        ({"document": "All about shops"}, ["other.md", "house.md"]),
        ({"source_path": ["shop.md"]}, ["other.md", "house.md"]),
        ({}, ["other.md", "house.md"]),
    ],
    ids=["folder, ending, page", "address", "rows have no path", "a title is no path", "no text", "nothing named"],
)
def test_sources_that_match_or_cannot_be_compared_pass(
    tmp_path: Path, metadata: dict[str, Any], sources: list[str]
) -> None:
    record = a_record("r", "The shop opens at nine in the morning [1].", sources=sources) | {"metadata": metadata}
    assert finding(a_build(tmp_path, record), "source_match").outcome == "passed"


def test_a_report_for_programs_has_both_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(a_build(tmp_path, GOOD)), "--json"]) == 0
    checks = {(one["check"], one["split"]): one["outcome"] for one in json.loads(capsys.readouterr().out)["checks"]}
    assert (checks["grounded", "qa"], checks["source_match", "qa"]) == ("passed", "passed")


def test_a_document_is_its_name_without_page_folder_and_ending() -> None:
    assert document_of("a%20b/2510.25529") == document_of("2510.25529.txt#page=3") == "2510.25529"
    assert document_of("https://example.org/docs/guide/") == "guide"
