"""A git repository, read through the `git` program and never written.

Everything Evergold asks of git goes through `Repo`. It reads objects and refs only: it needs no work tree, so a bare
repository is as good as any; nothing is checked out, no hook runs, nothing is fetched. What is not there (no
program, no repository, a commit that a shallow clone cut off) becomes one line that says what to do.

Git writes a path with control characters, quotes, backslashes or bytes above 127 as a C string in double quotes
(`"caf\\303\\251.txt"`). JSON cannot hold a path that is not UTF-8, so such a path keeps git's quoted spelling in our
files: it stays unambiguous, and `path_bytes` gives the bytes back.
"""

import io
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from evergold.errors import BadInput, NotFound, Unavailable

_ESCAPES = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_SPELLINGS = [chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in range(256)]
for _letter, _byte in _ESCAPES.items():
    _SPELLINGS[_byte] = f"\\{chr(_letter)}"
# The first octal digit is at most 3: three octal digits go to 511, a byte to 255.
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|[abtnvfr\"\\])")
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')
_READ_ONLY = {
    # Messages and dates are parsed: a translated git would write them otherwise.
    "LC_ALL": "C",
    # A read such as `git status` may refresh the index of the user; without optional locks it leaves it alone.
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    # A partial clone would fetch missing objects from its remote in the middle of a read.
    "GIT_NO_LAZY_FETCH": "1",
    # `refs/replace` can show other content under the same id; cases quote what the id stands for.
    "GIT_NO_REPLACE_OBJECTS": "1",
}
# A repository that somebody else made may name programs in its own settings. These win over them, so that none is run.
_NO_PROGRAMS = {
    # Bytes of a path that are no UTF-8 would be lost where a diff becomes text.
    "core.quotePath": "true",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "log.showSignature": "false",
    "protocol.allow": "never",
    "submodule.recurse": "false",
}
# Variables that name files of settings, not another repository; tests and CI use them to shut out those of the machine.
_INHERITED = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
_PIPE_SIZE = 1 << 20
_ASKED_AT_ONCE = 100  # few enough that the questions fit a pipe while nobody reads the answers
# A bound on memory, which grows with every listed change.
MOST_COMMITS = 200_000

Answer = subprocess.CompletedProcess[bytes]


def unquote(spelling: bytes) -> bytes:
    """The raw bytes of a path as git wrote it, quoted or plain."""
    if not _QUOTED.fullmatch(spelling):
        return spelling
    return _ESCAPE.sub(lambda match: bytes([_ESCAPES.get(match[1][0]) or int(match[1], 8)]), spelling[1:-1])


def read_quoted(text: bytes) -> bytes | None:
    """The quoted path `text` begins with, quotes included; None where it begins otherwise."""
    match = _QUOTED.match(text)
    return match[0] if match else None


def path_text(raw: bytes) -> str:
    """The path as our files carry it: UTF-8 text, or git's quoted spelling where the bytes are not UTF-8.

    A path that is UTF-8 and itself looks quoted is quoted once more, so that `path_bytes` never guesses.
    """
    if not _QUOTED.fullmatch(raw):
        with suppress(UnicodeDecodeError):
            return raw.decode()
    return '"' + "".join(_SPELLINGS[byte] for byte in raw) + '"'


def path_bytes(text: str) -> bytes:
    """The raw bytes of a path of our files."""
    # A path read from JSON may hold half surrogates: it must not raise here, and it matches no file.
    return unquote(text.encode("utf-8", "surrogatepass"))


