"""Run the code of a model inside bubblewrap, where it can reach nothing, use up nothing and decide nothing.

The answer and the tests run in two sandboxes that share one socket for each test (`sandbox_boundary.py`), so the process that
says whether a test passed never runs a line of the answer. Each sees the system's programs, this interpreter's standard
library (as `/python`) and an empty `/tmp`, each but the last read-only: no network, no home folder, no environment. A filter
of system calls forbids new namespaces, tracing, memory files and mounts. Memory is bounded by a cgroup where this process
may make one, and watched by the launcher everywhere; processes, files, output and time by the launcher
(`sandbox_launcher.py`), and time from outside as well.
"""

import ast
import builtins
import functools
import importlib.util
import itertools
import os
import platform
import py_compile
import re
import select
import shutil
import signal
import site
import socket
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from evergold.errors import EvergoldError
from evergold.model.case import PROGRAM_ENDINGS, CodeTests

GRACE_SECONDS = 2.0
"""How long the launcher may take to start and to end after the time limit of the tests."""
EMPTIED_SECONDS = 10.0
"""How long the kernel may take to end the processes that a sandbox leaves behind."""
MOST_RESULT_BYTES = 4 * 2**20
LAUNCHER_BYTES = 48 * 2**20  # memory of the launcher itself, beside that of the code
SHOWN = 4000
LOST = "the sandbox ended before the test did"
FIRST_USER, USERS = 61_184, 4_000
"""Users that nobody is: a superuser's sandbox runs as one of them, so that the limit on processes binds it."""
SYSTEM = ("/usr", "/bin", "/lib", "/lib64")
PATH = "/usr/bin:/bin"
PROGRAMS = {
    "python": ("python3", "-I", "-B"),
    "javascript": ("node",),
}  # language → the command; others are called as it
NAMESPACES = 0x7E020080  # flags of clone: any new namespace
ALLOW, IGNORE, REFUSE, UNKNOWN, KILL = 0x7FFF0000, 0x00050000, 0x00050001, 0x00050026, 0x80000000
# Architecture, number of clone and of setsockopt, then of: memfd_create, memfd_secret, unshare, setns, ptrace,
# process_vm_readv and _writev, pidfd_getfd, shmget, msgget, semget, userfaultfd, io_uring_setup, bpf, perf_event_open,
# keyctl, add_key, request_key, mount, umount2, pivot_root, open_tree, move_mount, fsopen, fsmount.
CALLS: dict[str, tuple[int, int, int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, 56, 54, (
        319, 447, 272, 308, 101, 310, 311, 438, 29, 68, 64, 323, 425, 321, 298, 250, 248, 249,
        165, 166, 155, 428, 429, 430, 432,
    )),
    "aarch64": (0xC00000B7, 220, 208, (
        279, 447, 97, 268, 117, 270, 271, 438, 194, 186, 190, 282, 425, 280, 241, 219, 217, 218,
        40, 39, 41, 428, 429, 430, 432,
    )),
}  # fmt: skip


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What a test that must be in the process of the answer uses: it changes that process, looks into it, runs at the same time, or
# runs what the answer returned.
ITS_MODULES = words(
    "builtins concurrent ctypes dis gc marshal multiprocessing np numpy pandas pd pickle shelve tempfile "
    "threading weakref"
)
ITS_FUNCTIONS = words(
    "as_completed AsyncMock catch_warnings chdir create_task currentframe environ eval exec gather getcontext "
    "getmembers getsource getsourcelines globals modules open patch putenv seed setrecursionlimit settrace "
    "simplefilter stack stdin TaskGroup wait_for warns argv"
)
ITS_METHODS = words("assertLogs assertNoLogs assertWarns assertWarnsRegex write_bytes write_text __code__")
ITS_FIXTURES = words("capfd caplog mocker monkeypatch recwarn tmp_path tmp_path_factory tmpdir")
_numbers = itertools.count()


@dataclass(frozen=True)
class Bounds:
    """What the tests of one answer may use together; the answer and the tests each."""

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
    errors: str = ""


