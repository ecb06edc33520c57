"""The whole loop with no model and no network: documents → dataset → splits → check → run → report."""

import json
from pathlib import Path
from typing import Any

from evergold.text.markers import without_markers
from tests.cli.running import evergold
from tests.documents import write_pdf

CONFIG = """\
evaluation:
  offline_dataset: evaluation/datasets/offline_dataset.jsonl
  splits: [qa, summaries, citations]
generation:
  documents: help
  tasks: {qa: 4, summaries: 1, citations: 1}
  seed: 7
"""
RETURNS = """\
# Returns

Unused gear can be returned within 60 days for a full refund. A return needs the order number of the parcel.

## Can worn boots be returned?

Worn boots can be returned within 30 days, for store credit only. Store credit is a voucher that is valid for 2 years.

## Return a parcel

1. Write the order number on the parcel.
2. Take it to the post before 10:30.
3. Keep the receipt of $1,499.00.
"""
WARRANTY = (
    [
        "1 The warranty",
        "The warranty is a promise of the maker to the buyer of a tent.",
        "Tents are covered for 3 years in every country.",
    ],
    ["The workshop in Arequipa answers within 2 working days."],
)


def project(tmp_path: Path) -> Path:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "default.yaml").write_text(CONFIG)
    (tmp_path / "help").mkdir()
    (tmp_path / "help" / "returns.md").write_text(RETURNS)
    write_pdf(tmp_path / "help" / "warranty.pdf", WARRANTY)
    (tmp_path / "help" / "logo.png").write_bytes(b"\x89PNG")
    return tmp_path


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_from_documents_to_a_report_without_a_model(tmp_path: Path) -> None:
    root = project(tmp_path)
    made = evergold("generate", "--config", "configs/default.yaml", cwd=root)
    assert made.code == 0, made.err
    assert "skipped: unsupported type\t1\tlogo.png" in made.out
    assert "extractive: taken from the documents word for word, no model" in made.err
    folder = root / "evaluation" / "datasets"
    every = records(folder / "offline_dataset.jsonl")
    assert {record["task_type"] for record in every} == {"qa", "summaries", "citations"}
    assert {record["metadata"]["label"].partition(":")[0] for record in every} == {"extractive"}
    assert any(source.startswith("warranty.pdf#page=") for record in every for source in record["rag"]["sources"])
    built = evergold("build", "--config", "configs/default.yaml", "--json", cwd=root)
    assert built.code == 0, built.err
    assert built.json["rejected"] == {}
    counts = {name: split["count"] for name, split in built.json["splits"].items()}
    assert sum(counts.values()) == len(every)
    checked = evergold("check", "evaluation/datasets/manifest.json", "--json", cwd=root)
    assert checked.json["passed"], checked.out
    run = evergold(
        *("run", "evaluation/datasets/manifest.json", "--dataset-type", "qa", "--model", "recorded", "--json"),
        *("--metric", "faithfulness", "--metric", "citation_precision", "--metric", "citation_grounded"),
        cwd=root,
    )
    assert run.code == 0, run.err
    report = evergold("report", run.json["run"]["id"] if "run" in run.json else run.json["id"], "--json", cwd=root)
    assert report.code == 0, report.err
    assert "citation_grounded" in report.out


def test_the_same_documents_give_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    root = project(tmp_path)
    for name in ("a", "b"):
        assert evergold("generate", "--config", "configs/default.yaml", "--out", f"{name}.jsonl", cwd=root).code == 0
    assert (root / "a.jsonl").read_bytes() == (root / "b.jsonl").read_bytes()
    config = root / "configs" / "default.yaml"
    config.write_text(CONFIG.replace("seed: 7", "seed: 8").replace("qa: 4", "qa: 1"))
    assert evergold("generate", "--config", str(config), "--out", "c.jsonl", cwd=root).code == 0
    assert (root / "a.jsonl").read_bytes() != (root / "c.jsonl").read_bytes()


