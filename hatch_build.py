"""Puts the browser app and the compiled parts into wheels.

The app is built from `web/` when the built one is missing or older than its sources: a wheel from a clean clone is
complete, and one from a source archive (which carries the built app) needs no Node. An editable install is left
alone: there `make setup` builds the app.

The C sources are compiled for wheels and editable installs, by the C compiler that is there. Where there is none, or it fails,
the installation goes on: the same is there in Python, and a wheel without compiled parts fits every machine.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NO_NPM = (
    "the browser app is not built and npm was not found: install Node 20.19 or newer (it brings npm), then build again"
)
SOURCES = ("src/evergold/build/_lines.c",)
COMPILED = tuple(source.removesuffix(".c") + ".abi3.so" for source in SOURCES)
FIRST_PYTHON = "cp311"
"""The version whose stable interface the compiled parts keep to; later ones load them too."""


class EvergoldHook(BuildHookInterface):
    """Builds what is not Python before files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if version != "editable":
            build_web_app(root)
        if self.target_name != "wheel":
            return
        problem = compile_all(root)
        if problem is not None:
            self.app.display_warning(f"evergold builds RAG splits in Python, at a third of the speed: {problem}")
        else:
            build_data["artifacts"].extend(COMPILED)
            build_data["pure_python"] = False
            build_data["tag"] = f"{FIRST_PYTHON}-abi3-{platform_tag()}"


def compile_all(root: Path) -> str | None:
    """Compiles the C sources; returns why one could not be. Nothing is kept then, also not of an earlier attempt."""
    for source, name in zip(SOURCES, COMPILED, strict=True):
        problem = _compile(root / source, root / name)
        if problem is not None:
            for each in COMPILED:
                (root / each).unlink(missing_ok=True)
            return problem
    return None


def _compile(source: Path, compiled: Path) -> str | None:
    include = Path(sysconfig.get_path("include"))
    command = shlex.split(os.environ.get("CC", "")) or ["cc"]
    if os.name != "posix":
        return "only compiled on Linux and macOS"
    if shutil.which(command[0]) is None:
        return f"no C compiler ({command[0]})"
    if not (include / "Python.h").is_file():
        return f"no Python.h in {include} (on Debian and Ubuntu: apt install python3-dev)"
    linking = ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    draft = compiled.with_suffix(f".{os.getpid()}.tmp")
    command += ["-std=c11", "-O2", "-fPIC", *linking, f"-I{include}", "-o", str(draft), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        draft.unlink(missing_ok=True)
        return f"{command[0]} failed: {(done.stderr.strip() or 'no message').splitlines()[0]}"
    draft.replace(compiled)
    return None


def platform_tag() -> str:
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def build_web_app(root: Path) -> None:
    """Runs npm only when the built app is missing or stale."""
    web = root / "web"
    if is_fresh(root / "src" / "evergold" / "web_dist" / "index.html", web):
        return
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(NO_NPM)
    for command in (["ci", "--no-audit", "--no-fund"], ["run", "build"]):
        subprocess.run([npm, *command], cwd=web, check=True)


def is_fresh(built: Path, web: Path) -> bool:
    """True when no source was changed, added or removed after `built` was written."""
    if not built.is_file():
        return False
    written = built.stat().st_mtime
    return all(source.stat().st_mtime <= written for source in sources(web))


def sources(web: Path) -> Iterator[Path]:
    """Everything the build reads. Folders count too: their time changes when a file is removed."""
    for folder in (web / "src", web / "public"):
        yield folder
        yield from folder.rglob("*")
    yield from (
        web / name for name in ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")
    )