def missing_sandbox(tests: CodeTests | None = None) -> str | None:
    """Why tests cannot be run on this machine; None where they can."""
    if not sys.platform.startswith("linux") or platform.machine() not in CALLS:
        return "code of models runs only on Linux (x86_64, aarch64), in the sandbox of bubblewrap"
    if shutil.which("bwrap") is None:
        return "code of models runs only in a sandbox: install bubblewrap (Debian: apt install bubblewrap)"
    needed = tests.command[0] if tests and tests.command else None
    if tests and tests.programs:
        needed = PROGRAMS.get(tests.runs_as, (tests.runs_as,))[0]
    if needed in (None, "python", "python3"):
        return None
    if needed == "pytest":
        return None if importlib.util.find_spec("pytest") else "the tests run pytest, which is not installed"
    return None if shutil.which(str(needed), path=PATH) else f"the tests run {needed}, which is not in {PATH}"


def why_unisolated(tests: CodeTests) -> str | None:
    """Why tests cannot all run apart from the answer; None where they can. Decided by the tests, never by an answer."""
    if tests.programs:
        return None
    if not tests.command:
        if any(
            "answer" in test and re.search(r"\bsubprocess\b|\bos\.(system|popen|exec|spawn)", test)
            for test in tests.code
        ):
            return "the test runs the answer's text as a program"
        texts = [test for test in tests.code if tests.runs_answer or "exec(" in test or "eval(" in test]
        return next(filter(None, map(_why_together, texts)), None)
    if not tests.runs_answer or tests.command[0] not in ("pytest", "python", "python3"):
        return f"{tests.command[0]} runs the answer's code itself"
    if tests.answer_path in " ".join([*tests.command, *tests.files.values()]):
        return f"the tests name the file {tests.answer_path}"
    if any(re.search(rf"-m\W+{re.escape(tests.answer_module)}\b", text) for text in tests.files.values()):
        return f"the tests run {tests.answer_module} as a program"
    own = frozenset(Path(name).name for name in tests.files)
    texts = [*tests.command, *(text for name, text in tests.files.items() if name.endswith(".py"))]
    return next(filter(None, (_why_together(text, own, tests.answer_module) for text in texts)), None)


