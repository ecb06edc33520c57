"""Check that evergold and every extra install from wheels alone, on Linux, macOS and Windows, with Python 3.11 to 3.13.

`python -m scripts.wheels` resolves as `pip download --only-binary=:all: --platform …` would, without downloading, and prints a
line for each combination. Exit code 1 where one lacks wheels. Extras in `BUILT` are left out; the README's table marks them.
"""

import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT = Path(__file__).parent.parent
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "macos", "x86_64-apple-darwin", "windows")
AT_ONCE = 5  # resolutions; they wait for a registry more than they compute
PYTHONS = ("3.11", "3.12", "3.13")
ARM = ("aarch64-manylinux_2_28", "macos")
BUILT: Final = {
    "local": (PLATFORMS, "llama-cpp-python, about ten minutes; uv leaves it out with the override in pyproject.toml"),
    "embeddings": (ARM, "wordllama, which needs a C compiler"),
}
"""Extras that are built from source, on which platforms, and what that takes; the table of the README says so too."""


def lacks_wheels(project: Path, extras: list[str], platform: str, python: str) -> str | None:
    """Resolve with wheels alone; the reason where that fails."""
    wanted = [part for extra in extras for part in ("--extra", extra)]
    command = ["uv", "pip", "compile", "--quiet", "--only-binary", ":all:", "--python-platform", platform]
    command += ["--python-version", python, *wanted, str(project)]
    done = subprocess.run(command, cwd=project.parent, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else " ".join(done.stderr.split())[:300]


def main() -> int:
    with TemporaryDirectory() as folder:
        # Without `tool.uv`, whose overrides nobody has who installs the wheel.
        project = Path(folder) / "pyproject.toml"
        text = (ROOT / "pyproject.toml").read_text().partition("[tool.uv]")[0]
        project.write_text(text)
        return check(project, list(tomllib.loads(text)["project"]["optional-dependencies"]))


def check(project: Path, extras: list[str]) -> int:
    def lacks(place: tuple[str, str]) -> str | None:
        held = [extra for extra in extras if place[0] not in BUILT.get(extra, ((), ""))[0]]
        return lacks_wheels(project, held, *place)

    places = [(platform, python) for platform in PLATFORMS for python in PYTHONS]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        reasons = list(pool.map(lacks, places))
    for (platform, python), reason in zip(places, reasons, strict=True):
        print(f"{platform}, Python {python}: {reason or 'wheels alone'}")
    print(f"{len(places)} combinations, {sum(map(bool, reasons))} fail")
    for extra, (platforms, what) in BUILT.items():
        print(f"{extra}: built from source on {', '.join(platforms)} ({what})")
    return int(any(reasons))


if __name__ == "__main__":
    sys.exit(main())
