"""Offline records and build specs with sensible defaults."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evergold.build.snapshot import FrozenSnapshot, SnapshotSpec, draft
from evergold.build.spec import RagSpec, load_spec
from evergold.formats.atomic import FileSet
from evergold.model.build import Build
from evergold.model.case import Case


def an_offline_record(task_id: str = "r1", **more: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "task_type": "qa",
        "instruction": "What is assumed?",
        "expected_response": "That the sea is flat [1].",
        "rag": {
            "prompt": "You are an assistant.",
            "contexts": ["The sea is flat.", "The moon is round."],
            "sources": ["a.txt#page=1", "b.txt#page=2"],
            "retrieved": [{"score": 0.5}, {"score": 0.25}],
            "citations": [{"marker": 1}],
        },
        "metadata": {"document": "a.txt"},
        **more,
    }


def offline_file(folder: Path, lines: Iterable[dict[str, Any] | bytes]) -> Path:
    """Records are written as JSON, bytes as they are."""
    path = folder / "offline.jsonl"
    encoded = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    path.write_bytes(b"".join(line + b"\n" for line in encoded))
    return path


def a_spec(folder: Path, lines: Iterable[dict[str, Any] | bytes] = (), **flags: Any) -> RagSpec:
    source = offline_file(folder, lines)
    outputs = {"qa": folder / "out" / "qa_pairs.jsonl", "summaries": folder / "out" / "summaries.jsonl"}
    given = {"offline_dataset": source, "manifest": folder / "out" / "manifest.json", "outputs": outputs, **flags}
    return load_spec(None, given)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def freeze(
    spec: SnapshotSpec,
    cases: Iterable[Case],
    parent: Build | None = None,
    earlier_splits: Mapping[str, str] | None = None,
) -> FrozenSnapshot:
    """Make a build and put its files in place, without a store."""
    frozen = draft(spec, cases, parent, earlier_splits)
    with FileSet() as files:
        for path, content in frozen.files.items():
            files.open(path).write(content)
    return frozen