class Repo:
    """One repository. Use it as a context manager: it keeps git processes open to answer many questions fast.

    Git runs without our work tree, our locks, a terminal or a network, and its failures are errors of ours.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._indexes: dict[str, ChangeIndex] = {}

    @classmethod
    def open(cls, path: Path | str) -> Self:
        """Raises NotFound for a folder that is missing or holds no repository."""
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise NotFound(f"no folder {str(path)!r}; give the folder of a git repository")
        repo = cls(folder)
        answer = repo.ask("rev-parse", "--git-dir")
        if answer.returncode:
            raise NotFound(f"{str(path)!r} cannot be read as a git repository: {reason_of(answer)}")
        return repo

    @cached_property
    def objects(self) -> "Objects":
        return Objects(self)

    @cached_property
    def shallow_commits(self) -> frozenset[str]:
        """Commits whose parents a shallow clone left out."""
        where = self.run("rev-parse", "--git-path", "shallow").decode().strip()
        try:
            return frozenset((self.path / where).read_text().split())
        except FileNotFoundError:
            return frozenset()

    def changes(self, tip: str) -> "ChangeIndex":
        """The indexed history of a commit, read once; at most its newest 200,000 commits."""
        if tip not in self._indexes:
            self._indexes[tip] = ChangeIndex(_list_changes(self, tip))
        return self._indexes[tip]

    def ask(self, *args: str, input: bytes | None = None, env: dict[str, str] | None = None) -> Answer:
        """Run git once; the caller looks at the exit code."""
        with _require_git():
            return subprocess.run(self._command(args), input=input, capture_output=True, env=_environment(env))

    def run(self, *args: str, env: dict[str, str] | None = None) -> bytes:
        """Run git once; its failure is an error that carries git's own words."""
        answer = self.ask(*args, env=env)
        if answer.returncode:
            raise BadInput(f"git {args[0]} failed in {str(self.path)!r}: {reason_of(answer)}")
        return answer.stdout

    def stream(self, *args: str, stdin: int | None = subprocess.DEVNULL) -> Iterator[bytes]:
        """The output of one git process in pieces of bounded size, while it works. A failure is raised at its end."""
        process = self.start(args, stdin=stdin, stderr=subprocess.PIPE)
        assert process.stdout is not None and process.stderr is not None
        # Git may work ahead of its reader by more than the usual 64 KB; a system that cannot goes on as it is.
        with suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(process.stdout.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        try:
            while piece := os.read(process.stdout.fileno(), _PIPE_SIZE):
                yield piece
            error = process.stderr.read()
            if code := process.wait():
                answer = Answer(args, code, stderr=error)
                raise BadInput(f"git {args[0]} failed in {str(self.path)!r}: {reason_of(answer)}")
        finally:
            # The reader may stop early (a generator that is closed): git would wait for ever for its full pipe to be read.
            process.kill()
            process.stdout.close()
            process.stderr.close()
            process.wait()

    def start(self, args: Sequence[str], stdin: int | None, stderr: int) -> subprocess.Popen[bytes]:
        """Start git and leave it running."""
        with _require_git():
            return subprocess.Popen(
                self._command(args), stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=_environment()
            )

    def _command(self, args: Sequence[str]) -> list[str]:
        settings = [part for name, value in _NO_PROGRAMS.items() for part in ("-c", f"{name}={value}")]
        return ["git", "-C", str(self.path), *settings, *args]

    def close(self) -> None:
        """End the git processes of this repository."""
        # A cached property is looked for without touching it: asking for it would start what is to be ended.
        if "objects" in self.__dict__:
            self.objects.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _require_git() -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as problem:
        raise Unavailable("the program 'git' is not on PATH; install git 2.31 or newer") from problem


def _environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Ours without the variables by which an outer git (a hook, say) would point us at another repository."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _INHERITED}
    return kept | _READ_ONLY | (more or {})


def reason_of(answer: Answer) -> str:
    """Git's first line that says something, without its `fatal:`, and what completes a partial clone."""
    lines = answer.stderr.decode("utf-8", "replace").strip().splitlines()
    telling = (
        [line for line in lines if not line.startswith("warning: ")] or lines or [f"exit code {answer.returncode}"]
    )
    is_partial = "lazy fetching disabled" in "".join(lines) or "promisor remote" in telling[0]
    hint = "; the clone is partial: git fetch --refetch --no-filter" if is_partial else ""
    return telling[0].removeprefix("fatal: ").removeprefix("error: ") + hint


class GitObject(NamedTuple):
    id: str
    kind: str
    size: int


class Objects:
    """Looks objects up by any name git knows: an id, a ref, `COMMIT:PATH`.

    Starting git costs milliseconds; a question to a running `git cat-file` costs microseconds. A case asks for every file it
    touches.
    """

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def find(self, name: str | bytes) -> GitObject | None:
        """The object of that name, or None where the repository has none (or a short id names several)."""
        spelling = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
        # The protocol of cat-file is one name a line. A path with a line end in it does not fit that; its object id does.
        if b"\n" in spelling:
            text = spelling.decode("utf-8", "surrogateescape")
            answer = self._repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", text)
            if answer.returncode:
                return None
            spelling = answer.stdout.strip()
        return self._read_answer(self._ask("--batch-check", [spelling]))

    def commit(self, name: str) -> str | None:
        """The full id of a commit. A tag is followed to its commit; a tree or a blob is none."""
        if not name or name.startswith("-"):
            return None
        result = self.find(f"{name}^{{commit}}")
        return result.id if result and result.kind == "commit" else None

    def require_commit(self, name: str) -> str:
        commit = self.commit(name)
        if commit is None:
            shallow = "; the clone is shallow: git fetch --unshallow" if self._repo.shallow_commits else ""
            raise NotFound(f"commit {name!r} is not in {str(self._repo.path)!r}{shallow}")
        return commit

    def read_at(self, commit: str, path: str) -> GitObject | None:
        """What stands at a path of a commit."""
        return self.find(f"{commit}:".encode() + path_bytes(path))

    def read(self, blob: str) -> bytes:
        """The bytes of a blob that exists."""
        return self.read_many([blob])[0]

    def read_many(self, blobs: list[str]) -> list[bytes]:
        """The bytes of blobs that exist, asked for together so that nobody waits between one and the next."""
        contents: list[bytes] = []
        for at in range(0, len(blobs), _ASKED_AT_ONCE):
            part = blobs[at : at + _ASKED_AT_ONCE]
            process = self._ask("--batch", [blob.encode() for blob in part])
            assert process.stdout is not None
            for blob in part:
                result = self._read_answer(process)
                # A line end follows the content and is no part of it.
                content = process.stdout.read(result.size + 1)[:-1] if result else b""
                if result is None or result.kind != "blob":
                    raise NotFound(f"blob {blob!r} is not in {str(self._repo.path)!r}")
                contents.append(content)
        return contents

    def _ask(self, mode: str, names: Iterable[bytes]) -> subprocess.Popen[bytes]:
        if mode not in self._processes:
            self._processes[mode] = self._repo.start(["cat-file", mode], subprocess.PIPE, subprocess.DEVNULL)
        process = self._processes[mode]
        assert process.stdin is not None
        process.stdin.write(b"".join(name + b"\n" for name in names))
        process.stdin.flush()
        return process

    def _read_answer(self, process: subprocess.Popen[bytes]) -> GitObject | None:
        assert process.stdout is not None
        return parse_answer(process.stdout.readline(), self._repo.path)

    def close(self) -> None:
        for process in self._processes.values():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.stdout.close()
            process.wait()
        self._processes.clear()


def parse_answer(line: bytes, path: Path) -> GitObject | None:
    """`ID KIND SIZE`, or `NAME missing`, or `NAME ambiguous`; NAME may hold anything, so the end is what counts."""
    if not line:
        raise BadInput(f"git cat-file ended while reading {str(path)!r}; is the repository damaged? (git fsck)")
    if line.endswith((b" missing\n", b" ambiguous\n")):
        return None
    id, kind, size = line.split()
    return GitObject(id.decode(), kind.decode(), int(size))


class PathChange(NamedTuple):
    """One file in one commit. A blob is None on the side where the file does not exist."""

    commit: str
    parent: str | None
    old_blob: str | None
    new_blob: str | None


class ChangeIndex:
    """Which commit changed which path from which content to which, in the history of a commit, the newest first.

    One `git log --raw` reads it all; after that a question costs microseconds. A merge is listed with what it brought to its
    first parent, and the commits it brought are listed as well.
    """

    def __init__(self, changes: Iterable[tuple[str, PathChange]]) -> None:
        self._by_path: dict[str, list[PathChange]] = {}
        self.files_of: dict[str, int] = {}
        for path, change in changes:
            self._by_path.setdefault(path, []).append(change)
            self.files_of[change.commit] = self.files_of.get(change.commit, 0) + 1

    def quoted_paths(self) -> list[str]:
        """The paths that are no UTF-8, in git's spelling."""
        return [path for path in self._by_path if path.startswith('"')]

    def of_path(self, path: str) -> list[PathChange]:
        return self._by_path.get(path, [])


def _list_changes(repo: Repo, tip: str) -> Iterator[tuple[str, PathChange]]:
    # Without renames: a renamed file is then a removal and an addition, both with blobs, which is what the lookup compares.
    listing = ["--raw", "--no-abbrev", "--no-renames", "--diff-merges=first-parent", "--topo-order"]
    fields = split_fields(
        repo.stream("log", "-z", "--format=%x01%H %P", f"--max-count={MOST_COMMITS}", *listing, tip, "--")
    )
    commit, parent = "", None
    for field in fields:
        # `log -z` puts a line end between the header of a commit and its first change, so it stands before a later field.
        field = field.lstrip(b"\n")
        # The format marks the header of a commit with \x01; a raw change begins with a colon, and its path follows.
        if field.startswith(b"\x01"):
            commit, *parents = field[1:].decode().split()
            parent = parents[0] if parents else None
        elif field.startswith(b":"):
            _, _, old, new, _ = field.split()
            # Git writes an absent side as an id of zeros, 40 or 64 of them depending on the hash of the repository.
            old_blob, new_blob = (blob.decode() if blob.strip(b"0") else None for blob in (old, new))
            yield path_text(next(fields)), PathChange(commit, parent, old_blob, new_blob)


def split_fields(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The fields of a log of git, which end with a NUL each; the last one may have none behind it."""
    rest = b""
    for piece in pieces:
        *fields, rest = (rest + piece).split(b"\0")
        yield from fields
    if rest:
        yield rest


def split_lines(content: bytes) -> list[bytes]:
    """Lines as git counts them: ended by a line feed and nothing else, the end kept."""
    return io.BytesIO(content).readlines()
