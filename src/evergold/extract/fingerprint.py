"""Each golden range carries its proof: the blob at base it lies in, and a hash of its text."""

from collections.abc import Iterable
from typing import NamedTuple

from evergold.extract.spans import text_hash
from evergold.model.case import LineRange
from evergold.repo.git import Repo


def split_lines(content: bytes) -> list[bytes]:
    """Lines as git counts them: ended by a line feed and nothing else, the end kept."""
    lines = content.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


class Head(NamedTuple):
    """The beginning of a file, split at its line feeds; the last piece is what comes behind the last of them.

    A proof asks for a few lines of a long file: nothing behind them is split, and no line end is put back on the others.
    """

    pieces: list[bytes]

    @classmethod
    def of(cls, content: bytes, lines: int) -> "Head":
        """Enough of a file to know its first `lines` lines."""
        return cls(content.split(b"\n", lines))

    @property
    def line_count(self) -> int:
        """How many lines the file has, as far as it was split."""
        # Text that ends with a line feed has an empty last piece, which is no line.
        return len(self.pieces) - (not self.pieces[-1])

    def text(self, start: int, end: int) -> bytes:
        """Lines as they stand in the file, the end of the last one included where it has one."""
        return b"\n".join(self.pieces[start - 1 : end]) + (b"\n" if end < len(self.pieces) else b"")


def with_proof(ranges: Iterable[LineRange], repo: Repo, commit: str, proved: str) -> tuple[LineRange, ...]:
    """Ranges with source `proved` get blob and hash. All are cut to the length of their file at the commit.

    A range that lies behind the end of its file, or in a file the commit does not have, stays as it was found.
    """
    # Several ranges lie in one file, which is read once.
    files: dict[str, tuple[str, list[bytes]] | None] = {}
    done: list[LineRange] = []
    for item in ranges:
        if item.path not in files:
            result = repo.objects.at(commit, item.path)
            blob = result.id if result and result.kind == "blob" else None
            files[item.path] = (blob, split_lines(repo.objects.read(blob))) if blob else None
        file = files[item.path]
        if file is None or item.start > len(file[1]):
            done.append(item)
            continue
        blob, lines = file
        end = min(item.end, len(lines))
        update: dict[str, object] = {"end": end}
        if proved in item.sources:
            update |= {"blob": blob, "text_hash": text_hash(lines[item.start - 1 : end])}
        done.append(item.model_copy(update=update))
    return tuple(done)
