"""Checks of a build: each kind of damage is found, named and counted."""

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from evergold.build import rag
from evergold.build.check import CheckLimits, check
from evergold.build.compare import diff, sample
from evergold.build.manifest import BuildFinding, Report, verify
from evergold.cli import invoke as run
from evergold.errors import BadInput, NotFound
from tests.build.rag_builders import a_spec, an_offline_record, read_jsonl


def a_build(folder: Path, records: list[dict[str, Any]] | None = None, **flags: Any) -> Path:
    folder.mkdir(exist_ok=True)
    spec = a_spec(folder, records or [an_offline_record(f"r{n}") for n in range(20)], **flags)
    rag.build(spec)
    return spec.manifest


def damage(manifest: Path, change: dict[str, Any], line: int = 3) -> None:
    path = manifest.with_name("qa_pairs.jsonl")
    rows = read_jsonl(path)
    rows[line - 1] |= change
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def outcomes(report: Report, split: str = "qa") -> dict[str, str]:
    return {finding.check: finding.outcome for finding in report.findings if finding.split == split}


def failure(report: Report, check_name: str) -> BuildFinding:
    return next(finding for finding in report.failed if finding.check == check_name)


def test_a_fresh_build_passes(tmp_path: Path) -> None:
    report = check(a_build(tmp_path))
    assert not report.failed
    assert set(outcomes(report).values()) == {"passed"}


def test_a_build_that_was_copied_still_passes_verifies_and_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    copied = shutil.copytree(a_build(tmp_path / "here").parent, tmp_path / "there" / "set") / "manifest.json"
    shutil.rmtree(tmp_path / "here")
    assert not check(copied).failed and not verify(copied).failed
    asked = ["run", str(copied), "--dataset-type", "qa", "--model", "recorded", "--metric", "citation_grounded"]
    assert run(asked) == 0 and "completed" in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("change", "failed", "says"),
    [
        ({"reference_answer": "  "}, "references", "line 3 (r2): reference_answer is empty"),
        ({"reference_answer": None}, "schema", "line 3"),
        ({"contexts": "text"}, "schema", "line 3"),
        ({"retrieved": [1, 2]}, "schema", "line 3"),
        ({"contexts": [1, 2]}, "schema", "line 3: Expected `str` - in `contexts`"),
        ({"rag_prompt": 5}, "schema", "rag_prompt"),
        ({"reference_answer": "see [7]"}, "citations", "[7] points at none of 2 contexts"),
        ({"sources": ["one"]}, "alignment", "pair up"),
        ({"task_id": "r0"}, "ids", "was there before"),
    ],
)
def test_damage_is_found_and_named(tmp_path: Path, change: dict[str, Any], failed: str, says: str) -> None:
    manifest = a_build(tmp_path)
    damage(manifest, change)
    report = check(manifest)
    assert says in failure(report, failed).message
    assert outcomes(report)["hash"] == "failed"


