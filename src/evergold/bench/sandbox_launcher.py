"""Run tests or an answer inside a sandbox; this file runs there as its first process, with the standard library alone.

It reads one JSON order from its input, lowers its own limits and rights, does each part of the order in a child process and
writes one JSON line per part. As the first process it cannot be killed or stopped from inside, and it is not dumpable, so
nothing inside can look into it. Orders: `answer` runs the answer's code for tests that reach it over a socket; `tests` runs
such tests, so the process that decides never runs a line of the answer; `together` runs both in one process, for tests that
need it; `program` runs the answer with an input and reports what it printed; `command` runs a command over files.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

TYPE_CHECKING = False  # `typing` alone takes longer to import than the rest
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LOOK_SECONDS = 0.01
FREE_SOCKETS, SOCKET_BYTES = 16, 4 * 2**20  # what a socket may hold is in no count of the kernel
PR_SET_DUMPABLE = 4
SHOWN = 4000
"""Bytes of output that are kept from the beginning and from the end."""
INODE_BYTES = 1024
PAGE = resource.getpagesize()
NOT_RUN = {"passed": False, "output": "", "reason": "not run: the tests before it used up the time limit"}
WORK = "/tmp/work"
SOURCES: dict[str, str] = {}  # the texts that this process executes, by the names that a traceback has for them
STUB = """import sys
sys.path.append("/")
from boundary import connect_module
sys.path.remove("/")
connect_module(globals())
"""


def main() -> None:
    order = json.loads(sys.stdin.buffer.read())
    # Results go to a copy of stdout; the parts get other descriptors and cannot write results.
    results = os.dup(1)
    # Code must not wait for input that never comes.
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    lower_rights(order)
    # What `site` does, whose import takes longer than a test.
    sys.path += order["packages"]
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
    # Loaded once, and not in the process of each part.
    sys.path.append("/")
    import boundary  # type: ignore[import-not-found]

    sys.path.remove("/")
    order["boundary"] = boundary
    ends_at = time.monotonic() + order["seconds"]
    for number in range(len(order["parts"])):
        late = time.monotonic() > ends_at
        result = NOT_RUN if late else run_part(order, number, ends_at, results)
        os.write(results, json.dumps({"test": number, **result}).encode() + b"\n")


def lower_rights(order: dict[str, Any]) -> None:
    """Set what bounds every process of the sandbox. A superuser is not bound by them, so the launcher becomes nobody."""
    if os.getuid() == 0 and order["user"]:
        os.setgroups([])
        os.setgid(order["user"])
        os.setuid(order["user"])
    for limit, value in (
        (resource.RLIMIT_AS, order["address_space"]),
        (resource.RLIMIT_DATA, order["memory"]),
        (resource.RLIMIT_FSIZE, order["files"]),
        (resource.RLIMIT_NPROC, order["processes"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(order["seconds"]) + 1),
    ):
        resource.setrlimit(limit, (value, value))
    set_dumpable(0)


def set_dumpable(value: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, value, 0, 0, 0)


def run_part(order: dict[str, Any], number: int, ends_at: float, results: int) -> dict[str, Any]:
    """Run one part in a process of its own and end everything that it leaves behind."""
    kind = order["order"]
    # A secret for each part: a process that leaves early, even well, has not come to its end.
    done = os.urandom(16)
    printed, output_end = os.pipe()
    ended, end = os.pipe()
    errors = os.open("/tmp", os.O_TMPFILE | os.O_RDWR) if kind == "program" else None
    # Taken out of the list: once it is closed, its number may be that of a pipe.
    link = order["links"].pop(0) if order["links"] else None
    child = os.fork()
    if child == 0:
        for one in (results, printed, ended, *order["links"]):
            os.close(one)
        os.dup2(output_end, 1)
        os.dup2(output_end if errors is None else errors, 2)
        os.close(output_end)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        if kind != "tests":
            set_dumpable(1)  # else the kernel hides what the processes hold
        try:
            PARTS[kind](order, number, link, lambda: os.write(end, done))
        except BaseException as problem:
            show_problem(problem)
            flush()
        os._exit(1)
    os.close(output_end)
    os.close(end)
    output = bytearray()
    # The answer's process has no end of its own: it ends when the tests hang up.
    hang_up = link if kind == "answer" else None
    if link is not None and hang_up is None:
        os.close(link)
    reason = watch(child, printed, hang_up, output, ends_at, order)
    left = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    status = finish(child)
    drain(printed, output, order["output"])
    passed = reason is None and (not left if kind == "answer" else status == 0 and os.read(ended, 64) == done)
    if os.WIFSIGNALED(status):
        ending = f"ended by {signal.Signals(os.WTERMSIG(status)).name}"
    else:
        code = os.WEXITSTATUS(status)
        ending = "left before the end of the test" if code == 0 else f"exit code {code}"
    shown = cut_middle(output, order["shown"])
    result = {"passed": passed, "output": shown, "reason": None if passed else reason or ending}
    if errors is not None:
        result["errors"] = os.pread(errors, SHOWN, max(0, os.fstat(errors).st_size - SHOWN)).decode("utf-8", "replace")
    for one in (printed, ended, errors, hang_up):
        if one is not None:
            os.close(one)
    return result


def run_answer(order: dict[str, Any], number: int, link: int, finish: Callable[[], Any]) -> None:
    """Execute the answer and serve its names to the tests."""
    if order["given"]:
        write_files(order["given"])
        sys.path.insert(0, WORK)
    order["boundary"].serve_answer(link, order["answer"])
    while True:
        signal.pause()  # the launcher ends this process; one that ends before has left early


def run_test(order: dict[str, Any], number: int, link: int | None, finish: Callable[[], Any]) -> None:
    """Execute a test with the answer's names, which stand for objects of the other process."""
    test = order["parts"][number]
    names = order["boundary"].make_module("tests")
    names["answer"] = order["text"]
    if link is not None:
        order["boundary"].connect(link, test, names, "\n".join(order["parts"]))
    run_code({"test.py": test}, names, finish)