def test_an_answer_is_quoted_from_the_passage_that_it_cites(tmp_path: Path) -> None:
    root = project(tmp_path)
    evergold("generate", "--config", "configs/default.yaml", "--out", "a.jsonl", cwd=root)
    made = [record for record in records(root / "a.jsonl") if record["task_type"] == "qa"]
    steps = "1. Write the order number on the parcel. 2. Take it to the post before 10:30. 3. Keep the receipt of $1,499.00."
    worn = "Worn boots can be returned within 30 days, for store credit only. "
    worn += "Store credit is a voucher that is valid for 2 years."
    warranty = (
        "The warranty is a promise of the maker to the buyer of a tent. Tents are covered for 3 years in every country."
    )
    said = {one["instruction"]: " ".join(without_markers(one["expected_response"]).split()) for one in made}
    assert said == {
        "Can worn boots be returned?": worn,
        "How do I return a parcel?": steps,
        "What is the warranty?": warranty,
    }
    for record in made:
        [number] = {citation["marker"] for citation in record["rag"]["citations"]}
        context = " ".join(record["rag"]["contexts"][number - 1].split())
        assert all(line in context for line in without_markers(record["expected_response"]).split("\n"))
        assert record["rag"]["citations"][0]["source"] == record["rag"]["sources"][number - 1]
        assert record["rag"]["prompt"].endswith(record["instruction"])


def test_what_is_there_is_only_replaced_when_asked_for(tmp_path: Path) -> None:
    root = project(tmp_path)
    assert evergold("generate", "--documents", "help", "--out", "a.jsonl", "--limit", "2", cwd=root).code == 0
    assert len(records(root / "a.jsonl")) == 2
    again = evergold("generate", "--documents", "help", "--out", "a.jsonl", cwd=root)
    assert (again.code, "--resume" in again.err) == (2, True)
    assert evergold("generate", "--documents", "help", "--out", "a.jsonl", "--fresh", cwd=root).code == 0
    assert len(records(root / "a.jsonl")) > 2


def test_what_cannot_be_run_says_what_to_do(tmp_path: Path) -> None:
    root = project(tmp_path)
    for words, said in (
        (("generate",), "no documents are named; give --documents DIR"),
        (("generate", "--documents", "nowhere"), "no folder"),
        (("generate", "--documents", "help", "--out", "help/a.jsonl"), "inside the documents"),
        (("generate", "--documents", "help", "--limit", "0", "--out", "a.jsonl"), "generation.limit"),
        (("generate", "--documents", "help", "--model", "gpt", "--out", "a.jsonl"), "write openai/gpt"),
        (("generate", "--documents", "help", "--model", "openai/x", "--out", "a.jsonl"), "no key for openai/x"),
    ):
        ran = evergold(*words, cwd=root, OPENAI_API_KEY="", OPENAI_BASE_URL="")
        assert (ran.code, said in ran.err, ran.err.count("\n")) == (2, True, 1), ran.err
    assert not list(root.glob("*.jsonl"))


def test_a_build_inside_a_workspace_is_one_of_its_versions(tmp_path: Path) -> None:
    root = project(tmp_path)
    evergold("generate", "--config", "configs/default.yaml", cwd=root)
    build = ("build", "--config", "configs/default.yaml", "--force")
    alone = evergold(*build, cwd=root)
    assert (alone.code, "in the workspace" in alone.err, (root / ".evergold").exists()) == (0, False, False)
    evergold("cases", "list", cwd=root)
    assert "in the workspace as offline_dataset@v1" in evergold(*build, cwd=root).err
    ran = evergold("run", "offline_dataset@v1:qa", "--model", "recorded", "--metric", "contains", cwd=root)
    assert ran.code == 0, ran.err
    board = evergold("runs", "leaderboard", "--json", cwd=root).json
    assert [(one["dataset"], one["version"]) for one in board] == [("offline_dataset", "v1:qa")]
