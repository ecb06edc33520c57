"""Sets of files: all new or all old, whatever happens in between."""

import multiprocessing
import os
import signal
from pathlib import Path
from threading import Barrier, Thread

import pytest

from evergold.errors import Unavailable
from evergold.formats import atomic
from evergold.formats import atomic as journal


def hidden(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("."))


def test_all_files_of_a_set_appear_at_the_end(tmp_path: Path) -> None:
    with atomic.FileSet() as files:
        files.open(tmp_path / "new" / "a").write(b"1")
        files.open(tmp_path / "b").write(b"2")
        assert not (tmp_path / "b").exists()
    assert (tmp_path / "new" / "a").read_bytes() == b"1"
    assert (tmp_path / "b").read_bytes() == b"2"
    assert hidden(tmp_path) == hidden(tmp_path / "new") == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_files(tmp_path: Path, error: type[BaseException]) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(error), atomic.FileSet() as files:
        files.open(tmp_path / "a").write(b"new")
        raise error
    assert (tmp_path / "a").read_bytes() == b"old"
    assert hidden(tmp_path) == []


def test_mode_and_symbolic_link_of_a_replaced_file_stay(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o640)
    (tmp_path / "link").symlink_to("real")
    atomic.write_bytes(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o640


def test_two_outputs_on_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="already part"), atomic.FileSet() as files:
        files.open(tmp_path / "a")
        files.open(tmp_path / "." / "a")


def test_chunks_are_counted(tmp_path: Path) -> None:
    assert atomic.write_chunks(tmp_path / "a", (b"%d\n" % n for n in range(3))) == 3
    assert (tmp_path / "a").read_bytes() == b"0\n1\n2\n"


def _write_until_killed(folders: list[Path], die_at: int) -> None:
    """Writes a new set, and kills its own process at the given call of the kind that changes the file system."""
    calls = 0

    def dying(real):  # type: ignore[no-untyped-def]
        def call(*args, **kwargs):  # type: ignore[no-untyped-def]
            nonlocal calls
            calls += 1
            if calls == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    os.replace, os.rename, os.fsync, os.unlink = map(dying, (os.replace, os.rename, os.fsync, os.unlink))
    with atomic.FileSet() as files:
        for folder in folders:
            files.open(folder / "part").write(b"new")
    os._exit(0)


@pytest.mark.parametrize("folder_names", [["x", "x/../x2"], ["x", "y", "z"]])
def test_a_kill_at_any_step_leaves_the_old_set_or_the_new_set(tmp_path: Path, folder_names: list[str]) -> None:
    outcomes = set()
    for die_at in range(1, 40):
        base = tmp_path / str(die_at)
        folders = [base / name for name in folder_names]
        for folder in folders:
            folder.mkdir(parents=True)
            (folder / "part").write_bytes(b"old")
        child = multiprocessing.get_context("fork").Process(target=_write_until_killed, args=(folders, die_at))
        child.start()
        child.join()
        for folder in folders:
            journal.recover(folder)
            assert hidden(folder) == []
        contents = {(folder / "part").read_bytes() for folder in folders}
        assert len(contents) == 1, f"mixed after a kill at step {die_at}"
        outcomes |= contents
        if child.exitcode == 0:
            break
    else:
        pytest.fail("never got to the end")
    assert outcomes == {b"old", b"new"}


def test_files_of_a_living_writer_are_left_alone(tmp_path: Path) -> None:
    with atomic.FileSet() as files:
        files.open(tmp_path / "a").write(b"new")
        assert journal.recover(tmp_path) == []
    assert (tmp_path / "a").read_bytes() == b"new"


def test_two_sets_at_once_never_mix(tmp_path: Path) -> None:
    targets = [tmp_path / "x" / "a", tmp_path / "y" / "b", tmp_path / "x" / "c"]

    def put(content: bytes, order: list[Path], together: Barrier) -> None:
        with atomic.FileSet() as files:
            for target in order:
                files.open(target).write(content)
            together.wait()

    for _ in range(30):
        together = Barrier(2)
        writers = [
            Thread(target=put, args=(content, order, together))
            for content, order in ((b"one", targets), (b"two", targets[::-1]))
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert len({target.read_bytes() for target in targets}) == 1
    assert hidden(tmp_path / "x") == hidden(tmp_path / "y") == []


def test_a_foreign_journal_moves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"keep")
    (tmp_path / "loot").write_bytes(b"evil")
    (tmp_path / ".evergold-journal.x").write_text('{"renames": [["loot", "secret"]]}')
    assert journal.recover(tmp_path) == []
    assert (tmp_path / "secret").read_bytes() == b"keep"


def test_a_rename_that_fails_halfway_is_finished_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.replace, 0

    def failing(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise PermissionError(1, "Operation not permitted", str(target))
        real(source, target)

    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"old")
    with monkeypatch.context() as patched, pytest.raises(Unavailable, match="the next run here will finish it"):
        patched.setattr(os, "replace", failing)
        with atomic.FileSet() as files:
            files.open(tmp_path / "a").write(b"new")
            files.open(tmp_path / "b").write(b"new")
    assert journal.recover(tmp_path) == [tmp_path / "b"]
    assert [(tmp_path / name).read_bytes() for name in ("a", "b")] == [b"new", b"new"]
    assert hidden(tmp_path) == []
