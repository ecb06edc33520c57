"""A wheel built from a clean clone carries the browser app and fits every machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.docs.test_docs import follow_tutorial
from tests.patience import PATIENCE
from tests.uv import the_uv

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
WEB = Path("src", "evergold", "web_dist")


def run(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **env}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone" / "evergold"
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder, cwd=ROOT)
    assert not (folder / WEB).exists()
    return folder


@pytest.mark.campaign
def test_without_npm_the_build_says_what_to_install(clone: Path) -> None:
    build = "import os, pathlib; os.environ['PATH'] = ''; import hatch_build as h; h.build_web_app(pathlib.Path('.'))"
    command = [the_uv(), "run", "--quiet", "--no-project", "--with", "hatchling", "--python", sys.executable]
    done = subprocess.run(
        [*command, "python", "-c", build],
        cwd=clone,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(clone)},
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("the browser app is not built and npm was not found: install Node 20.19 or newer")


@pytest.mark.campaign
def test_a_wheel_fits_every_machine(clone: Path, tmp_path: Path) -> None:
    built_already = clone / WEB  # newer than its sources, so that only what this is about is built
    shutil.copytree(ROOT / WEB, built_already, copy_function=shutil.copy)
    run(the_uv(), "build", "--wheel", "--out-dir", tmp_path, "--python", sys.executable, ".", cwd=clone)
    assert [wheel.name.split("-", 2)[2] for wheel in tmp_path.glob("*.whl")] == ["py3-none-any.whl"]


@pytest.mark.release
def test_a_wheel_from_a_clean_clone_serves_the_app(clone: Path, tmp_path: Path) -> None:
    uv = the_uv()
    run(uv, "build", "--quiet", "--wheel", "--out-dir", tmp_path, "--python", sys.executable, ".", cwd=clone)
    wheel = next(tmp_path.glob("evergold-*.whl"))
    run(uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "fresh", cwd=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    run(uv, "pip", "install", "--quiet", "--python", python, wheel, cwd=tmp_path)
    version = run(python.parent / "evergold", "--version", cwd=tmp_path).stdout
    assert version == f"evergold {wheel.name.split('-')[1]}\n"
    for tongue in ("console", "python"):
        empty = tmp_path / tongue
        empty.mkdir()
        alone = {"PATH": f"{python.parent}:/usr/bin:/bin", "HOME": str(empty)}
        follow_tutorial(tongue, empty, alone, python)
    server = subprocess.Popen(
        [python.parent / "evergold", "serve", "--port", "0"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        address = server.stdout.readline().split()[1]
        with urlopen(address) as page:
            html = page.read().decode()
        script = html.split('src="', 1)[1].split('"', 1)[0]
        with urlopen(address + script) as asset:
            assert asset.headers["content-type"].startswith("text/javascript")
        with urlopen(f"{address}/docs/tutorial") as page:
            assert "to a decision in 20 minutes" in page.read().decode()
    finally:
        server.terminate()
        server.wait(PATIENCE)
        if server.stdout is not None:
            server.stdout.close()
