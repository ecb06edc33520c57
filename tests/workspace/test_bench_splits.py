"""Runs over the split files of a build: the file itself, or the one its manifest names, unchanged."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace

RECORD = {
    "task_id": "q1",
    "task_type": "qa",
    "question": "When does it open?",
    "reference_answer": "At nine.",
    "rag_prompt": "Use the passages. When does it open?",
    "contexts": ["[1] The library opens at nine."],
    "sources": ["hours.md"],
    "retrieved": [{}],
    "citations": [],
    "answer_citations": [],
    "metadata": {},
}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    split = tmp_path / "out" / "qa_pairs.jsonl"
    split.parent.mkdir()
    split.write_text(json.dumps(RECORD) + "\n")
    entry = {"path": "out/qa_pairs.jsonl", "count": 1}
    manifest = {"version": "v3", "generated_at_utc": "2026-01-02T03:04:05Z", "splits": {"qa": entry}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    return tmp_path


@pytest.mark.parametrize(("name", "version"), [("manifest.json", "v3"), ("out/qa_pairs.jsonl", None)])
def test_a_run_names_the_version_and_hash_of_its_split(build: Path, name: str, version: str | None) -> None:
    spec = RunSpec(dataset=str(build / name), model="recorded", metrics=("citation_precision",))
    with Workspace.open(Settings(home=build / "home")) as workspace:
        run = workspace.bench.run_here(spec, dataset_type="qa")
        case = next(workspace.bench.cases(run.id))
    digest = hashlib.sha256((build / "out" / "qa_pairs.jsonl").read_bytes()).hexdigest()
    pinned: dict[str, Any] = {"name": "qa", "version": version or digest[:12], "content_hash": f"sha256:{digest}"}
    if version:
        pinned["build"] = {"dataset": None, "version": "v3", "split": "qa", "content_hash": None}
    assert run.provenance["dataset"] == pinned
    assert (case.prompt, case.expected) == (RECORD["rag_prompt"], "At nine.")


def test_what_is_not_there_is_said(build: Path) -> None:
    with Workspace.open(Settings(home=build / "home")) as workspace:
        for name, says in (("nowhere.jsonl", "no file"), ("manifest.json", "unknown split 'summaries'")):
            spec = RunSpec(dataset=str(build / name), model="recorded", metrics=("exact_match",))
            with pytest.raises(BadInput, match=says):
                workspace.bench.run_here(spec, dataset_type="summaries")


def own_split(folder: Path) -> Path:
    """A build of a split of one's own, made by the builder itself."""
    config, source = folder / "config.yaml", folder / "offline.jsonl"
    record = {
        "task_id": "r1",
        "task_type": "rewrite",
        "draft": "it open at nine",
        "expected_response": "It opens at nine.",
    }
    source.write_text(json.dumps(record) + "\n")
    fields = {
        "before": {"from": ["draft"], "required": True},
        "after": {"from": ["expected_response"], "required": True},
    }
    split = {"output": "data/rewrites.jsonl", "task_types": ["rewrite"], "fields": fields}
    section = {"offline_dataset": "offline.jsonl", "manifest": "data/manifest.json", "splits": {"rewrites": split}}
    config.write_text(json.dumps({"evaluation": {**section, "version": "v7"}}))
    with Workspace.open(Settings(home=folder / "home")) as workspace:
        workspace.rag.build(config, {})
    return folder / "data"


@pytest.mark.parametrize("name", ["manifest.json", "rewrites.jsonl"])
def test_a_split_of_ones_own_runs_by_its_name_and_has_the_version_of_its_manifest(tmp_path: Path, name: str) -> None:
    folder = own_split(tmp_path)
    spec = RunSpec(dataset=str(folder / name), model="recorded", metrics=("exact_match",))
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        run = workspace.bench.run_here(spec, dataset_type="rewrites")
        case = next(workspace.bench.cases(run.id))
    assert (case.id, case.input, case.expected) == ("r1", "it open at nine", "It opens at nine.")
    assert (run.provenance["dataset"]["name"], run.provenance["dataset"]["version"]) == ("rewrites", "v7")


def test_a_changed_split_file_claims_no_version(tmp_path: Path) -> None:
    path = own_split(tmp_path) / "rewrites.jsonl"
    path.write_text(path.read_text().replace("before", "question").replace("after", "reference_answer"))
    spec = RunSpec(dataset=str(path), model="recorded", metrics=("exact_match",))
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        run = workspace.bench.run_here(spec, dataset_type="rewrites")
    assert run.provenance["dataset"]["version"] == hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def test_a_split_file_whose_texts_are_unknown_is_refused_with_advice(tmp_path: Path) -> None:
    path = own_split(tmp_path) / "rewrites.jsonl"
    (path.parent / "manifest.json").unlink()
    spec = RunSpec(dataset=str(path), model="recorded", metrics=("exact_match",))
    with (
        Workspace.open(Settings(home=tmp_path / "home")) as workspace,
        pytest.raises(BadInput, match="mark both as required"),
    ):
        workspace.bench.run_here(spec, dataset_type="rewrites")
