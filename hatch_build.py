"""Puts the browser app and the documentation into wheels.

Each is built when the built one is missing or older than its sources: a wheel from a clean clone is complete, and one
from a source archive (which carries both) needs no Node. An editable install is left alone: there `make setup` builds them.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NO_NPM = (
    "the browser app is not built and npm was not found: install Node 20.19 or newer (it brings npm), then build again"
)


class EvergoldHook(BuildHookInterface):
    """Builds app and documentation before files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_web_app(Path(self.root))
            build_site(Path(self.root))


def build_site(root: Path) -> None:
    """Build the documentation when it is missing or stale."""
    built = root / "src" / "evergold" / "docs_dist" / "index.html"
    pages = [root / "README.md", root / "SECURITY.md", *(root / "docs").rglob("*.md")]
    if not built.is_file() or any(page.stat().st_mtime > built.stat().st_mtime for page in pages):
        subprocess.run([sys.executable, root / "scripts" / "site.py"], check=True)


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