def test_counts_hashes_and_missing_files(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    path = manifest.with_name("qa_pairs.jsonl")
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    report = check(manifest)
    assert "19 records, the manifest says 20" in failure(report, "count").message
    path.unlink()
    report = check(manifest)
    assert outcomes(report) == {"file": "failed"} | dict.fromkeys(
        ("hash", "count", "schema", "references", "citations", "alignment", "ids", "source_match", "grounded"),
        "not measured",
    )


def test_a_drop_of_more_than_a_tenth_fails(tmp_path: Path) -> None:
    old = a_build(tmp_path / "old")
    exactly = a_build(tmp_path / "exactly", [an_offline_record(f"r{n}") for n in range(18)])
    fewer = a_build(tmp_path / "fewer", [an_offline_record(f"r{n}") for n in range(17)])
    assert not check(exactly, old).failed
    drop = failure(check(fewer, old), "count drop")
    assert drop.measured == {"before": 20, "now": 17, "drop": 0.15}
    assert not check(fewer, old, CheckLimits(max_drop=0.5)).failed


def test_drift_by_tag_length_and_repetition(tmp_path: Path) -> None:
    def records(tag: str, text: str, times: int) -> list[dict[str, Any]]:
        return [
            an_offline_record(f"r{n}", instruction=f"{text} {n % times}", metadata={"tags": [tag]}) for n in range(20)
        ]

    old = a_build(tmp_path / "old", records("a", "short", 20))
    same = check(a_build(tmp_path / "same", records("a", "other", 20)), old)
    assert not same.failed
    new = check(a_build(tmp_path / "new", records("b", "much longer " * 20, 2)), old)
    measured = failure(new, "drift").measured
    assert measured["tag"] == 1.0
    assert measured["input length"] == 1.0
    assert measured["repeated share"] == 0.9
    assert measured["type"] == measured["reference length"] == 0.0


def test_drift_by_the_mix_of_types(tmp_path: Path) -> None:
    def records(summaries: int) -> list[dict[str, Any]]:
        rows = [an_offline_record(f"q{n}", instruction=f"Question {n}?") for n in range(20)]
        return rows + [an_offline_record(f"s{n}", task_type="summaries") for n in range(summaries)]

    old = a_build(tmp_path / "old", records(20))
    assert not check(a_build(tmp_path / "same", records(24)), old).failed
    (mix,) = check(a_build(tmp_path / "new", records(180)), old).failed
    assert (mix.check, mix.split, mix.measured) == ("drift", "all splits", {"split": 0.4})
    assert "20 qa, 20 summaries in v1, now 20 qa, 180 summaries" in mix.message


def test_a_baseline_without_its_files_still_compares_counts(tmp_path: Path) -> None:
    old = a_build(tmp_path / "old")
    old.with_name("qa_pairs.jsonl").unlink()
    report = check(a_build(tmp_path / "new"), old)
    assert outcomes(report)["count drop"] == "passed"
    assert outcomes(report)["drift"] == "not measured"


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    first = check(manifest, limits=CheckLimits(sample=3, seed=7)).samples
    assert len(first["qa"]) == 3
    assert check(manifest, limits=CheckLimits(sample=3, seed=7)).samples == first
    assert check(manifest, limits=CheckLimits(sample=3, seed=8)).samples != first


def test_a_manifest_of_another_tool_is_checked_as_far_as_it_goes(tmp_path: Path) -> None:
    ours = a_build(tmp_path)
    stub = {
        "version": "v1",
        "generated_at_utc": "2025-11-04T18:30:00Z",
        "splits": {"qa": {"path": "out/qa_pairs.jsonl", "count": 20}},
    }
    ours.write_text(json.dumps(stub))
    report = check(ours)
    assert not report.failed
    assert outcomes(report)["hash"] == "not measured"


def test_exit_codes_json_and_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = a_build(tmp_path)
    assert run(["check", str(manifest), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    damage(manifest, {"reference_answer": ""})
    assert run(["check", str(manifest), "--junit", str(tmp_path / "junit.xml")]) == 1
    assert "reference_answer is empty" in capsys.readouterr().err
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert suite.attrib["failures"] == "2"
    assert run(["check", str(tmp_path / "nowhere.json")]) == 2
    assert run(["check", str(manifest), "--max-drop", "7"]) == 2


def test_a_file_that_is_no_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no manifest"):
        check(tmp_path / "manifest.json")
    (tmp_path / "manifest.json").write_text('{"version": 5}')
    with pytest.raises(BadInput, match="version"):
        check(tmp_path)


def test_verify_finds_any_changed_byte(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    assert not verify(manifest.parent).failed
    qa = manifest.with_name("qa_pairs.jsonl")
    qa.write_bytes(qa.read_bytes().replace(b"flat", b"FLAT", 1))
    assert [finding.split for finding in verify(manifest).failed] == ["qa"]
    assert run(["verify", str(manifest.parent)]) == 1


def test_verify_finds_a_changed_manifest(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    content = json.loads(manifest.read_bytes())
    content["content_hash"] = "sha256:0"
    manifest.write_text(json.dumps(content))
    assert [finding.check for finding in verify(manifest).failed] == ["manifest", "content hash"]
    content = json.loads(a_build(tmp_path, force=True).read_bytes())
    for changed in ({"version": "v9"}, {"filters": {"limit": 1}}, {"excluded_task_types": {"x": 1}}, {"new": None}):
        manifest.write_text(json.dumps(content | changed))
        assert [finding.check for finding in verify(manifest).failed] == ["manifest"]
    content["splits"]["qa"]["count"] = 19
    manifest.write_text(json.dumps(content))
    assert [finding.check for finding in verify(manifest).failed] == ["manifest"]


def test_a_manifest_of_another_tool_has_no_hash_of_itself(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    content = json.loads(manifest.read_bytes())
    del content["manifest_hash"]
    manifest.write_text(json.dumps(content))
    assert [finding.check for finding in verify(manifest).findings if finding.outcome == "not measured"] == ["manifest"]


def test_a_manifest_without_splits_proves_nothing(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text('{"version": "v1", "generated_at_utc": "2026-01-01T00:00:00Z"}')
    for look in (check, verify):
        with pytest.raises(BadInput, match="lists no split"):
            look(manifest)
    assert run(["check", str(manifest)]) == 2


def test_an_unknown_kind_of_field_is_named(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    manifest.write_bytes(manifest.read_bytes().replace(b'"rag_prompt": "text"', b'"rag_prompt": "txt"', 1))
    with pytest.raises(BadInput, match="did you mean 'text'"):
        check(manifest)


def test_junit_of_an_id_with_control_characters_can_be_read(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    damage(manifest, {"task_id": "a\u0001\u001bb", "reference_answer": " "})
    report = check(manifest)
    suite = ElementTree.fromstring(report.to_junit())[0]
    failure = next(case[0] for case in suite if case.get("name") == "references")
    assert "line 3 (a\ufffd\ufffdb)" in (failure.get("message") or "")


def test_numbers_no_computer_holds_are_sampled_and_compared(tmp_path: Path) -> None:
    """The builder keeps the digits of any number, so whoever reads its files must stand them."""
    digits = b"1234567890123456789012345678901234567890"
    for name, number in (("a", b"1E400"), ("b", b"1E401"), ("c", digits), ("d", digits[:-1] + b"1")):
        line = json.dumps(an_offline_record(metadata={"n": "?"})).encode().replace(b'"?"', number)
        (tmp_path / name).mkdir()
        rag.build(a_spec(tmp_path / name, [line]))
    a, b, c, d = (tmp_path / name / "out" for name in "abcd")
    assert [tuple(change.model_dump().values()) for change in diff(a, b).changed["r1"]] == [
        ("metadata.n", "1E400", "1E401")
    ]
    assert list(diff(c, d).changed) == ["r1"]
    assert sample(c, 1, 0).records[0].record["metadata"]["n"] == digits.decode()
    assert check(a / "manifest.json", limits=CheckLimits(sample=1)).samples["qa"][0]["metadata"] == {"n": "1E400"}


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ({"sources": [], "retrieved": []}, None),
        ({"question": " "}, "references"),
        ({"reference_answer": ""}, "references"),
        ({"rag_prompt": None}, "schema"),
        ({"contexts": ["[1] a", None]}, "schema"),
        ({"sources": ["a", 1]}, "schema"),
        ({"retrieved": [{}, 1]}, "schema"),
        ({"retrieved": [{}]}, "alignment"),
        ({"reference_answer": "[3]"}, "citations"),
        ({"metadata": []}, "schema"),
        ({"contexts": ["[2] a", "[1] b"], "reference_answer": "[1]"}, None),
        ({"contexts": ["a", "b"], "reference_answer": "[2]"}, None),
        ({"contexts": ["a", "b"], "reference_answer": "[0]"}, "citations"),
    ],
)
def test_each_flaw_of_a_record_fails_its_check(tmp_path: Path, change: dict[str, Any], broken: str | None) -> None:
    manifest = a_build(tmp_path)
    damage(manifest, change)
    report = check(manifest, limits=CheckLimits(judged=0))
    failed = {finding.check for finding in report.failed} - {"hash"}
    assert failed == ({broken} if broken else set())


def test_an_endless_marker_is_named_like_any_other(tmp_path: Path) -> None:
    manifest = a_build(tmp_path)
    damage(manifest, {"reference_answer": "see [" + "7" * 5000 + "]"})
    assert "points at none of 2 contexts" in failure(check(manifest), "citations").message
