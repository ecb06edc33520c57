"""Which files of `src/evergold` a request, a curation, a verdict, a build and a run enter, beside their goals.

A real server (`evergold serve`, in this process) is sent real requests over its socket. A profile function in all of its
threads notes the file of each function that is called; the bodies of modules do not count, no folder is left out. What is
followed is the second time of each: the first one loads modules and fills caches. Threads that look for work by themselves
are part of the path that they do, and of no other. A server works on a run in a process of its own; here it is worked on in
this one, as by `evergold run` and scripts.

`--json` prints it for programs, `--write PAGE` puts it between the markers of a page.
"""

import argparse
import http.client
import json
import os
import re
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import evergold
from evergold.cli.serve import listen, serve
from evergold.curate.background import Curator
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace
from evergold.workspace.live import Live
from perf.measuring import print_figure
from perf.otlp_load import bodies

ROOT = str(Path(evergold.__file__).parent) + os.sep
CURATOR, WRITER = "evergold-curator", "evergold-writer"
BACKGROUND = (CURATOR, "evergold-runs", "evergold-alerts", "evergold-watch")
STEP, LOOP = Live.step.__code__, Curator.start.__code__.co_filename
PATIENCE = 240.0
MOST_TRIES = 500
BEGIN, END = "<!-- paths: begin -->", "<!-- paths: end -->"
GOALS = {
    "an OTLP request, to committed rows": 25,
    "curation of one trace, in the background": 30,
    "one verdict over REST": 35,
    "freezing a dataset": 45,
    "a run of one case in an open workspace": 50,
}
REQUEST, CURATION, VERDICT, BUILD, RUN = GOALS


class Tracer:
    """Notes the files whose functions are called in the threads that `follows` names, in the order of their first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}
        self.follows: Callable[[str], bool] | None = None
        self.curating: FrameType | None = None  # what the loop of the curator's thread has called and waits for
        self.curated = threading.Event()
        self.disturbed = False  # the curator worked while something was followed, so the writer may have worked for it

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(ROOT) or code.co_name == "<module>":
            return
        thread = threading.current_thread().name
        if thread == CURATOR:
            self._watch_curator(frame, event, value)
        if event == "call" and self.follows is not None and self.follows(thread):
            self._note(code.co_filename)

    def is_step(self) -> bool:
        """Whether the curator curates; what it does at leisure, such as the index for searches, is no curation."""
        return self.curating is not None and self.curating.f_code is STEP

    def _watch_curator(self, frame: FrameType, event: str, value: Any) -> None:
        if event == "call" and self.curating is None and frame.f_code.co_filename != LOOP:
            self.curating, self.disturbed = frame, True
            if self.is_step() and self.follows is not None and self.follows(CURATOR):
                self._note(LOOP)
        elif event == "return" and frame is self.curating:
            if self.is_step() and value and value[0]:
                self.curated.set()
            self.curating = None

    def _note(self, path: str) -> None:
        self.files.setdefault(path.removeprefix(ROOT).replace(os.sep, "/"))

    def begin(self, follows: Callable[[str], bool]) -> None:
        self.files, self.disturbed = {}, self.curating is not None
        self.curated.clear()
        self.follows = follows

    def end(self) -> list[str]:
        self.follows = None
        return list(self.files)


class Client:
    """One connection to the server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def send(self, method: str, path: str, body: Any = None) -> Any:
        raw = isinstance(body, bytes)
        content = body if raw or body is None else json.dumps(body).encode()
        kind = {"content-type": "application/x-protobuf" if raw else "application/json"}
        self._connection.request(method, path, content, kind)
        reply = self._connection.getresponse()
        told = reply.read()
        if reply.status >= 300:
            raise SystemExit(f"{method} {path} was answered with {reply.status}: {told[:300]!r}")
        return told if raw else json.loads(told)


