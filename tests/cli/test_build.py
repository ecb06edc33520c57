"""`evergold build --dataset` in a terminal: what would be ignored or surprise is said."""

import json
from pathlib import Path
from xml.etree import ElementTree

from tests.cli.running import evergold


def test_a_field_filtered_twice_and_an_empty_split_are_said(tmp_path: Path) -> None:
    rows = [{"id": f"{n}", "dataset": "faq", "kind": "chat", "input": f"Q{n}", "output": "A"} for n in range(4)]
    together = {"provenance": {"session_id": "s"}}
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row | together) + "\n" for row in rows))
    assert evergold("import", "cases.jsonl", cwd=tmp_path).code == 0
    twice = evergold("build", "--dataset", "faq", "--filter", "tag=a", "--filter", "tag=b", cwd=tmp_path)
    assert (twice.code, "given as 'a' and as 'b'" in twice.err) == (2, True)
    made = evergold("build", "--dataset", "faq", "--split", "train=0.5,test=0.5", cwd=tmp_path)
    assert (made.code, "split test is empty: cases that belong together are never parted" in made.err) == (0, True)
    slip = evergold("build", "--dataset", "fqa", cwd=tmp_path)
    assert (slip.code, "did you mean 'faq'" in slip.err) == (2, True)


def test_a_dataset_is_named_without_an_option_and_a_file_is_told_its_own(tmp_path: Path) -> None:
    rows = [{"id": f"{n}", "dataset": "faq", "kind": "chat", "input": f"Q{n}", "output": "A"} for n in range(4)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert evergold("import", "cases.jsonl", cwd=tmp_path).code == 0
    made, same = (evergold("build", *words, "--json", cwd=tmp_path) for words in (["faq"], ["--dataset", "faq"]))
    assert (made.code, made.json["dataset"]) == (0, same.json["dataset"])
    for typed, told in (
        (["fqa"], "did you mean 'faq'"),
        (["faq", "--dataset", "live"], "name one dataset"),
        (["cases.jsonl"], "evergold build --offline-dataset cases.jsonl"),
        (["faq", "--qa-output", "qa.jsonl"], "--qa-output goes with an offline file only"),
    ):
        refused = evergold("build", *typed, cwd=tmp_path)
        assert (refused.code, told in refused.err) == (2, True), refused.err


def test_what_a_check_of_rows_cannot_do_is_said_and_junit_is_written(tmp_path: Path) -> None:
    (tmp_path / "dataset_a_file_paths.validated.jsonl").write_text('{"caseId": "1"}\n')
    rows = "dataset_a_file_paths.validated.jsonl"
    assert evergold("check", rows, "--junit", "r.xml", cwd=tmp_path).code == 1
    assert ElementTree.parse(tmp_path / "r.xml").getroot().find(".//failure") is not None
    for flags in (["--baseline", "old.json"], ["--sample", "3"], ["--repo", ".", "--junit", "r.xml"]):
        refused = evergold("check", rows, *flags, cwd=tmp_path)
        assert (refused.code, "go with a manifest only" in refused.err) == (2, True)
    nothing = evergold("check", cwd=tmp_path)
    assert (nothing.code, "no manifest at evaluation/datasets/manifest.json" in nothing.err) == (2, True)
