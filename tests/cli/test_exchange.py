"""`evergold export` and `import` as people use them: slips are named, long and odd files are still recognised."""

import json
from pathlib import Path
from typing import Any

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


def test_what_an_export_leaves_out_is_counted_by_reason_with_a_few_examples(tmp_path: Path) -> None:
    cases = ({"id": f"{n}", "dataset": "faq", "kind": "chat", "input": f"Q{n}", "output": "A"} for n in range(12))
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    assert evergold("import", "cases.jsonl", cwd=tmp_path).code == 0
    told = evergold("export", "faq", "--format", "dpo", cwd=tmp_path)
    lines = [line for line in told.err.splitlines() if line.startswith("left out")]
    assert len(lines) == 1 and lines[0].startswith("left out 12: "), told.err
    assert lines[0].count("faq/") == 5 and lines[0].endswith(", …)")


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


TURNS = [
    ("t1", "How much is the coat?", "The coat costs 50 pesos."),
    ("t2", "No, it costs 500 pesos.", "You're right, sorry — the coat costs 500 pesos."),
    ("t3", "And the scarf?", "The scarf costs 80 pesos."),
    ("t4", "Do you ship to Cuzco?", "Yes, in five days."),
]


def exported_lines(out: Path, *args: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    counted = evergold("export", "live", "--out", str(out), *args, "--json", cwd=out.parent).json
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()], counted


def test_training_files_teach_no_known_failure_and_no_apology(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    for number, (trace_id, said, reply) in enumerate(TURNS):
        at = f"2026-01-01T10:0{number}:00Z"
        record = {"type": "trace", "id": trace_id, "session_id": "s", "input": said, "output": reply}
        records.append(record | {"started_at": at, "ended_at": at})
    records.append({"type": "correction", "trace_id": "t1", "text": TURNS[1][1], "kind": "remark"})
    thumb = {"type": "score", "name": "thumb", "value": 1.0, "source": "user"}
    records += [{"type": "score", "trace_id": "t3", "name": "reward", "value": 1.0, "source": "system"}]
    records += [thumb | {"trace_id": "t3"}]
    (tmp_path / "traces.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    evergold("ingest", str(tmp_path / "traces.jsonl"), cwd=tmp_path)
    evergold("curate", cwd=tmp_path)

    lines, counted = exported_lines(tmp_path / "ft.jsonl", "--format", "openai-ft", "--candidates", "include")
    learned = [
        m["content"] for line in lines for m in line["messages"] if m["role"] == "assistant" and "weight" not in m
    ]
    assert sorted(learned) == ["The coat costs 500 pesos.", "The scarf costs 80 pesos."]
    assert all(m["weight"] == 0 for line in lines for m in line["messages"][:-1] if m["role"] == "assistant")
    assert sum(counted["evidence"].values()) == counted["cases"] == 2

    (pair,), _ = exported_lines(tmp_path / "dpo.jsonl", "--format", "dpo")
    assert pair["preferred_output"][0]["content"] == "The coat costs 500 pesos."
    assert pair["non_preferred_output"][0]["content"] == "The coat costs 50 pesos."

    (line,), _ = exported_lines(tmp_path / "live.jsonl", "--type", "correction")
    assert (line["expected_output"], line["correction_text"]) == ("The coat costs 500 pesos.", TURNS[1][1])
    assert line["reference_from"] == "revised"
    listed = evergold("cases", "list", "--type", "correction", "--json", cwd=tmp_path).json["cases"][0]
    assert listed["expected_output"] == listed["expected"] == line["reference"]
    evergold("import", str(tmp_path / "live.jsonl"), "--dataset", "copy", cwd=tmp_path)
    again = evergold("cases", "list", "--dataset", "copy", "--json", cwd=tmp_path).json["cases"][0]
    assert (again["correction_text"], again["reference"]) == (line["correction_text"], line["reference"])


def test_questions_and_answers_are_imported_as_anybody_writes_them(tmp_path: Path) -> None:
    rows = [{"question": "When?", "answer": "Nine."}, {"question": "Where?", "answer": "Here."}]
    (tmp_path / "lines.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "list.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "table.csv").write_text("question,answer\nWhen?,Nine.\nWhere?,Here.\n")
    for name in ("lines.jsonl", "list.json", "table.csv"):
        assert evergold("import", name, "--dataset", name, "--json", cwd=tmp_path).json["added"] == 2
        cases = evergold("cases", "list", "--dataset", name, "--json", cwd=tmp_path).json["cases"]
        assert sorted((case["input"], case["expected"]) for case in cases) == [("When?", "Nine."), ("Where?", "Here.")]


def test_what_stands_beside_a_right_answer_is_what_a_model_answered(tmp_path: Path) -> None:
    rows = [
        '{"question": "Capital of Chile?", "answer": "Valparaiso", "ground_truth": "Santiago"}',
        '{"question": "Capital of Peru?", "ans',
        '{"question": "Capital of Cuba?", "ground_truth": ["Havana", "La Habana"]}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "table.csv").write_text("Question,Ground Truth\nCapital of Chile?,Santiago\n")
    done = evergold("import", "rows.jsonl", "--dataset", "d", cwd=tmp_path)
    assert "rows.jsonl:2: not JSON" in done.err and "2 added" in done.out, done.out + done.err
    assert evergold("import", "table.csv", "--dataset", "e", "--json", cwd=tmp_path).json["added"] == 1
    cases = evergold("cases", "list", "--dataset", "d", "--json", cwd=tmp_path).json["cases"]
    assert sorted(case["expected"] for case in cases) == ["Havana", "Santiago"]


def test_a_line_of_instruction_tuning_is_asked_with_what_it_is_about(tmp_path: Path) -> None:
    (tmp_path / "tuning.jsonl").write_text('{"instruction": "Translate.", "input": "Hola", "output": "Hello"}\n')
    assert evergold("import", "tuning.jsonl", "--dataset", "t", cwd=tmp_path).code == 0
    (case,) = evergold("cases", "list", "--dataset", "t", "--json", cwd=tmp_path).json["cases"]
    assert (case["input"], case["output"]) == ("Translate.\n\nHola", "Hello")
