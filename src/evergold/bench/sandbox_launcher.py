"""Run tests against an answer; this file runs inside the sandbox, as a program, with the standard library alone.

It reads one JSON order from its input, lowers its own limits and rights, runs each test in a child process and writes one
JSON line per test. A test has passed only if its process ended well and sent back a secret that is sent after its last line.
"""

import contextlib
import ctypes
import json
import linecache
import os
import resource
import secrets
import select
import signal
import sys
import time
import traceback
from typing import Any

LOOK_SECONDS = 0.05
PR_SET_DUMPABLE = 4
SHOWN = 4000
"""Bytes of output that are kept from the beginning and from the end."""
NOT_RUN = {"passed": False, "output": "", "reason": "not run: the tests before it used up the time limit"}


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    # Results go to a copy of stdout; the tests get other descriptors and cannot write results.
    results = os.dup(1)
    # Tests must not wait for input that never comes.
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    lower_rights(order)
    ends_at = time.monotonic() + order["seconds"]
    for number, test in enumerate(order["tests"]):
        late = time.monotonic() > ends_at
        result = NOT_RUN if late else run_test(order, test, ends_at, results)
        os.write(results, json.dumps({"test": number, **result}).encode() + b"\n")


def lower_rights(order: dict[str, Any]) -> None:
    """Set what bounds every process of the sandbox. A superuser is not bound by them, so the launcher becomes nobody."""
    if os.getuid() == 0 and order["user"]:
        os.setgroups([])
        os.setgid(order["user"])
        os.setuid(order["user"])
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else the kernel hides what the processes hold
    for limit, value in (
        (resource.RLIMIT_AS, order["memory"]),
        (resource.RLIMIT_FSIZE, order["files"]),
        (resource.RLIMIT_NPROC, order["processes"]),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(order["seconds"]) + 1),
    ):
        resource.setrlimit(limit, (value, value))


def run_test(order: dict[str, Any], test: str, ends_at: float, results: int) -> dict[str, Any]:
    """Run one test in a process of its own and end everything that it leaves behind."""
    # A secret for each test, which the code under test cannot know: `os._exit(0)` alone is no pass.
    done = secrets.token_hex(16)
    printed, output_end = os.pipe()
    ended, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(results)
        os.close(printed)
        os.close(ended)
        os.dup2(output_end, 1)
        os.dup2(output_end, 2)
        os.close(output_end)
        run_code(order, test, end, done)
    os.close(output_end)
    os.close(end)
    output = Printed(order["output"])
    reason = watch(child, printed, output, ends_at, order["memory"])
    status = finish(child)
    output.drain(printed)
    passed = reason is None and status == 0 and os.read(ended, 64) == done.encode()
    os.close(printed)
    os.close(ended)
    return {"passed": passed, "output": output.text(), "reason": None if passed else reason or exit_reason(status)}


def run_code(order: dict[str, Any], test: str, end: int, done: str) -> None:
    """Execute the answer, then the test, in one namespace; never returns."""
    names = {"__name__": "answer", "answer": order["answer"]}
    try:
        if order["execute"]:
            exec(compile(order["answer"], "answer.py", "exec"), names)
        exec(compile(test, "test.py", "exec"), names)
    except BaseException as problem:
        show_problem(problem, {"answer.py": order["answer"], "test.py": test})
        flush()
        os._exit(1)
    flush()
    # Sent behind the last line of the test; code that leaves early never comes here.
    os.write(end, done.encode())
    os._exit(0)


def show_problem(problem: BaseException, sources: dict[str, str]) -> None:
    """Print a traceback with the lines of the answer and of the test, which are no files, and without ours."""
    for name, text in sources.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    trace = problem.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    traceback.print_exception(type(problem), problem, trace)


def flush() -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        return


class Printed:
    """The beginning and the end of what a test prints, and how much it was."""

    def __init__(self, most: int) -> None:
        self.most, self.count, self.head, self.tail = most, 0, b"", b""

    def add(self, data: bytes) -> None:
        self.count += len(data)
        room = SHOWN - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:])[-SHOWN:] if len(data) > room else self.tail

    def drain(self, source: int) -> None:
        """Read what is left in the pipe, without waiting for a process that still holds it."""
        os.set_blocking(source, False)
        while self.count <= self.most:
            try:
                data = os.read(source, 65536)
            except BlockingIOError:
                return
            if not data:
                return
            self.add(data)

    def text(self) -> str:
        left_out = self.count - len(self.head) - len(self.tail)
        middle = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
        return (self.head + middle + self.tail).decode("utf-8", "replace")


def watch(child: int, source: int, output: Printed, ends_at: float, memory: int) -> str | None:
    """Read the output of a test until it ends; the reason where it had to be stopped."""
    open_source = True
    while True:
        if open_source and select.select([source], [], [], LOOK_SECONDS)[0]:
            data = os.read(source, 65536)
            open_source = bool(data)
            output.add(data)
        elif not open_source:
            time.sleep(LOOK_SECONDS / 10)
        # WNOWAIT leaves the child to be collected by `finish`.
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return None
        if time.monotonic() > ends_at:
            return "time limit reached"
        if output.count > output.most:
            return f"printed over {output.most} bytes"
        # RLIMIT_AS binds each process alone; the sum over all of them is watched here.
        if memory_in_use() > memory:
            return f"used over {memory // 2**20} MB of memory"


def memory_in_use() -> int:
    """Bytes that all processes of the sandbox hold together; pages that they share count once (the kernel's Pss)."""
    kilobytes = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/smaps_rollup") as file:
                    kilobytes += next((int(line.split()[1]) for line in file if line.startswith("Pss:")), 0)
            except OSError:
                continue
    return kilobytes * 1024


def finish(child: int) -> int:
    """End the child and everything it started; its wait status."""
    with contextlib.suppress(ProcessLookupError):
        # In its own pid namespace -1 means every process of the sandbox but the launcher.
        os.kill(-1, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return status


def exit_reason(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    code = os.WEXITSTATUS(status)
    return "left before the end of the test" if code == 0 else f"exit code {code}"


if __name__ == "__main__":
    main()
