"""Files that come through the browser are read like any file; what cannot be read is named."""

from pathlib import Path

import pytest

from evergold.errors import BadInput, TooLarge
from evergold.model.case_actions import Upload, UploadOf
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace

TASKS = """name: Small
description: One task.
tasks:
  - id: capital
    name: Capital
    input: What is the capital of Peru?
    expected_output: Lima
"""


def test_traces_and_cases_are_read_and_bad_lines_named(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        lines = '{"type": "trace", "id": "t1", "input": "hi"}\n{"type": "trace"}\n'
        taken = workspace.uploads.take(Upload(name="a.jsonl", of=UploadOf.TRACES, text=lines), "mira")
        assert (taken.stored, taken.rejected, len(taken.problems)) == (1, 1, 1)
        assert workspace.intake.count(TraceFilter()) == 1
        tasks = Upload(name="../small.yaml", of=UploadOf.CASES, text=TASKS, dataset="small")
        assert workspace.uploads.take(tasks, "mira").stored == 1
        assert workspace.cases.count(CaseFilter(dataset="small")) == 1
        with pytest.raises(TooLarge, match=r"^x\.jsonl has 200001 lines; at most 200000"):
            workspace.uploads.take(Upload(name="x.jsonl", of=UploadOf.TRACES, text="{}\n" * 200_001), "mira")
        with pytest.raises(BadInput, match=r"^x\.bin: none of the known formats") as refused:
            workspace.uploads.take(Upload(name="x.bin", of=UploadOf.CASES, text="\x01"), "mira")
        assert "--" not in refused.value.message  # the page has no options
        with pytest.raises(BadInput, match="none of the known formats") as refused:
            workspace.uploads.take(Upload(name="x.bin", of=UploadOf.TRACES, text="\x01"), "mira")
        assert "--" not in refused.value.message


def test_the_sample_comes_once_and_makes_cases(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        stored = workspace.uploads.sample().stored
        assert stored > 10
        assert workspace.uploads.sample().stored == 0
        assert workspace.cases.count(CaseFilter(dataset="live")) > 0
