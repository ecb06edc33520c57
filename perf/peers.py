"""Environments of the packages that we are measured beside, under `perf/.peers`: one each, made on first use."""

import shutil
import subprocess
import sys
from pathlib import Path

PEERS = Path(__file__).parent / ".peers"
INSTALL_SECONDS = 900  # the largest peers bring some hundred megabytes


def python_of(package: str, folder: Path = PEERS) -> Path | None:
    """Give the interpreter of a peer's own environment; None, after one line, where it cannot be installed."""
    environment = folder / package
    python = environment / "bin" / "python"
    # The mark is written last: an environment whose installation was interrupted is made anew.
    ready = environment / ".ready"
    if python.exists() and ready.exists():
        return python
    problem = _installed(package, environment, python)
    if problem:
        print(f"  {package}: left out, it cannot be installed: {problem}", flush=True)
        return None
    ready.touch()
    return python


def _installed(package: str, environment: Path, python: Path) -> str:
    """Install a package; what went wrong, in one line."""
    # `make setup` puts uv beside Python where the machine has none of its own.
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        return "there is no uv; run `make setup`"
    commands = (
        [uv, "venv", "-q", "--clear", str(environment), "--python", sys.executable],
        [uv, "pip", "install", "-q", "--python", str(python), package],
    )
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            return f"not within {INSTALL_SECONDS} s"
        if done.returncode:
            return " ".join(done.stderr.split())[:200] or f"uv ended with {done.returncode}"
    return ""
