"""Commands whose result are files: build, extract, generate, export, backup, restore. A file is the old one or the new."""

import hashlib
import subprocess
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from sqlalchemy import func, select

from evergold.errors import EvergoldError
from evergold.formats.atomic import recover
from evergold.settings import Settings
from evergold.store.schema import traces
from evergold.workspace import Workspace
from tests.faults.killing import Command, Fault, Room

SAMPLES = Path(str(files("evergold"))) / "samples"
DOCUMENTS = 40


class Freeze:
    """`build` of a stored dataset: files in the workspace and a row that names them."""

    name = "build (stored)"

    def __init__(self, room: Room) -> None:
        self._room = room

    def begin(self, number: int) -> Sequence[str]:
        return ("build", "--dataset", "bench", "--version", f"v{number + 1}")

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        with self._room.opened() as workspace:
            builds = [build for build in workspace.builds.versions("bench") if build.version == f"v{number + 1}"]
            if done and not builds:
                yield Fault("lost", f"build v{number + 1} ended well and is not known")
            for build in builds:
                yield from _verified(workspace, Path(build.location or ""))

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)
        folder = self._room.home / "builds" / "bench" / f"v{number + 1}"
        yield from _leftovers(folder)


class RagBuild:
    """`build` of an offline file into the same outputs again and again: two contents take turns."""

    name = "build (offline)"

    def __init__(self, room: Room) -> None:
        self._room = room
        lines = (SAMPLES / "offline_dataset.jsonl").read_bytes().splitlines(keepends=True)
        for turn, kept in enumerate((lines, lines[: len(lines) // 2])):
            (room.folder / f"offline{turn}.jsonl").write_bytes(b"".join(kept))
        (room.folder / "rag").mkdir()

    def begin(self, number: int) -> Sequence[str]:
        outputs = ("--qa-output", "rag/qa.jsonl", "--summary-output", "rag/s.jsonl", "--manifest-output", "rag/m.json")
        source = f"offline{number % 2}.jsonl"
        return ("build", "--offline-dataset", source, *outputs, "--version", f"v{number + 1}", "--force", "--jobs", "1")

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        manifest = self._room.folder / "rag" / "m.json"
        recover(manifest.parent)
        if manifest.exists():
            yield from _verified(Workspace(self._room.settings), manifest)
        elif done:
            yield Fault("lost", "build ended well and there is no manifest")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)
        yield from _leftovers(self._room.folder / "rag")


class _Compared:
    """A command whose files must be those of a run that nobody killed, or not be there."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._whole: dict[str, dict[str, str]] = {}

    def arguments(self, kind: str, out: Path) -> Sequence[str]:
        raise NotImplementedError

    def kind(self, number: int) -> str:
        return ""

    def out(self, number: int) -> Path:
        return self._room.folder / "compared" / f"{type(self).__name__.lower()}{number}"

    def begin(self, number: int) -> Sequence[str]:
        kind = self.kind(number)
        if kind not in self._whole:
            reference = self.out(-1 - len(self._whole))
            reference.mkdir(parents=True)
            Command(self._room, self.arguments(kind, reference)).to_the_end()
            self._whole[kind] = _hashes(reference)
        self.out(number).mkdir(parents=True)
        return self.arguments(kind, self.out(number))

    def again(self, number: int) -> Sequence[str]:
        return self.arguments(self.kind(number), self.out(number))

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        recover(self.out(number))
        there = {
            name: digest for name, digest in _hashes(self.out(number)).items() if not name.endswith(".calls.jsonl")
        }
        whole = {
            name: digest for name, digest in self._whole[self.kind(number)].items() if not name.endswith(".calls.jsonl")
        }
        if there and there != whole:
            yield Fault("half", f"{self.arguments('', Path())[0]}: {sorted(there)} differ from {sorted(whole)}")
        if done and not there:
            yield Fault("lost", f"{self.arguments('', Path())[0]} ended well and left no file")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)
        yield from _leftovers(self.out(number))


class Extract(_Compared):
    name = "extract"

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        repository = room.folder / "repository"
        subprocess.run(["git", "init", "-q", "-b", "main", str(repository)], check=True)
        stream = (SAMPLES / "shop.fastimport").read_bytes()
        subprocess.run(["git", "fast-import", "--quiet", "--force"], cwd=repository, input=stream, check=True)

    def arguments(self, kind: str, out: Path) -> Sequence[str]:
        return ("extract", "git", "--repo", "repository", "--out-dir", str(out), "--revision", "main")


class Generate(_Compared):
    name = "generate"

    def __init__(self, room: Room) -> None:
        super().__init__(room)
        folder = room.folder / "documents"
        folder.mkdir()
        for number in range(DOCUMENTS):
            text = f"Parcel {number} weighs {number} kilograms. "
            text += f"Parcel {number} left the house on day {number}. The owner of parcel {number} pays {number} euros."
            (folder / f"d{number:02}.txt").write_text(text)

    def arguments(self, kind: str, out: Path) -> Sequence[str]:
        return ("generate", "--documents", "documents", "--out", str(out / "g.jsonl"))

    def again(self, number: int) -> Sequence[str]:
        return (*super().again(number), "--resume")


class Export(_Compared):
    name = "export"
    formats = ("case-jsonl", "live-jsonl", "yaml", "deepeval")

    def kind(self, number: int) -> str:
        return self.formats[number % len(self.formats)]

    def arguments(self, kind: str, out: Path) -> Sequence[str]:
        return ("export", "bench", "--format", kind, "--out", str(out / "exported"))


class Backup:
    """Of a small workspace: that of the campaign grows with every kill."""

    name = "backup"

    def __init__(self, room: Room) -> None:
        self._room = room
        with Workspace.open(Settings(home=room.folder / "small")) as workspace:
            workspace.intake.ingest([_lines(room.folder / "small.jsonl", 200)])

    def begin(self, number: int) -> Sequence[str]:
        return ("--home", "small", "--db", "small/evergold.db", "backup", "kept/workspace.backup")

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        file = self._room.folder / "kept" / "workspace.backup"
        if not file.exists():
            if done:
                yield Fault("lost", "backup ended well and left no file")
            return
        try:
            Workspace(self._room.settings).backups.check(file)
        except EvergoldError as problem:
            yield Fault("half", problem.message)

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)
        yield from _leftovers(self._room.folder / "kept")


class Restore:
    """Two backups take turns in a workspace of their own: it is always one of the two."""

    name = "restore"
    sizes = (10, 25)

    def __init__(self, room: Room) -> None:
        self._room = room
        for turn, size in enumerate(self.sizes):
            with Workspace.open(Settings(home=room.folder / f"made{turn}")) as workspace:
                workspace.intake.ingest([_lines(room.folder / f"made{turn}.jsonl", size)])
                workspace.backups.write(room.folder / f"made{turn}.backup")

    def begin(self, number: int) -> Sequence[str]:
        return (
            "--home",
            "restored",
            "--db",
            "restored/evergold.db",
            "restore",
            f"made{number % 2}.backup",
            "--replace",
        )

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        home = self._room.folder / "restored"
        if not (home / "evergold.db").exists():
            return
        with Workspace.open(Settings(home=home)) as workspace, workspace.store.db.read() as connection:
            count = connection.execute(select(func.count()).select_from(traces)).scalar_one()
            state = connection.exec_driver_sql("PRAGMA integrity_check").scalar_one()
        wanted = (self.sizes[number % 2],) if done else (*self.sizes, 0)
        if count not in wanted or state != "ok":
            yield Fault("half", f"restored workspace has {count} traces, integrity {state}")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)


def _lines(path: Path, count: int) -> Path:
    path.write_text("".join(f'{{"id": "r{at}", "input": "What?", "output": "That."}}\n' for at in range(count)))
    return path


def _verified(workspace: Workspace, manifest: Path) -> Iterator[Fault]:
    try:
        failed = [finding.message for finding in workspace.rag.verify(manifest).failed]
    except EvergoldError as problem:
        failed = [problem.message]
    for message in failed:
        yield Fault("half", f"{manifest}: {message}")


def _leftovers(folder: Path) -> Iterator[Fault]:
    """Temporary files of the killed command that its next run should have removed."""
    for path in sorted(folder.rglob(".*.tmp")):
        yield Fault("half", f"{path} was left behind")


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }
