"""What other tools export comes over whole: the sample files of `examples/elsewhere`, which their own packages wrote."""

import re
from pathlib import Path

import pytest

from evergold.cli import invoke
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace

SAMPLES = Path(__file__).parent.parent.parent / "examples" / "elsewhere"
ORDER = "Order 17 was delivered on Monday."
SCALES = ("stars=1:5", "quality=1:5", "tone=rude:friendly", "hallucination=1:0")
# Files of traces in the order in which they are named; the scores of the trace about boots; whether an answer is corrected.
TRACES = {
    "langfuse": (("observations.jsonl", "scores.jsonl"), {"helpful": 1.0, "stars": 0.75, "tone": 1.0}, True),
    "langsmith": (
        ("runs.jsonl", "feedback.jsonl"),
        {"helpful": 1.0, "user_score": 1.0, "stars": 0.75, "tone": 1.0},
        True,
    ),
    "phoenix": (
        ("spans.jsonl", "annotations.jsonl"),
        {"helpful": 1.0, "hallucination": 1.0, "correctness": 1.0},
        False,
    ),
    "mlflow": (("traces.jsonl",), {"helpful": 1.0, "relevance": 1.0}, True),
    "promptfoo": (("results.json",), {"javascript": 1.0, "facts": 1.0, "passed": 1.0}, False),
    "deepeval": (("test-run.json",), {"Exact Match": 1.0, "passed": 1.0}, False),
}
DATASETS = {
    "langfuse-dataset.jsonl": ("May I return boots?", "Yes, within 30 days."),
    "langsmith-dataset.jsonl": ("What is the fee?", "5 euros"),
    "phoenix-dataset.csv": ("What is the fee?", "5 euros"),
    "mlflow-dataset.jsonl": ("Where is my order 17?", ORDER),
    "promptfoo-tests.csv": ("What is the fee?", "5 euros"),
    "deepeval-goldens.json": ("What is the fee?", "5 euros"),
}


@pytest.mark.parametrize("tool", TRACES)
def test_traces_scores_and_corrections_come_over(tool: str, tmp_path: Path) -> None:
    files, scores, corrected = TRACES[tool]
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        report = workspace.intake.ingest([SAMPLES / f"{tool}-{name}" for name in files], scale=SCALES)
        assert (report.rejected, report.pending, report.corrections) == (0, 0, int(corrected)), report.problems
        page, _ = workspace.intake.page(TraceFilter(), limit=10)
        traces = {trace.input: workspace.intake.get(trace.id) for trace in page}
        boots, order = traces["May I return boots?"], traces["Where is my order 17?"]
        assert boots.output == "Yes, within 30 days."
        assert {score.name: score.value for score in boots.scores} == scores
        again = workspace.intake.ingest([SAMPLES / f"{tool}-{name}" for name in files], scale=SCALES)
        assert (again.traces, again.scores, again.rejected) == (0, 0, 0)
        workspace.live.curate()
        if corrected:
            cases = [one for one in workspace.cases.iterate(CaseFilter()) if one.provenance.trace_id == order.id]
            assert ORDER in [reference.text for case in cases if (reference := case.reference())]


@pytest.mark.parametrize("name", DATASETS)
def test_datasets_come_over(name: str, tmp_path: Path) -> None:
    question, answer = DATASETS[name]
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        cases = {case.input: case for case in workspace.cases.read_file(SAMPLES / name)}
        assert cases[question].expected == answer
        lone = [case for case in cases.values() if re.match(r'[{\["]', case.input)]
        assert lone == [], "a question is a text, not the JSON of one"


@pytest.mark.parametrize(
    ("more", "code", "said"), [(["--scale", "stars=5"], 2, "write NAME=BAD:GOOD"), ([], 1, "--scale NAME=BAD:GOOD")]
)
def test_scores_of_another_scale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: int, said: str
) -> None:
    files = [str(SAMPLES / f"langfuse-{name}.jsonl") for name in ("observations", "scores")]
    assert invoke(["--home", str(tmp_path), "ingest", *files, *more]) == code
    assert said in "".join(capsys.readouterr())
