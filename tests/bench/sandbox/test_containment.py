"""What code of a model may try, and what it gets: each of these ends by a limit and leaves nothing behind."""

import os
import platform
from dataclasses import replace
from pathlib import Path

import pytest

from evergold.bench import sandbox
from evergold.bench.sandbox import Bounds, TestResult, missing_sandbox, run_tests
from tests.rows import each_row

pytestmark = pytest.mark.skipif(missing_sandbox() is not None, reason=str(missing_sandbox()))

BOUNDS = Bounds(seconds=1.5, memory=256 * 2**20, output=2**20)


def outcome(answer: str, bounds: Bounds = BOUNDS) -> TestResult:
    (result,) = run_tests(answer, ("pass",), execute=True, bounds=bounds)
    return result


def reads(code: str) -> str:
    """What the code prints inside."""
    result = outcome(code)
    assert result.passed, result
    return result.output.strip()


def test_a_fork_bomb_meets_the_limit_on_processes() -> None:
    result = outcome(
        "import os, time\nn = 0\nfor _ in range(500):\n    try:\n        if os.fork() == 0:\n            time.sleep(9)\n"
        "        n += 1\n    except OSError:\n        pass\nprint(n)"
    )
    assert int(result.output.split()[-1]) < BOUNDS.processes


def test_a_fork_bomb_that_never_ends_is_stopped_and_all_of_it_is_gone() -> None:
    marker = f"bomb-{os.getpid()}"[:15]
    result = outcome(
        f"import os, ctypes\nctypes.CDLL(None).prctl(15, b'{marker}', 0, 0, 0)\n"
        "while True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    )
    assert not result.passed
    assert result.reason == "time limit reached"
    assert not [p for p in Path("/proc").glob("[0-9]*/comm") if _text(p).strip() == marker]


def test_an_endless_loop_is_stopped() -> None:
    assert outcome("while True: pass").reason == "time limit reached"


def test_a_loop_that_ignores_signals_is_stopped() -> None:
    ignore = (
        "import signal\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n    except OSError: pass\n"
    )
    assert outcome(ignore + "while True: pass").reason == "time limit reached"


def test_output_without_end_is_stopped_and_cut() -> None:
    result = outcome("while True: print('x' * 10000)")
    assert result.reason == f"printed over {BOUNDS.output} bytes"
    assert len(result.output) < 10_000
    assert "bytes left out" in result.output


def test_memory_is_bounded_in_one_process_and_over_several() -> None:
    assert "MemoryError" in outcome("x = bytearray(10**10)").output
    fork = "import os, time\nfor _ in range(8):\n    if os.fork() == 0:\n"
    several = fork + "        x = b'1' * (80 * 2**20); time.sleep(9)\ntime.sleep(9)"
    assert outcome(several, replace(BOUNDS, seconds=20)).reason in ("used over 256 MB of memory", "ended by SIGKILL")


@each_row("cgroup", [True, False])
def test_memory_of_every_kind_is_bounded(cgroup: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared memory of several processes, full sockets, a disk full of empty folders; with a cgroup and without."""
    if not cgroup:
        monkeypatch.setattr(sandbox, "_make_cgroup", lambda pid, most: None)
    shared = "import mmap, os, time\nfor _ in range(8):\n    if os.fork() == 0:\n        m = mmap.mmap(-1, 60 << 20)\n"
    shared += "        for at in range(0, 60 << 20, 4096): m[at] = 1\n        time.sleep(9)\ntime.sleep(9)"
    folders = "import os\nfor n in range(10**6): os.mkdir(f'/tmp/{n}')"
    sockets = "import os, socket, time\nfor _ in range(9): os.fork()\nkeep = []\nwhile len(keep) < 20:\n"
    sockets += "    keep.append(socket.socketpair())\n    for one in keep[-1]:\n        one.setblocking(False)\n"
    sockets += "        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)\n        try:\n"
    sockets += "            while True: one.send(b'x' * 65536)\n        except OSError: pass\ntime.sleep(9)"
    for code in (shared, folders, sockets):
        result = outcome(code, replace(BOUNDS, seconds=20, memory=96 * 2**20))
        assert result.reason in ("used over 96 MB of memory", "ended by SIGKILL", "exit code 1"), result


def test_files_are_bounded() -> None:
    one_mb = "block = b'x' * 2**20\nwith open('big', 'wb') as file:\n    for _ in range(1000): file.write(block)"
    assert not outcome(one_mb).passed
    many = "block = b'x' * 2**20\nfor n in range(1000):\n    with open(f'f{n}', 'wb') as file: file.write(block)"
    assert "No space left" in outcome(many).output


def test_the_environment_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    own = "import os, glob\nprint(dict(os.environ))\nfor p in glob.glob('/proc/[0-9]*/environ'):\n"
    assert "very-secret" not in reads(own + "    try: print(open(p).read())\n    except OSError: pass")


def test_there_is_no_network_no_home_and_no_file_of_the_host(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    assert "unreachable" in outcome("import socket; socket.create_connection(('192.0.2.1', 80), 1)").output
    assert reads(
        f"import os; print([os.path.exists(p) for p in ({str(Path.home())!r}, {str(tmp_path)!r}, '/etc/passwd')])"
    ) == ("[False, False, False]")
    assert reads("import os; print(os.listdir('/tmp'))") == "[]"


def test_nothing_outside_tmp_can_be_written() -> None:
    for path in ("/x", "/usr/x", "/dev/x", "/dev/shm/x"):
        assert not outcome(f"open({path!r}, 'w')").passed


def test_leaving_early_is_no_pass() -> None:
    assert outcome("import os; os._exit(0)").reason == "left before the end of the test"
    assert not outcome("raise SystemExit(0)").passed


def test_nothing_inside_can_end_stop_or_look_into_the_launcher() -> None:
    look = "import os\nfor n in (9, 19): os.kill(1, n)\nfor name in ('mem', 'environ', 'fd', 'maps'):\n"
    look += "    try: print(os.access(p := f'/proc/1/{name}', 4) and open(p).read(9))\n    except OSError: print(False)"
    assert reads(look).split() == ["False"] * 4


def test_there_are_no_namespaces_no_tracing_and_no_memory_files() -> None:
    calls = "c.unshare(0x10000000), c.unshare(0x20000), c.ptrace(16, 1, 0, 0), c.mount(b'x', b'/tmp', b'tmpfs', 0, 0)"
    calls += ", c.memfd_create(b'x', 0), c.shmget(0, 4096, 0o600)"
    assert reads(f"import ctypes\nc = ctypes.CDLL(None)\nprint({calls})") == "-1 -1 -1 -1 -1 -1"
    # The raw calls: clone with a new user namespace, and clone3, whose flags no filter can read.
    raw = {"x86_64": 56, "aarch64": 220}[platform.machine()]
    raw_calls = f"c.syscall({raw}, 0x10000011, 0, 0, 0, 0), c.syscall(435, 0, 0)"
    assert reads(f"import ctypes\nc = ctypes.CDLL(None)\nprint({raw_calls})") == "-1 -1"


def test_what_one_test_leaves_does_not_reach_the_next() -> None:
    tests = ("open('/tmp/left', 'w').close(); seen.append(1); assert seen == [1]", "seen.append(1); assert seen == [1]")
    assert [result.passed for result in run_tests("seen = []", tests, execute=True, bounds=BOUNDS)] == [True, True]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
