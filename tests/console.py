"""The console script without its second of imports: a process that has them done forks a child for each command.

Every command is still a process of its own, with its own folder, environment, streams and exit code. What a test can
tell apart from the console script (its imports, its interpreter's variables) is tested with the real one.

`python -m tests.console SOCKET` listens; `warm_script` starts it and gives a program that a shell can call.
"""

import atexit
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from evergold import plugins

SCRIPT = Path(sys.executable).parent / "evergold"
# Modules of commands and what they load; the rest is loaded by the command itself, as always.
LOADED = tuple(
    f"evergold.{name}" for name in ("cli", "workspace", "api", "alerts", "build", "extract", "bench.runner", "judge")
)
CLIENT = """#!{python} -IS
import json, os, signal, socket, sys
call = socket.socket(socket.AF_UNIX)
call.connect({address!r})
order = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(call, [len(order).to_bytes(8, "big")], [0, 1, 2])
call.sendall(order)
answer = call.makefile()
child = int(answer.readline())
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: os.kill(child, number))
code = int(answer.readline())
sys.exit(code if code >= 0 else 128 - code)
"""


def script_for(env: Mapping[str, str]) -> Path:
    """The program to call with these further variables: those of the interpreter need an interpreter of their own."""
    own = any(name.startswith("PYTHON") and name != "PYTHONUNBUFFERED" for name in env)
    return SCRIPT if own else warm_script()


@cache
def warm_script() -> Path:
    """A program that is called like the console script. Starts the process that forks, which ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="evergold-warm-"))
    address, script = folder / "socket", folder / "evergold"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    command = [sys.executable, "-m", "tests.console", str(address)]
    root = Path(__file__).parents[1]  # a test that asks first may have changed the folder
    process = subprocess.Popen(command, env=clean, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    script.write_text(CLIENT.format(python=sys.executable, address=str(address)))
    script.chmod(0o755)
    atexit.register(_ended, process, folder)
    return script


def _ended(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    process.kill()
    process.wait()
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()


def main(address: str) -> None:
    _load()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        print("ready", flush=True)
        while True:
            call, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                _answer(call)
            call.close()


def _load() -> None:
    for name in LOADED:
        package = import_module(name)
        for module in _below(package):
            import_module(module)
    for group in plugins.GROUPS:
        for name in plugins.names(group):
            plugins.factory(group, name)
    gc.freeze()


def _below(package: Any) -> Iterator[str]:
    folders = getattr(package, "__path__", None)
    for found in pkgutil.iter_modules(folders) if folders else ():
        if found.name != "__main__":
            yield f"{package.__name__}.{found.name}"


def _end_with_parent() -> None:
    """The pipe to this process ends with the tests."""
    os.read(0, 1)
    os._exit(0)


def _answer(call: socket.socket) -> NoReturn:
    """Fork the command, say its process, wait for it, and say how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(call, 8, 3)
    order = call.makefile("rb").read(int.from_bytes(size, "big"))
    child = os.fork()
    if child == 0:
        call.close()
        _run(streams, *json.loads(order))
    call.sendall(f"{child}\n".encode())
    for stream in (0, *streams):
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    call.sendall(f"{code}\n".encode())
    os._exit(0)


def _run(streams: list[int], args: list[str], folder: str, env: dict[str, str]) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    lines = 1 if env.get("PYTHONUNBUFFERED") else -1
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", buffering=lines), open(2, "w", buffering=1)  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.argv, sys.path[0] = [str(SCRIPT), *args], str(SCRIPT.parent)
    code: Any = 0
    try:
        from evergold.cli import main as evergold

        evergold()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for written in (sys.stdout, sys.stderr):
        if not written.closed:
            written.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    main(sys.argv[1])
