"""kill -9 in the middle of a trajectory: the resumed run goes on at the step, and asks for no earlier one again."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.replays import long_case

EVERGOLD = str(Path(sys.executable).parent / "evergold")
STEPS, KILLED_AT = 8, 5
MODEL = '''
import json, os, signal

def act(case, messages):
    """Make the recorded calls one by one; the process is killed at one step, once."""
    done = sum(message["role"] == "assistant" for message in messages)
    with open("asked.jsonl", "a") as log:
        log.write(json.dumps([case.id, done]) + "\\n")
    if done == {killed_at} and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if done == {steps}:
        return "Done."
    return {{"output": "", "tool_calls": [{{"name": "look", "args": {{"page": done}}}}]}}
'''


def test_a_killed_trajectory_goes_on_at_its_step(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(MODEL.format(killed_at=KILLED_AT, steps=STEPS))
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        case = long_case("long", STEPS).model_copy(update={"dataset": "agents"})
        workspace.store.db.write(lambda connection: put_cases(connection, [case], Author(who="test", action="put")))
    env = {**os.environ, "EVERGOLD_HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)}
    words = ["run", "agents", "--model", "python:model:act", "--metric", "trajectory", "--replay"]

    killed = subprocess.run([EVERGOLD, *words], env=env, cwd=tmp_path, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL

    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        run = workspace.bench.page()[0][0]
    resumed = subprocess.run(
        [EVERGOLD, "run", "--resume", run.id, "--json"], env=env, cwd=tmp_path, capture_output=True, text=True
    )
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["means"][0]["value"] == 1.0
    asked = Counter(tuple(json.loads(line)) for line in (tmp_path / "asked.jsonl").read_text().splitlines())
    assert asked == {("long", step): 1 + (step == KILLED_AT) for step in range(STEPS + 1)}
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        (attempt,) = workspace.bench.attempts(run.id)
        assert attempt.metadata["replay"]["steps"] == STEPS + 1 and len(attempt.tool_calls) == STEPS
