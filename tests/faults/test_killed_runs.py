"""kill -9 in the middle of a run: what was finished is not sent again, and the results are complete."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from evergold.settings import Settings
from evergold.store import Store
from evergold.store.run.runs import RunStore
from tests.openai_server import Body, Reply, ScriptedServer, serving

TASKS = 60
ANSWERED = 24
CONCURRENCY = 10
EVERGOLD = str(Path(sys.executable).parent / "evergold")


def echo(body: Body) -> Reply:
    return Reply(str(body["messages"][-1]["content"]).replace("question", "answer"))


class Stuck:
    """A model that answers so many questions and then none, until it is `mended`.

    When as many as may be asked at once wait for it, all others are answered and stored: the instant of a kill is known.
    """

    def __init__(self, answers: int) -> None:
        self.mended = Event()
        self._left = answers

    def __call__(self, body: Body) -> Reply:
        self._left -= 1
        return echo(body) if self._left >= 0 or self.mended.is_set() else Reply(hold=self.mended)


def write_dataset(folder: Path, count: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tasks = [
        {"id": f"t{i}", "name": f"Task {i}", "input": f"question {i}", "expected_output": f"answer {i}"}
        for i in range(count)
    ]
    path = folder / "many.yaml"
    path.write_text(json.dumps({"name": "Many", "tasks": tasks}))
    return path


def environment(model: ScriptedServer, folder: Path, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "OPENAI_BASE_URL": model.url,
        "EVERGOLD_HOME": str(folder / "home"),
        "EVERGOLD_BENCHMARK_DATASETS_DIR": str(folder / "datasets"),
        **more,
    }


def evergold(*words: str, env: dict[str, str]) -> Any:
    done = subprocess.run([EVERGOLD, *words], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kill(process: "subprocess.Popen[Any]") -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@contextmanager
def server(env: dict[str, str]) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    command = [EVERGOLD, "serve", "--port", "0"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().split()[1]
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def call(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as reply:
        return json.loads(reply.read())


def follow(url: str, run_id: str) -> dict[str, Any]:
    """Read a run's events until it ended."""
    with urllib.request.urlopen(f"{url}/api/v1/benchmarks/runs/{run_id}/events", timeout=300) as reply:
        lines = [line for line in reply.read().decode().splitlines() if line.startswith("data: ")]
    ended: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))
    return ended


def holder(database_url: str) -> int:
    """The process that works on the only run that goes on."""
    store = Store.open(Settings(database_url=database_url))
    ((_, owner, _),) = RunStore(store.db).claimable()
    store.close()
    assert owner is not None
    return int(owner.split("/")[-3])


def check_sent(model: ScriptedServer) -> None:
    """Each question once; only the calls that were under way at the kill went out a second time."""
    sent = Counter(model.prompts())
    assert len(sent) == TASKS
    assert Counter(sent.values()) == {1: TASKS - CONCURRENCY, 2: CONCURRENCY}


@pytest.mark.campaign
def test_a_run_on_the_command_line(tmp_path: Path) -> None:
    write_dataset(tmp_path / "datasets", TASKS)
    stuck = Stuck(ANSWERED)
    with serving(stuck) as model:
        env = environment(model, tmp_path)
        words = ["run", "many", "--model", "openai/m", "--metric", "exact_match", "--concurrency", str(CONCURRENCY)]
        process = subprocess.Popen([EVERGOLD, *words], env=env)
        model.wait_for(ANSWERED + CONCURRENCY)
        kill(process)
        stuck.mended.set()
        listed = evergold("runs", "list", "--json", env=env)["runs"][0]
        assert listed["status"] == "failed", "a dead process leaves no run in 'running'"
        assert f"--resume {listed['id']}" in listed["error"]
        run = evergold("run", "--resume", listed["id"], "--json", env=env)
        assert (run["run"]["status"], run["run"]["done"], run["run"]["failed"]) == ("completed", TASKS, 0)
        assert (run["means"][0]["value"], run["means"][0]["n"]) == (1.0, TASKS)
        check_sent(model)


@pytest.mark.slow
def test_a_run_of_a_server_goes_on_when_the_server_is_back(tmp_path: Path) -> None:
    write_dataset(tmp_path / "datasets", TASKS)
    stuck = Stuck(ANSWERED)
    with serving(stuck) as model:
        env = environment(model, tmp_path)
        with server(env) as (process, url):
            spec = {"dataset": "many", "model": "openai/m", "metrics": ["exact_match"], "concurrency": CONCURRENCY}
            run_id = call(f"{url}/api/v1/benchmarks/runs", spec)["id"]
            model.wait_for(ANSWERED + CONCURRENCY)
            kill(process)
        stuck.mended.set()
        with server(env) as (_, url):
            run = follow(url, run_id)
        assert (run["status"], run["done"], run["scored"]) == ("completed", TASKS, TASKS)
        check_sent(model)


@pytest.mark.slow
def test_two_servers_on_one_postgresql_never_run_one_twice(tmp_path: Path, postgres_url: str) -> None:
    write_dataset(tmp_path / "datasets", TASKS)
    stuck = Stuck(3 * TASKS + ANSWERED)
    with serving(stuck) as model:
        env = environment(model, tmp_path, EVERGOLD_DATABASE_URL=postgres_url)
        with server(env) as (first, url), server(env) as (second, other):
            spec = {"dataset": "many", "metrics": ["exact_match"], "concurrency": CONCURRENCY, "cache": False}
            runs = [call(f"{url}/api/v1/benchmarks/runs", {**spec, "model": f"openai/m{i}"})["id"] for i in range(3)]
            ended = [follow(other, run_id) for run_id in runs]
            assert [(run["status"], run["done"]) for run in ended] == [("completed", TASKS)] * 3
            sent = Counter((body["model"], body["messages"][-1]["content"]) for body in model.requests)
            assert set(sent.values()) == {1} and len(sent) == 3 * TASKS
            model.requests.clear()
            run_id = call(f"{url}/api/v1/benchmarks/runs", {**spec, "model": "openai/m"})["id"]
            model.wait_for(ANSWERED + CONCURRENCY)
            victim, alive = (first, other) if holder(postgres_url) == first.pid else (second, url)
            kill(victim)
            stuck.mended.set()
            assert follow(alive, run_id)["status"] == "completed"
            check_sent(model)