class Walk:
    """Does each thing once unseen, then followed."""

    def __init__(self, client: Client, tracer: Tracer) -> None:
        self._client, self._tracer = client, tracer
        self._seed = 0

    def measure(self) -> dict[str, list[str]]:
        paths = {REQUEST: self._follow(self._send_trace)}
        paths[CURATION] = self._follow_curation()
        paths[VERDICT] = self._follow(self._give_verdict)
        paths[BUILD] = self._follow(lambda _: self._client.send("POST", "/api/v1/builds", {"dataset": "live"}))
        return paths

    def _follow(self, work: Callable[[list[Any]], Any]) -> list[str]:
        """The files that `work` enters when it is not the first; it is given the cases there are."""
        for number in range(MOST_TRIES):
            self._wait_for_curator()
            # This request also makes the server read its tokens again where it is time to, which is no part of the next.
            cases = self._client.send("GET", "/api/v1/cases?dataset=live&limit=1")["cases"]
            self._tracer.begin(lambda thread: thread not in BACKGROUND)
            work(cases)
            files = self._tracer.end()
            if number and not self._tracer.disturbed:
                return files
        raise SystemExit(
            f"the curator was at work in each of {MOST_TRIES} tries; try again on a machine with less load"
        )

    def _wait_for_curator(self) -> None:
        """Until it has had nothing to do for a moment; it looks for work once a second."""
        idle = 0
        while idle < 15:
            threading.Event().wait(0.02)
            idle = idle + 1 if self._tracer.curating is None else 0

    def _send_trace(self, _: Sequence[Any] = ()) -> str:
        self._seed += 1
        trace_id, body = one_trace(self._seed)
        self._client.send("POST", "/v1/traces", body)
        return trace_id

    def _follow_curation(self) -> list[str]:
        """The second of two traces that get a score; the request that scores it is a path of its own."""
        for number in range(MOST_TRIES):
            trace_id = self._send_trace()
            self._client.send("POST", "/api/v1/scores", {"trace_id": trace_id, "name": "helpful", "value": 1.0})
            self._tracer.begin(lambda thread: self._tracer.is_step() and thread in (CURATOR, WRITER))
            is_late = self._tracer.disturbed  # the curator has begun without us
            curated = self._tracer.curated.wait(3)
            files = self._tracer.end()
            if number and curated and not is_late:
                return files
        raise SystemExit(f"none of {MOST_TRIES} traces was followed from the queue to its case")

    def _give_verdict(self, cases: list[Any]) -> None:
        (case,) = cases
        where = f"/api/v1/decisions?dataset=live&id={case['id']}"
        self._client.send("POST", where, {"version": case["version"], "verdict": "approve"})


def one_trace(seed: int) -> tuple[str, bytes]:
    """A request with a new trace of two spans of a model call."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    request = ExportTraceServiceRequest.FromString(bodies(1, 2, seed)[0])
    spans = request.resource_spans[0].scope_spans[0].spans
    del spans[2:]
    trace_id = secrets.token_bytes(16)
    for span in spans:
        span.trace_id = trace_id
    return trace_id.hex(), request.SerializeToString()


def measure() -> dict[str, list[str]]:
    """The files of each path. The server has the main thread, as a server does; the requests come from another one."""
    tracer = Tracer()
    outcome: list[dict[str, list[str]] | BaseException] = []

    def ask(port: int) -> None:
        try:
            outcome.append(Walk(Client(port), tracer).measure())
        except BaseException as problem:
            outcome.append(problem)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), server_port=0)
        listener = listen(settings)
        client = threading.Thread(target=ask, args=(listener.getsockname()[1],), name="client")
        client.start()  # before the profile function is set: what it calls is no part of a path
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        with suppress(KeyboardInterrupt):  # how a server ends
            serve(settings, listener, lambda: None)
        client.join()
        if isinstance(outcome[0], BaseException):
            raise outcome[0]
        return {**outcome[0], RUN: follow_run(settings, tracer)}


def follow_run(settings: Settings, tracer: Tracer) -> list[str]:
    """The files of the second run of one recorded case."""
    spec = RunSpec(dataset="live", model="recorded", metrics=("length",), limit=1)
    with Workspace.open(settings) as workspace:
        for _ in range(2):
            tracer.begin(lambda thread: True)
            run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            files = tracer.end()
    if run.done != 1:
        raise SystemExit(f"the run ended as {run.status}: {run.error}")
    return files


def describe(paths: dict[str, list[str]]) -> str:
    """Counts with their goals, then the files of each path, in Markdown."""
    lines = ["| path | files | goal |", "|---|---:|---:|"]
    lines += [f"| {name} | {len(files)} | {GOALS[name]} |" for name, files in paths.items()]
    for name, files in paths.items():
        lines += ["", f"**{name[0].upper()}{name[1:]}:**", ", ".join(f"`{file}`" for file in files)]
    return "\n".join(lines)


def counts_on(page: str) -> dict[str, int]:
    """The counts that a page shows between the markers."""
    shown = page.partition(BEGIN)[2].partition(END)[0]
    return {name: int(files) for name, files in re.findall(r"^\| (.+?) \| (\d+) \| \d+ \|$", shown, re.MULTILINE)}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m perf.paths", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the files of each path as JSON")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table and lists into this page")
    options = parser.parse_args(arguments)
    paths = measure()
    if options.json:
        print(json.dumps(paths, indent=2))
    elif options.write is None:
        print(describe(paths))
        print()
        for name, files in paths.items():
            print_figure(name, len(files), "files", GOALS[name])
    else:
        before, rest = options.write.read_text(encoding="utf-8").split(BEGIN)
        page = f"{before}{BEGIN}\n{describe(paths)}\n{END}{rest.partition(END)[2]}"
        options.write.write_text(page, encoding="utf-8")
    return int(any(len(files) > GOALS[name] for name, files in paths.items()))


if __name__ == "__main__":
    sys.exit(main())
