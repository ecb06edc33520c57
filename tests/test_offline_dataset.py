"""The specification's own words: its commands, its record schemas and its manifest, from generated file to checked splits."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.build.rag_builders import read_jsonl

ROOT = Path(__file__).parent.parent
SHARED: dict[str, type] = {
    "task_id": str,
    "task_type": str,
    "rag_prompt": str,
    "contexts": list,
    "sources": list,
    "retrieved": list,
    "citations": list,
    "metadata": dict,
}
QA: dict[str, type] = {**SHARED, "question": str, "reference_answer": str, "answer_citations": list}
SUMMARIES: dict[str, type] = {**SHARED, "instruction": str, "reference_summary": str}


def script(name: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / name), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project as the specification lays it out, with the sample records."""
    for path in ("configs/default.yaml", "examples/rag/offline_dataset.jsonl"):
        source = ROOT / path
        target = tmp_path / (path if path.startswith("configs") else "evaluation/datasets/offline_dataset.jsonl")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
    return tmp_path


def of_schema(record: dict[str, Any], schema: dict[str, type]) -> bool:
    return record.keys() == schema.keys() and all(isinstance(record[name], kind) for name, kind in schema.items())


@pytest.mark.slow
def test_build_and_check_by_their_script_names(project: Path) -> None:
    built = script("build_evaluation_dataset.py", "--config", "configs/default.yaml", folder=project)
    assert built.returncode == 0, built.stderr
    datasets = project / "evaluation" / "datasets"
    qa, summaries = read_jsonl(datasets / "qa_pairs.jsonl"), read_jsonl(datasets / "summaries.jsonl")
    assert all(of_schema(record, QA) for record in qa)
    assert all(of_schema(record, SUMMARIES) for record in summaries)
    manifest = json.loads((datasets / "manifest.json").read_bytes())
    assert manifest["version"] == "v1"
    assert manifest["source_offline_dataset"] == "evaluation/datasets/offline_dataset.jsonl"
    assert manifest["filters"] == {}
    assert manifest["splits"]["qa"]["path"] == "evaluation/datasets/qa_pairs.jsonl"
    assert manifest["splits"]["summaries"]["count"] == len(summaries) == 4
    assert manifest["excluded_task_types"] == {"citations": 1}
    for flags in ([], ["--json"], ["--sample", "1"]):
        assert script("check_processed_corpus.py", *flags, folder=project).returncode == 0
    again = script("build_evaluation_dataset.py", "--config", "configs/default.yaml", folder=project)
    assert (again.returncode, "--force" in again.stderr) == (2, True)


@pytest.mark.slow
def test_evaluation_by_its_script_name_knows_the_dataset_types() -> None:
    told = script("evaluate_models.py", "--help", folder=ROOT)
    assert "--dataset-type" in told.stdout


def test_the_generator_script_makes_what_the_builder_script_reads(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "default.yaml").write_bytes((ROOT / "configs" / "default.yaml").read_bytes())
    documents = ROOT / "src" / "evergold" / "samples" / "documents"
    config = ("--config", "configs/default.yaml")
    made = script("generate_offline_dataset.py", *config, "--documents", str(documents), folder=tmp_path)
    assert made.returncode == 0, made.stderr
    built = script("build_evaluation_dataset.py", *config, folder=tmp_path)
    assert built.returncode == 0, built.stderr
    folder = tmp_path / "evaluation" / "datasets"
    for name, schema in (("qa_pairs.jsonl", QA), ("summaries.jsonl", SUMMARIES)):
        records = read_jsonl(folder / name)
        assert len(records) >= 3
        for record in records:
            assert {key: type(record[key]) for key in schema} == schema
