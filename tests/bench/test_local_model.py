"""A real language model on this machine, as target and as judge, through the same code as any endpoint.

The model is small and weak. What is tested is that a real endpoint works: it answers, its tokens are counted, its
verdicts are scores or say why they are none.
"""

from pathlib import Path

import pytest

from evergold.model.run import MeasurementState, OnUnrecorded, Replay, RunSpec, RunStatus
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.patience import PATIENCE
from tests.replays import flight_case

TASKS = """\
name: Three small questions
tasks:
  - {id: france, name: France, input: "What is the capital of France? One word.", expected_output: Paris}
"""


@pytest.mark.release
def test_a_task_with_the_real_model_as_target_and_judge(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(TASKS)
    spec = RunSpec(
        dataset="small",
        model="local/smollm2",
        metrics=("correctness", "contains"),
        judge="local/smollm2",
        seed=1,
        concurrency=2,
        params={"max_tokens": 24, "temperature": 0, "timeout": PATIENCE},
    )
    with Workspace.open(Settings(home=tmp_path / "home", benchmark_datasets_dir=tmp_path)) as workspace:
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        attempts = {attempt.case_id: attempt for attempt in workspace.bench.attempts(run.id)}
    assert (run.status, run.done, run.failed, run.scored) == (RunStatus.COMPLETED, 1, 0, 1)
    assert "paris" in attempts["france"].output.lower()
    assert attempts["france"].measurements["contains"].value == 1.0
    assert all(0 < attempt.usage.output_tokens <= 24 for attempt in attempts.values())
    assert run.usage.cost == 0.0
    assert run.judge_usage.input_tokens > 0, attempts["france"].measurements["correctness"]
    assert run.provenance["self_judged"] is True
    for attempt in attempts.values():
        judged = attempt.measurements["correctness"]
        assert (judged.state is MeasurementState.SCORED) == (judged.value is not None)
        assert judged.value is not None or judged.reason


def test_another_local_model_is_unknown(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        spec = RunSpec(dataset="reasoning", model="local/gpt-5", metrics=("exact_match",))
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    assert run.status is RunStatus.FAILED and "unknown local model 'gpt-5'" in (run.error or "")


@pytest.mark.release
def test_a_recorded_conversation_is_replayed_with_the_real_model(tmp_path: Path) -> None:
    """The small model may call tools or not; it answers or is ended by a limit, with its tokens counted."""
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        case = flight_case("flight")
        workspace.store.db.write(lambda connection: put_cases(connection, [case], Author(who="test")))
        spec = RunSpec(
            dataset="live",
            model="local/smollm2",
            metrics=("trajectory", "steps"),
            replay=Replay(on_unrecorded=OnUnrecorded.ERROR, max_steps=2),
            params={"max_tokens": 16, "temperature": 0, "timeout": PATIENCE},
        )
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        (attempt,) = workspace.bench.attempts(run.id)
    assert (run.status, run.failed) == (RunStatus.COMPLETED, 0), attempt.error
    assert attempt.metadata["replay"]["ended"] in ("answered", "step_limit")
    assert 1 <= (attempt.measurements["steps"].value or 0) <= 2 and attempt.usage.output_tokens > 0