def _why_together(test: str, own_files: frozenset[str] = frozenset(), answer: str = "") -> str | None:
    """Why a Python test must run in the process of the answer; None where it need not."""
    try:
        nodes = list(ast.walk(ast.parse(test)))
    except SyntaxError:
        return None  # it fails either way, or is no program
    imported = {
        (alias.asname or alias.name).partition(".")[0]: getattr(node, "module", None) or alias.name
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    theirs = {name for name, source in imported.items() if source != answer or not answer}
    modules = theirs | (sys.stdlib_module_names - assigned)
    known = set(dir(builtins)) | theirs | {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    coroutines = {node.name for node in nodes if isinstance(node, ast.AsyncFunctionDef)}
    for node in nodes:
        if isinstance(node, ast.Call) and any(isinstance(one, ast.Name) and one.id in coroutines for one in node.args):
            return "the test passes a coroutine function"
        if isinstance(node, ast.ClassDef) and (bases := [one for one in node.bases if _root(one) not in known]):
            return f"the test derives from the answer's class {ast.unparse(bases[0])}"
        if used := _needs_one_process(node, modules, own_files, answer):
            return f"the test uses {used}"
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    if len(called) > 1 and names <= set(dir(builtins)):
        return f"the test calls only {', '.join(sorted(called))}, of which one may be the answer's"
    return None


def _needs_one_process(node: ast.AST, modules: set[str], own_files: frozenset[str], answer: str) -> str | None:
    """What a node of a test uses that works in the process of the answer alone."""
    used: set[str] = set()
    if isinstance(node, ast.Import):
        used = {part for one in node.names for part in one.name.split(".")} & ITS_MODULES
    elif isinstance(node, ast.ImportFrom) and node.module != (answer or None):
        used = {*(node.module or "").split("."), *(one.name for one in node.names)} & (ITS_MODULES | ITS_FUNCTIONS)
    elif isinstance(node, ast.arg):
        used = {node.arg} & ITS_FIXTURES
    elif isinstance(node, ast.Attribute):
        of_module = _root(node) in modules
        used = {node.attr} & (ITS_METHODS | (ITS_FUNCTIONS if of_module else set()))
        used |= {_root(node)} & {"np", "pd"}  # which an answer may have imported for the test
        # `random.random = …` is meant for the answer; what it prints comes over by itself.
        meant = isinstance(node.ctx, ast.Store) and (of_module or ast.unparse(node.value) == answer)
        used |= {ast.unparse(node)} if meant and node.attr not in ("stdout", "stderr") else set()
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        used = {node.func.id} & ITS_FUNCTIONS & set(dir(builtins))
        constants = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
        own = not own_files.isdisjoint(Path(text).name for text in constants if isinstance(text, str))
        used -= {"open"} if own else set()
    return min(used, default=None)


def _root(node: ast.AST) -> str:
    """The name that an expression with dots begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def run_tests(answer: str, tests: Sequence[str], *, execute: bool, bounds: Bounds) -> list[TestResult]:
    """Run Python tests of an answer; `execute` says whether it is Python to be run or only text to be tested.

    Raises `EvergoldError` where the sandbox itself does not work. A test whose result never came has not passed.
    """
    if not execute:
        return _run_alone("tests", list(tests), bounds, text=answer)
    together = {number for number, test in enumerate(tests) if _why_together(test)}
    apart = [number for number in range(len(tests)) if number not in together]
    results: dict[int, TestResult] = {}
    started = time.monotonic()
    if apart:
        made = _run_apart("tests", [tests[number] for number in apart], answer, bounds, text=answer)
        results |= zip(apart, made, strict=True)
    if together:
        left = replace(
            bounds, seconds=max(0.1, bounds.seconds - (time.monotonic() - started)) if apart else bounds.seconds
        )
        made = _run_alone("together", [tests[number] for number in sorted(together)], left, answer=answer)
        results |= zip(sorted(together), made, strict=True)
    return [results[number].model_copy(update={"test": number}) for number in range(len(tests))]


def run_programs(answer: str, tests: CodeTests, bounds: Bounds) -> list[TestResult]:
    """Run an answer as a program once for each input; it passes if it ends well and prints what is expected."""
    command, suffix = PROGRAMS.get(tests.runs_as, (tests.runs_as,)), PROGRAM_ENDINGS[tests.runs_as]
    shown = max(len(test.stdout.encode()) for test in tests.programs) + SHOWN
    # V8 reserves far more addresses than it uses.
    more = {"address_space": -1} if tests.runs_as == "javascript" else {}
    inputs = [test.stdin for test in tests.programs]
    made = _run_alone("program", inputs, bounds, answer=answer, command=command, suffix=suffix, shown=shown, **more)
    results = []
    for result, test in zip(made, tests.programs, strict=True):
        # White space at the end of a line or of all counts for nothing.
        printed, expected = (
            [line.rstrip() for line in text.rstrip().split("\n")] for text in (result.output, test.stdout)
        )
        same = printed == expected
        reason = result.reason if not result.passed else None if same else "printed something else"
        output = ("" if same else f"printed:\n{result.output[:SHOWN]}") + result.errors
        results.append(result.model_copy(update={"passed": result.passed and same, "reason": reason, "output": output}))
    return results


def run_command(answer: str, tests: CodeTests, bounds: Bounds) -> list[TestResult]:
    """Run a command over the files of the tests and the answer's; it passes if it ends with 0."""
    part = {"command": tests.command, "files": tests.files, "answer": tests.answer_path}
    if why_unisolated(tests) is not None:
        return _run_alone("command", [part], bounds, answer=answer, address_space=-1)
    text = "\n".join([*tests.command, *(text for name, text in tests.files.items() if name.endswith(".py"))])
    named = set(re.findall(r"\w+", text))
    # The answer may need files that no test names and that are no tests: they hold no expectations.
    given = {
        name: content
        for name, content in tests.files.items()
        if not re.search(r"(^|/)(test|conftest)[^/]*$|_test\.py$", name)
        and named.isdisjoint(part.partition(".")[0] for part in Path(name).parts)
        and named.isdisjoint({"glob", "iterdir", "listdir", "rglob", "scandir", "walk"})
    }
    return _run_apart("command", [part], answer, bounds, given=given)


def _run_apart(
    kind: str, parts: list[Any], answer: str, bounds: Bounds, given: dict[str, str] | None = None, **more: Any
) -> list[TestResult]:
    """Run the tests in one sandbox and the answer in another."""
    with ExitStack() as stack:
        pairs = [socket.socketpair() for _ in parts]
        for end in itertools.chain.from_iterable(pairs):
            stack.enter_context(end)
        of_tests, of_answer = ([pair[side].fileno() for pair in pairs] for side in (0, 1))
        order = _order("answer", [None] * len(parts), bounds, links=of_answer, answer=answer, given=given or {})
        # Both start at once; the second begins its order while the first reads its own.
        tester = _Sandbox(_order(kind, parts, bounds, links=of_tests, **more), stack)
        runner = _Sandbox(order, stack)
        tester.begin()
        runner.begin()
        # The launchers have copies: a side hangs up when the last of them is closed.
        for end in itertools.chain.from_iterable(pairs):
            end.close()
        tested = tester.results(len(parts), bounds.seconds + GRACE_SECONDS)
        served = runner.results(len(parts), EMPTIED_SECONDS)
    results = []
    for test, answered in zip(tested, served, strict=True):
        # A test has passed if it says so and the answer stayed, and stayed within its bounds.
        output = "\n".join(part for part in (test.output, answered.output) if part)
        passed, reason = test.passed and answered.passed, test.reason if answered.passed else answered.reason
        results.append(test.model_copy(update={"passed": passed, "output": output, "reason": reason}))
    return results


def _run_alone(kind: str, parts: list[Any], bounds: Bounds, **more: Any) -> list[TestResult]:
    with ExitStack() as stack:
        sandbox = _Sandbox(_order(kind, parts, bounds, **more), stack)
        sandbox.begin()
        return sandbox.results(len(parts), bounds.seconds + GRACE_SECONDS)


def _order(kind: str, parts: list[Any], bounds: Bounds, **more: Any) -> dict[str, Any]:
    # Two sandboxes must not share a user: the limit on processes is counted per user.
    user = FIRST_USER + (os.getpid() * 61 + next(_numbers)) % USERS
    fields = {"order": kind, "parts": parts, "links": [], "text": "", "answer": "", "user": user, "shown": SHOWN}
    return fields | asdict(bounds) | {"address_space": bounds.memory, "packages": _packages()} | more


class _Sandbox:
    """A sandbox that was started; it runs nothing until it has its order."""

    def __init__(self, order: dict[str, Any], stack: ExitStack) -> None:
        self.order = order
        self.first: int | None = None
        self.group: Path | None = None
        self.written, self.problems, *files = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(5))  # noqa: SIM115
        for file, content in zip(
            files, (_compile_file("launcher"), _compile_file("boundary"), _system_call_filter()), strict=True
        ):
            file.write(content)
            file.seek(0)
        self.started, start = os.pipe()
        stack.callback(os.close, self.started)
        numbers = [file.fileno() for file in files]
        self.process = subprocess.Popen(
            _command(numbers, start, site=order["order"] == "command"),
            stdin=subprocess.PIPE,
            stdout=self.written,
            stderr=self.problems,
            pass_fds=[*numbers, start, *order["links"]],
            # Nothing of the environment goes in: it may hold keys.
            env={"PATH": os.environ.get("PATH", os.defpath)},
            start_new_session=True,
        )
        os.close(start)
        stack.callback(self.end)

    def begin(self) -> None:
        """Put its first process into a cgroup, then give it the order."""
        with (
            open(self.started, "rb", closefd=False) as file,
            suppress(orjson.JSONDecodeError, KeyError, ProcessLookupError),
        ):
            pid = orjson.loads(file.read())["child-pid"]
            self.first = os.pidfd_open(pid)
            self.group = _make_cgroup(pid, self.order["memory"] + LAUNCHER_BYTES)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError), self.process.stdin:
            self.process.stdin.write(orjson.dumps(self.order))

    def end(self) -> None:
        """End it and wait for everything inside it."""
        # The launcher is its own session, so killing the group ends it and all its children.
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.first is not None:
            # bwrap leaves when the launcher does. The kernel ends the others, and the first process after all of them.
            select.select([self.first], [], [], EMPTIED_SECONDS)
            os.close(self.first)
        if self.group is not None:
            with suppress(OSError):
                self.group.rmdir()

    def results(self, count: int, seconds: float) -> list[TestResult]:
        """Wait for its end and read what the launcher wrote; what never came has not passed."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        self.written.seek(0)
        self.problems.seek(0)
        lines = self.written.read(MOST_RESULT_BYTES + count * 2 * Bounds.output).splitlines()
        problem = self.problems.read(2000).decode("utf-8", "replace")
        # Without a line of result, a complaint of bubblewrap means that nothing was run at all.
        if not lines and problem.startswith("bwrap:"):
            raise EvergoldError(f"the sandbox does not start: {problem.strip()}")
        results: dict[int, TestResult] = {}
        for line in lines:
            with suppress(ValidationError):
                result = TestResult.model_validate_json(line)
                results[result.test] = result
        return [results.get(at) or TestResult(test=at, passed=False, output="", reason=LOST) for at in range(count)]


@functools.cache
def _compile_file(name: str) -> bytes:
    """A file that runs inside, compiled: each sandbox would else do it again."""
    with tempfile.NamedTemporaryFile(suffix=".pyc") as file:
        source = Path(__file__).with_name(f"sandbox_{name}.py")
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(source), file.name, f"/{name}.py", doraise=True, invalidation_mode=unchecked)
        return Path(file.name).read_bytes()


@functools.cache
def _system_call_filter() -> bytes:
    """A program of the kernel's filter: other architectures end, new namespaces and the calls of CALLS are refused."""
    architecture, clone, set_option, forbidden = CALLS[platform.machine()]
    load, equal, set_bits, over, give = 0x20, 0x15, 0x45, 0x35, 0x06
    rules = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, KILL), (load, 0, 0, 0)]
    rules += [(over, 0, 1, 0x40000000), (give, 0, 0, KILL)]  # the x32 calls of x86_64
    for number in forbidden:
        rules += [(equal, 0, 1, number), (give, 0, 0, REFUSE)]
    # A larger buffer of a socket would be memory that nobody counts: the request has no effect.
    rules += [(equal, 0, 5, set_option), (load, 0, 0, 32), (equal, 1, 0, 7), (equal, 0, 1, 8), (give, 0, 0, IGNORE)]
    rules += [(give, 0, 0, ALLOW)]
    # glibc falls back to clone, whose flags can be read, where clone3 is unknown.
    rules += [(equal, 0, 1, 435), (give, 0, 0, UNKNOWN)]
    rules += [(equal, 0, 3, clone), (load, 0, 0, 16), (set_bits, 0, 1, NAMESPACES), (give, 0, 0, REFUSE)]
    rules += [(give, 0, 0, ALLOW)]
    return b"".join(struct.pack("=HBBI", *rule) for rule in rules)


