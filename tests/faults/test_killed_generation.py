"""kill -9 in the middle of a generation: what was answered is not asked again, and the dataset is what it would have been."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from threading import Event

from tests.openai_server import Body, Reply, ScriptedServer, json_reply, serving
from tests.patience import PATIENCE

EVERGOLD = str(Path(sys.executable).parent / "evergold")
DOCUMENTS = 30
CONCURRENCY = 4


def answer(body: Body) -> Reply:
    prompt = str(body["messages"][-1]["content"])
    if "one JSON object" in prompt:
        number = prompt.rpartition("Passage, from d")[2][:2]
        return json_reply({"questions": [f"What does document number {number} say about itself?"]})
    return Reply("It says what its number is [1].")


def command(output: str) -> list[str]:
    return [EVERGOLD, "generate", "--documents", "docs", "--config", "c.yaml", "--model", "openai/m", "--out", output]


def environment(server: ScriptedServer) -> dict[str, str]:
    return {**os.environ, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}


def wait_for_lines(path: Path, count: int) -> None:
    """A call may begin while the answer before it is on its way to the disk; the kill comes after that."""
    until = time.monotonic() + PATIENCE
    while path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < until


def test_a_killed_generation_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(DOCUMENTS):
        (tmp_path / "docs" / f"d{number:02}.txt").write_text(f"This is document {number:02}, and it says so plainly.")
    generation = {
        "tasks": {"qa": 1, "summaries": 0},
        "concurrency": CONCURRENCY,
        "citations": {"support": "none"},  # what is answered here is no answer
    }
    (tmp_path / "c.yaml").write_text(json.dumps({"generation": generation}))
    stuck = Event()
    arrived = 0

    def until_stuck(body: Body) -> Reply:
        nonlocal arrived
        arrived += 1
        return answer(body) if stuck.is_set() or arrived <= DOCUMENTS else Reply(hold=stuck)

    with serving(until_stuck) as server:
        process = subprocess.Popen(command("a.jsonl"), cwd=tmp_path, env=environment(server))
        server.wait_for(DOCUMENTS + CONCURRENCY)
        wait_for_lines(tmp_path / "a.calls.jsonl", DOCUMENTS)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        stuck.set()
        assert not (tmp_path / "a.jsonl").exists()
        logged = [json.loads(line) for line in (tmp_path / "a.calls.jsonl").read_bytes().splitlines()]
        finished = {json.dumps(line["request"]["messages"]) for line in logged}
        assert len(finished) == DOCUMENTS
        subprocess.run(command("a.jsonl"), cwd=tmp_path, env=environment(server), check=True)
        sent = Counter(json.dumps(body["messages"]) for body in server.requests)
        assert {sent[prompt] for prompt in finished} == {1}
        assert sent.total() == 2 * DOCUMENTS + CONCURRENCY
        subprocess.run(command("b.jsonl"), cwd=tmp_path, env=environment(server), check=True)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
