"""`evergold export` and `import` as people use them: slips are named, long and odd files are still recognised."""

import json
from pathlib import Path

from tests.cli.running import evergold


def test_a_dataset_that_nobody_named_is_not_exported_as_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        '{"id": "1", "dataset": "faq", "kind": "chat", "input": "Q", "output": "A"}\n'
    )
    assert evergold("import", "cases.jsonl", cwd=tmp_path).code == 0
    slip = evergold("export", "fqa", cwd=tmp_path)
    assert slip.code == 2
    assert "unknown dataset 'fqa'; did you mean 'faq'?" in slip.err
    assert not (tmp_path / "fqa.jsonl").exists()
    assert evergold("export", "live", "--json", cwd=tmp_path).json["cases"] == 0
    assert evergold("export", "faq", "--type", "failure", "--json", cwd=tmp_path).json["cases"] == 0


def test_a_long_first_line_is_recognised(tmp_path: Path) -> None:
    record = {"contexts": ["word " * 40_000], "task_id": "1", "question": "Q", "reference_answer": "A"}
    (tmp_path / "qa.jsonl").write_text(json.dumps(record) + "\n")
    golden = {"input": "word " * 40_000, "expected_output": "A"}
    (tmp_path / "goldens.json").write_text(json.dumps([golden]))
    for name in ("qa.jsonl", "goldens.json"):
        done = evergold("import", name, "--dataset", "long", "--json", cwd=tmp_path)
        assert (done.code, done.json["rejected"]) == (0, 0), done.err


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("inspect", "deepeval", "yaml", "parquet", "openai-ft", "dataset-a"):
        done = evergold("import", "folder", "--format", name, cwd=tmp_path)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err


def test_an_export_without_a_path_stays_in_this_folder(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "cases.jsonl").write_text('{"id": "1", "dataset": "faq", "kind": "chat", "input": "Q", "output": "A"}\n')
    for name, path in (("team/faq", "team%2Ffaq.jsonl"), ("../up", "%2E.%2Fup.jsonl")):
        assert evergold("import", "cases.jsonl", "--dataset", name, cwd=folder).code == 0
        assert evergold("export", name, "--json", cwd=folder).json["path"] == path
        assert (folder / path).is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
