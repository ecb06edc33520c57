"""Scratch folders: gone when the job ends, and gone at the next job when it was killed. Nobody else's is touched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from evergold.formats.atomic import OWNER, PREFIX, remove_abandoned, scratch_folder

HOLD = """
import sys
from pathlib import Path
from evergold.formats.atomic import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (Path(folder) / "part").write_bytes(b"x")
    print(folder, flush=True)
    sys.stdin.read()
"""


def held(place: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def folder_of(process: "subprocess.Popen[str]") -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def ended(process: "subprocess.Popen[str]") -> None:
    process.wait()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        stream.close()


def test_a_folder_is_gone_when_its_job_ends(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert Path(folder).is_dir()
    assert list(tmp_path.iterdir()) == []


def test_the_next_job_removes_what_a_killed_one_left_and_spares_the_living(tmp_path: Path) -> None:
    dead, living = held(tmp_path), held(tmp_path)
    left, used = folder_of(dead), folder_of(living)
    os.kill(dead.pid, signal.SIGKILL)
    ended(dead)
    assert (left / "part").exists()
    assert remove_abandoned(tmp_path) == [left]
    assert (used / "part").exists()
    living.communicate("")
    ended(living)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_an_owner_file_and_a_link_stay(tmp_path: Path) -> None:
    foreign = tmp_path / f"{PREFIX}foreign"
    foreign.mkdir()
    (foreign / "kept").write_text("kept")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / OWNER).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    assert remove_abandoned(tmp_path) == []
    assert (foreign / "kept").exists()
    assert (elsewhere / OWNER).exists()
