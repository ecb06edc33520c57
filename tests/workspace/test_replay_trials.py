"""pass^k over the trials of a replay: hand-computed from which trajectories pass."""

from pathlib import Path
from typing import Any

import pytest

from evergold.model.run import Replay, RunSpec
from evergold.report.summary import Options
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.replays import STEPS, flight_case
from tests.workspace import replayed_model

PASSING = {"always": (0, 1, 2), "twice": (0, 2), "never": ()}
"""Case → the trials in which the model makes the recorded changes."""


def act(messages: list[dict[str, Any]], case: Any, trial: int) -> Any:
    """Make the recorded calls; in a trial that fails, leave out the refund."""
    done = sum(message["role"] == "assistant" for message in messages) - 1
    steps = STEPS if trial in PASSING[case.id] else [STEPS[0], STEPS[1][:1]]
    if done >= len(steps):
        return "Done."
    return {"output": "", "tool_calls": [{"name": name, "args": args} for name, args in steps[done]]}


@pytest.mark.parametrize(
    ("reducer", "value"),
    [
        ("mean", (3 / 3 + 2 / 3 + 0) / 3),
        ("pass^1", (3 / 3 + 2 / 3 + 0) / 3),
        ("pass^2", (1 + 1 / 3 + 0) / 3),  # of "twice", one of the three pairs of trials passes whole
        ("pass^3", (1 + 0 + 0) / 3),
        ("pass@2", (1 + 1 + 0) / 3),  # no pair of "twice" fails whole
    ],
)
def test_pass_k_is_the_chance_that_k_trajectories_of_a_case_all_reach_the_end_state(
    tmp_path: Path, reducer: str, value: float
) -> None:
    replayed_model.act = act
    changing = {"changing_tools": ["cancel", "refund"]}
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.cases.put([flight_case(name, metadata=changing) for name in PASSING])
        spec = RunSpec(
            dataset="live",
            model="python:tests.workspace.replayed_model:act",
            metrics=("outcome",),
            judge="offline/lexical",
            trials=3,
            replay=Replay(),
        )
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        (outcome,) = workspace.judging.report(run.id, Options(reducer=reducer)).metrics
    assert outcome.mean.value == pytest.approx(value) and outcome.mean.n == 3