def _make_cgroup(pid: int, most: int) -> Path | None:
    """Bound the memory of a process and its children by a cgroup, where this process may make one."""
    try:
        lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    except OSError:
        return None
    for number, controllers, own in lines:
        first = "memory" in controllers.split(",")  # of the two versions of cgroups
        if not first and number != "0":
            continue
        group = Path("/sys/fs/cgroup", *["memory"] * first, own.strip("/"), f"evergold-{os.getpid()}-{next(_numbers)}")
        limit, swap = (
            ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes") if first else ("memory.max", "memory.swap.max")
        )
        with suppress(OSError):
            group.mkdir()
            try:
                (group / limit).write_text(str(most))
                with suppress(OSError):
                    (group / swap).write_text(str(most if first else 0))
                (group / "cgroup.procs").write_text(str(pid))
                return group
            except OSError:
                group.rmdir()
    return None


def _command(files: Sequence[int], started: int, *, site: bool) -> list[str]:
    """The command of a sandbox; `site`: with the packages of this environment, such as pytest."""
    base = Path(sys.base_prefix).resolve()
    inside, binds = ("/usr", []) if base == Path("/usr") else ("/python", ["--ro-bind", str(base), "/python"])
    python = f"{inside}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    # Each folder of the system as it is here: a folder, a link into `/usr`, or nothing.
    for path in SYSTEM:
        if os.path.islink(path):
            binds += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            binds += ["--ro-bind", path, path]
    binds += ["--ro-bind", sysconfig.get_path("purelib"), "/site"] if site else []
    # A superuser needs no user namespace, and may be in a container that forbids one.
    user = [] if os.getuid() == 0 else ["--unshare-user", "--disable-userns"]
    return [
        *("bwrap", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", *user),
        *("--info-fd", str(started), "--die-with-parent", "--new-session", "--as-pid-1"),
        *("--clearenv", "--setenv", "PATH", PATH),
        *(*binds, "--proc", "/proc", "--dev", "/dev"),
        *("--perms", "1777", "--size", str(Bounds.files), "--tmpfs", "/tmp", "--chdir", "/tmp"),
        *("--perms", "0444", "--ro-bind-data", str(files[0]), "/launcher.pyc"),
        *("--perms", "0444", "--ro-bind-data", str(files[1]), "/boundary.pyc", "--seccomp", str(files[2])),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--", python, "-I", "-B", "-S", "/launcher.pyc"),
    ]


@functools.cache
def _packages() -> list[str]:
    """Where packages of this interpreter lie, as seen inside."""
    base = str(Path(sys.base_prefix).resolve())
    inside = "/usr" if base == "/usr" else "/python"
    return [inside + path.removeprefix(base) for path in site.getsitepackages([base]) if path.startswith(base)]