def run_together(order: dict[str, Any], number: int, link: int | None, finish: Callable[[], Any]) -> None:
    """Execute the answer, then the test, in one process and one namespace."""
    names = order["boundary"].make_module("answer")
    names["answer"] = order["answer"]
    run_code({"answer.py": order["answer"], "test.py": order["parts"][number]}, names, finish)


def run_code(sources: dict[str, str], names: dict[str, Any], finish: Callable[[], Any]) -> None:
    """Execute texts one after the other in one namespace; never returns."""
    SOURCES.update(sources)
    for name, text in sources.items():
        exec(compile(text, name, "exec", dont_inherit=True), names)
    flush()
    # Sent behind the last line of the test; code that leaves early never comes here.
    finish()
    os._exit(0)


def run_command(order: dict[str, Any], number: int, link: int | None, finish: Callable[[], Any]) -> None:
    """Become a command over the files of a test; with a link the answer's file is a stub that calls the other process."""
    part = order["parts"][number]
    write_files({**part["files"], part["answer"]: STUB if link is not None else order["answer"]})
    environment = {"PATH": os.environ["PATH"], "HOME": "/tmp", "PYTHONPATH": f"{WORK}:/site"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    if link is not None:
        os.set_inheritable(link, True)
        environment["EVERGOLD_ANSWER"] = str(link)
        if "pytest" not in part["command"][:3]:  # which catches all that a test raises
            environment["EVERGOLD_SCRIPT"] = "1"
    finish()  # its exit code decides
    command = python_command(part["command"])
    os.execvpe(command[0], command, environment)


def write_files(files: dict[str, str]) -> None:
    """Write files into the folder of work and go there."""
    for name, text in files.items():
        path = os.path.join(WORK, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    os.chdir(WORK)


def run_program(order: dict[str, Any], number: int, link: int | None, finish: Callable[[], Any]) -> None:
    """Become the answer's program with an input; what it prints is compared outside."""
    source = "/tmp/answer" + order["suffix"]
    with open(source, "w", encoding="utf-8") as file:
        file.write(order["answer"])
    given = os.open("/tmp", os.O_TMPFILE | os.O_RDWR)
    with open(given, "wb", closefd=False) as file:
        file.write(order["parts"][number].encode("utf-8", "surrogatepass"))
    os.lseek(given, 0, os.SEEK_SET)
    os.dup2(given, 0)
    finish()
    command = python_command([*order["command"], source])
    os.execvp(command[0], command)


def python_command(command: list[str]) -> list[str]:
    """A command whose Python, or pytest, is this interpreter."""
    if command[0] in ("python", "python3"):
        return [sys.executable, *command[1:]]
    return [sys.executable, "-m", *command] if command[0] == "pytest" else command


PARTS: dict[str, Callable[..., None]] = {
    "answer": run_answer,
    "tests": run_test,
    "together": run_together,
    "command": run_command,
    "program": run_program,
}


def show_problem(problem: BaseException) -> None:
    """Print a traceback with the lines of the answer and of the test, which are no files, and without ours."""
    import linecache
    import traceback

    for name, text in SOURCES.items():
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    shown = traceback.TracebackException.from_exception(problem)
    one: traceback.TracebackException | None = shown
    while one is not None:
        one.stack = traceback.StackSummary.from_list(
            [frame for frame in one.stack if frame.filename not in ("/launcher.py", "/boundary.py")]
        )
        one = one.__cause__ or one.__context__
    print("".join(shown.format()), file=sys.stderr, end="")


def flush() -> None:
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        return


def drain(source: int, printed: bytearray, most: int) -> None:
    """Read what is left in a pipe, without waiting for a process that still holds it."""
    os.set_blocking(source, False)
    with contextlib.suppress(BlockingIOError):
        while len(printed) <= most and (data := os.read(source, 65536)):
            printed += data


def cut_middle(printed: bytearray, shown: int) -> str:
    """The beginning and the end of what a part printed, `shown` bytes each, and how much stood between them."""
    left_out = len(printed) - 2 * shown
    if left_out > 0:
        printed[shown:-shown] = f"\n… {left_out} bytes left out …\n".encode()
    return printed.decode("utf-8", "replace")


def watch(
    child: int, source: int, hang_up: int | None, output: bytearray, ends_at: float, order: dict[str, Any]
) -> str | None:
    """Read the output of a part until it ends or the tests hang up; the reason where it had to be stopped."""
    ended = os.pidfd_open(child)
    waited = select.poll()
    waited.register(source, select.POLLIN)
    waited.register(ended, select.POLLIN)
    if hang_up is not None:
        waited.register(hang_up, select.POLLRDHUP)
    try:
        while True:
            ready = [descriptor for descriptor, _ in waited.poll(LOOK_SECONDS * 1000)]
            if source in ready:
                data = os.read(source, 65536)
                output += data
                if not data:
                    waited.unregister(source)
            if ended in ready or hang_up in ready:
                return None
            if time.monotonic() > ends_at:
                return "time limit reached"
            if len(output) > order["output"]:
                return f"printed over {order['output']} bytes"
            # RLIMIT_AS binds each process alone; the sum over all of them is watched here.
            if is_over(order["memory"]):
                return f"used over {order['memory'] // 2**20} MB of memory"
    finally:
        os.close(ended)


def is_over(memory: int) -> bool:
    """Whether the sandbox holds more than these bytes. What is quick to read counts shared pages for each process, and no
    page tables; so where that is near, all processes are stopped and counted exactly."""
    total = files_in_use()
    for name in processes():
        with contextlib.suppress(OSError), open(f"/proc/{name}/statm", "rb") as file:
            total += int(file.read().split()[1]) * PAGE
    if total * 5 < memory * 4:
        return False
    total = files_in_use()
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGSTOP)
        for name in processes():
            with contextlib.suppress(OSError):
                total += field_bytes(f"/proc/{name}/status", "VmPTE:")
                try:  # pages that processes share count once
                    total += field_bytes(f"/proc/{name}/smaps_rollup", "Pss:")
                except OSError:  # of a process that is not dumpable
                    total += field_bytes(f"/proc/{name}/status", "RssAnon:")
        os.kill(-1, signal.SIGCONT)
    return total > memory


def processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def files_in_use() -> int:
    """Bytes of the files and, as they may be, of the sockets."""
    disk = os.statvfs("/tmp")
    with open("/proc/net/sockstat") as file:
        sockets = int(file.readline().split()[-1])
    held = (disk.f_blocks - disk.f_bfree) * disk.f_frsize + (disk.f_files - disk.f_ffree) * INODE_BYTES
    return held + max(0, sockets - FREE_SOCKETS) * SOCKET_BYTES


def field_bytes(path: str, field: str) -> int:
    with open(path) as file:
        return next((int(line.split()[1]) * 1024 for line in file if line.startswith(field)), 0)


def finish(child: int) -> int:
    """End the child and everything it started, and collect them; the child's wait status."""
    own_status = 0
    while True:
        with contextlib.suppress(ProcessLookupError):
            # In its own pid namespace -1 means every process of the sandbox but the launcher.
            os.kill(-1, signal.SIGKILL)
        try:
            ended, status = os.wait()
        except ChildProcessError:
            return own_status
        own_status = status if ended == child else own_status


if __name__ == "__main__":
    main()
