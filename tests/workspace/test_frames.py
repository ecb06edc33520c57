"""Traces, datasets and runs in other people's tools."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import NotFound
from evergold.model.run import Run, RunSpec, Usage
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_case


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        traces: list[dict[str, Any]] = [
            {
                "id": f"t{n}",
                "input": f"q{n}",
                "output": "<b>a</b>",
                "tags": ["x"],
                "started_at": f"2026-01-01T00:{n:02}:00Z",
            }
            for n in range(12)
        ]
        traces[0]["scores"] = [{"name": "s", "value": 0.5}]
        opened.intake.accept([Trace.model_validate(trace) for trace in traces])
        yield opened


def test_traces_keep_their_types(workspace: Workspace) -> None:
    table = workspace.traces.to_arrow()
    assert table.num_rows == 12
    assert str(table.schema.field("started_at").type) == "timestamp[us, tz=UTC]"
    assert table.column("tags").to_pylist()[0] == ["x"]
    assert table.column("id").to_pylist()[0] == "t11"
    assert '"name":"s","value":0.5' in table.column("scores").to_pylist()[-1]


def test_pandas_and_polars_have_the_same_rows(workspace: Workspace) -> None:
    pandas, polars = workspace.traces.to_pandas(), workspace.traces.to_polars()
    assert list(pandas["id"]) == polars["id"].to_list()
    assert pandas["started_at"].min().isoformat() == "2026-01-01T00:00:00+00:00"


def test_a_filter_narrows_and_an_empty_table_keeps_its_columns(workspace: Workspace) -> None:
    table = workspace.frames.traces(TraceFilter(name=("nobody",))).to_arrow()
    assert table.num_rows == 0
    assert "input" in table.column_names


def test_more_rows_than_a_page_come_once_each(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id=f"m{n}", input="q") for n in range(1100)])
    ids = workspace.traces.to_arrow().column("id").to_pylist()
    assert (len(ids), len(set(ids))) == (1112, 1112)


def test_a_dataset_and_a_run(workspace: Workspace) -> None:
    workspace.cases.put([a_case("c1", expected="yes", output="yes"), a_case("c2", expected="no", output="yes")])
    with pytest.raises(NotFound, match=r"unknown dataset 'lvie'; did you mean 'live'\?"):
        workspace.frames.dataset("lvie")
    dataset = workspace.frames.dataset("live").to_arrow()
    assert dataset.column("reference").to_pylist() == ["yes", "no"]
    assert dataset.column("reference_origin").to_pylist() == ["source", "source"]
    run = workspace.bench.work_on(
        workspace.bench.run_here(RunSpec(dataset="live", model="recorded", metrics=("exact_match",))).id
    )
    table = workspace.frames.run(run.id).to_arrow()
    assert dict(zip(table.column("case_id").to_pylist(), table.column("exact_match").to_pylist(), strict=True)) == {
        "c1": 1.0,
        "c2": 0.0,
    }


def test_notebooks_show_the_first_rows_and_escape_every_text(workspace: Workspace) -> None:
    html = workspace.traces._repr_html_()
    assert "the first 10" in html
    assert "&lt;b&gt;a&lt;/b&gt;" in html
    assert "<b>a" not in html
    assert '<span dir="auto" class="tex2jax_ignore mathjax_ignore"' in html  # $5 and $10 are prices and no formula
    case = a_case("c1", input="<script>", expected="x" * 5000)._repr_html_()
    assert "&lt;script&gt;" in case
    assert "(5000 characters)" in case


def test_a_run_shows_itself_in_a_notebook() -> None:
    spec = RunSpec(dataset="<live>", model="recorded", metrics=("correctness",))
    began = datetime(2026, 1, 5, 10, tzinfo=UTC)
    run = Run(id="r1", spec=spec, created_at=began, total=9, done=9, failed=1, usage=Usage(input_tokens=5))
    ended = run.model_copy(update={"started_at": began, "ended_at": began + timedelta(seconds=90)})
    shown = re.sub(r"<[^>]+>", "|", ended._repr_html_())
    assert "&lt;live&gt; against recorded, queued" in shown
    for words in ("9 of 9, 1 failed", "correctness", "90.0 s", "2026-01-05 10:00:00"):
        assert f"|{words}" in shown
    assert "judge" not in re.sub(r"<[^>]+>", "|", run._repr_html_())
