"""Run tests against the code of a model inside bubblewrap, where it can reach nothing and use up nothing.

No network, no home folder, no environment, a small disk in memory: the sandbox sees the system's programs, this
interpreter's standard library (as `/python`) and an empty `/tmp`, each but the last read-only. Limits on memory,
processes, files, output and time are set by the launcher (`sandbox_launcher.py`); the time limit is enforced from
outside as well.
"""

import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from pydantic import BaseModel, ValidationError

from evergold.errors import EvergoldError

LAUNCHER = Path(__file__).with_name("sandbox_launcher.py")
GRACE_SECONDS = 2.0
"""How long the launcher may take to start and to end after the time limit of the tests."""
EMPTIED_SECONDS = 10.0
"""How long the kernel may take to end the processes that a sandbox leaves behind."""
MOST_RESULT_BYTES = 4 * 2**20
FIRST_USER, USERS = 61_184, 4_000
"""Users that nobody is: a superuser's sandbox runs as one of them, so that the limit on processes binds it."""
SYSTEM = ("usr", "bin", "lib", "lib64")


@dataclass(frozen=True)
class Bounds:
    """What the tests of one answer may use together."""

    seconds: float = 8.0
    memory: int = 512 * 2**20
    files: int = 64 * 2**20
    output: int = 10 * 2**20
    processes: int = 32


class TestResult(BaseModel, frozen=True):
    """How one test ended: what it printed, and why it did not pass."""

    __test__ = False

    test: int
    passed: bool
    output: str
    reason: str | None


def missing_sandbox() -> str | None:
    """Why tests cannot be run on this machine; None where they can."""
    if not sys.platform.startswith("linux"):
        return "code of models runs only on Linux, in the sandbox of bubblewrap"
    if shutil.which("bwrap") is None:
        return "code of models runs only in a sandbox: install bubblewrap (Debian: apt install bubblewrap)"
    return None


def run_tests(answer: str, tests: tuple[str, ...], *, execute: bool, bounds: Bounds) -> list[TestResult]:
    """Run each test after the answer; `execute` says whether the answer is Python to be run or only text to be tested.

    Raises `EvergoldError` where the sandbox itself does not work. A test whose result never came has not passed.
    """
    # Two runs at once must not share a user: the limit on processes is counted per user.
    user = FIRST_USER + os.getpid() % USERS
    order = orjson.dumps({"answer": answer, "tests": tests, "execute": execute, "user": user, **asdict(bounds)})
    written, problem = _run(order, bounds.seconds + GRACE_SECONDS)
    # Without a line of result, a complaint of bubblewrap means that nothing was run at all.
    if not written and problem.startswith("bwrap:"):
        raise EvergoldError(f"the sandbox does not start: {problem.strip()}")
    results = {result.test: result for line in written.splitlines() for result in _read(line)}
    lost = "the sandbox ended before the test did"
    return [
        results.get(number) or TestResult(test=number, passed=False, output="", reason=lost)
        for number in range(len(tests))
    ]


def _run(order: bytes, seconds: float) -> tuple[bytes, str]:
    """What the launcher wrote, and what the sandbox complained of. Nothing of it outlives this call."""
    with LAUNCHER.open("rb") as launcher, tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as problems:
        started, start = os.pipe()
        process = subprocess.Popen(
            _command(launcher.fileno(), start),
            stdin=subprocess.PIPE,
            stdout=written,
            stderr=problems,
            pass_fds=[launcher.fileno(), start],
            # Nothing of the environment goes in: it may hold keys.
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
        os.close(start)
        first = _first_process(started)
        try:
            process.communicate(order, timeout=seconds)
        except subprocess.TimeoutExpired:
            pass  # what was written until now counts
        finally:
            _end(process, first)
        written.seek(0)
        problems.seek(0)
        return written.read(MOST_RESULT_BYTES), problems.read(2000).decode("utf-8", "replace")


def _first_process(started: int) -> int | None:
    """A handle of the first process inside, whose id the sandbox writes to `started`; None where it never began."""
    with open(started, "rb") as file:
        written = file.read()
    try:
        return os.pidfd_open(orjson.loads(written)["child-pid"])
    except (orjson.JSONDecodeError, KeyError, ProcessLookupError):
        return None


def _end(process: "subprocess.Popen[bytes]", first: int | None) -> None:
    """End the sandbox and wait for everything inside it."""
    # The launcher is its own session, so killing the group ends it and all its children.
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if first is not None:
        # bwrap leaves when the launcher does. The kernel then ends the others, and the first process after all of them.
        try:
            select.select([first], [], [], EMPTIED_SECONDS)
        finally:
            os.close(first)


def _read(line: bytes) -> list[TestResult]:
    try:
        return [TestResult.model_validate_json(line)]
    except ValidationError:
        return []


def _command(launcher: int, started: int) -> list[str]:
    python, binds = _interpreter()
    system = [part for name in SYSTEM for part in _system_folder(name)]
    # A superuser needs no user namespace, and may be in a container that forbids one.
    user = [] if os.getuid() == 0 else ["--unshare-user", "--disable-userns"]
    return [
        *("bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", *user),
        *("--info-fd", str(started), "--die-with-parent", "--new-session"),
        *("--clearenv", "--setenv", "PATH", "/usr/bin:/bin"),
        *(*system, *binds, "--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(Bounds.files), "--tmpfs", "/tmp", "--chdir", "/tmp"),
        *("--perms", "0444", "--ro-bind-data", str(launcher), "/launcher.py"),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--", python, "-I", "-B", "/launcher.py"),
    ]


def _interpreter() -> tuple[str, list[str]]:
    """This interpreter's path inside, and what makes it visible there."""
    base = Path(sys.base_prefix).resolve()
    name = f"bin/python{sys.version_info.major}.{sys.version_info.minor}"
    if base == Path("/usr"):
        return f"/usr/{name}", []
    return f"/python/{name}", ["--ro-bind", str(base), "/python"]


def _system_folder(name: str) -> list[str]:
    """A folder of the system as it is here: a folder, a link into `/usr`, or nothing."""
    path = Path("/") / name
    if path.is_symlink():
        return ["--symlink", str(path.readlink()), str(path)]
    return ["--ro-bind", str(path), str(path)] if path.is_dir() else []
