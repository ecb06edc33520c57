"""Export cases in parts: a worker writes the files of some of them, and the parts are joined here.

A format that workers of a cluster may write has the attribute `joining`: given the name of one of its files and a way to open
that file, it gives who joins the parts of it. The outcome is, byte for byte or row for row, what one process writes. Fields that
a format has no column for are counted, so that an export reports what it carried on the side.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Protocol

from evergold import plugins
from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.seams import Format
from evergold.spread import Spread
from evergold.storage.compression import ENDINGS

Opener = Callable[[], BinaryIO]


class JoinedFile(Protocol):
    """The file of all cases as it grows, part by part."""

    def add(self, content: bytes) -> None: ...

    def close(self) -> None: ...


Joining = Callable[[str, Opener], JoinedFile]


class JoinedLines:
    """Lines after lines."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._out = opener()

    def add(self, content: bytes) -> None:
        self._out.write(content)

    def close(self) -> None:
        """There is nothing behind the last line."""


class JoinedArray:
    """JSON arrays, one record to a line, as one array."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._out = opener()
        self._begun = False

    def add(self, content: bytes) -> None:
        records = content.strip().removeprefix(b"[").removesuffix(b"]").strip()
        if records:
            self._out.write(b",\n" if self._begun else b"[\n")
            self._out.write(records)
            self._begun = True

    def close(self) -> None:
        self._out.write(b"\n]\n" if self._begun else b"[]\n")


class JoinedYaml:
    """Lists of YAML under one key, in the first line of each part."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._out = opener()
        self._begun = False
        self._empty = b""

    def add(self, content: bytes) -> None:
        listed = content.partition(b"\n")[2]
        if not listed:
            self._empty = content  # `key: []`
            return
        self._out.write(listed if self._begun else content)
        self._begun = True

    def close(self) -> None:
        if not self._begun:
            self._out.write(self._empty)


WATCHED = (
    "messages",
    "turn",
    "tools",
    "tool_calls",
    "expected_tools",
    "tests",
    "assertions",
    "contexts",
    "prompt",
    "citations",
)


def count_written(cases: Iterable[Case], chosen: Format, total: "WrittenPart") -> Iterator[Case]:
    """Pass cases on to a format; count, for each that it writes, the fields it cannot express and what it rests on.

    A format says in `expresses` what it can; one of another package that says nothing is not counted.
    """
    expresses: frozenset[str] | None = getattr(chosen, "expresses", None)
    for case in cases:
        before = len(total.rejected)
        # Control comes back when the format asks for the next case: by then it has written or rejected this one.
        yield case
        if len(total.rejected) > before:
            continue
        total.evidence[case.stands_on.value] += 1
        if expresses is not None:
            total.unheld.update(field for field in unheld_fields(case) if field not in expresses)


def unheld_fields(case: Case) -> Iterator[str]:
    """The watched fields that say something; one plain question is no conversation."""
    for name in WATCHED:
        value = case.expected_calls() if name == "expected_tools" else getattr(case, name)
        if value and not (name == "messages" and len(value) == 1) and not (name == "turn" and len(value) == 1):
            yield name


@dataclass(frozen=True)
class CasesPart:
    """Some cases in the order of the export, with the integers by which SQL knows them where the format names those."""

    cases: Sequence[Case]
    numbers: Mapping[tuple[str, str], int] | None = None


@dataclass
class WrittenPart:
    """The files of a part by their names, and what a caller of the format would have got beside them."""

    files: dict[str, bytes] = field(default_factory=dict)
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    unheld: Counter[str] = field(default_factory=Counter)
    evidence: Counter[str] = field(default_factory=Counter)


def require_joinable(format_name: str) -> None:
    """Refuse a format whose parts do not make a file, or that asks for changes, which workers do not have."""
    made = plugins.load_all("formats", plugins.names("formats"), partial(plugins.factory, "formats"))
    able = [name for name, one in made.items() if hasattr(one, "joining")]
    if format_name not in able:
        alone = getattr(made.get(format_name), "needs_changes", False)
        why = "workers do not have the repository it asks for changes" if alone else "a part of its file is no file"
        raise BadInput(
            f"{format_name} is written by one process, since {why}; leave --cluster out, or take one of: {', '.join(able)}"
        )


def write_cases(format_name: str, name: str, part: CasesPart) -> WrittenPart:
    """Write some cases as `name` and whatever belongs beside it; what a worker does."""
    chosen: Format = plugins.load("formats", format_name)
    written = WrittenPart()
    options: dict[str, Any] = {"rejected": written.rejected}
    if part.numbers is not None:
        options["numbers"] = lambda cases: part.numbers
    with TemporaryDirectory(prefix="evergold-") as folder:
        root = Path(folder)
        written.count = chosen.write(count_written(part.cases, chosen, written), root / name, **options)
        files = [path for path in sorted(root.rglob("*")) if path.is_file()]
        written.files = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    return written


def write_joined(spread: Spread, format_name: str, parts: Iterable[CasesPart], path: Path, total: WrittenPart) -> int:
    """Have workers write the parts and join them; the files appear whole or not at all. `total` gets what was left out."""
    chosen: Any = plugins.load("formats", format_name)
    # Parts are never packed: the file of all of them is, by its name.
    name = path.stem if path.suffix in ENDINGS else path.name
    work = partial(write_cases, format_name, name)
    joined: dict[str, JoinedFile] = {}
    with FileSet() as files:
        # No cases at first: an export of none has files too.
        for part in chain([work(CasesPart(()))], spread(work, parts)):
            for one, content in part.files.items():
                if one not in joined:
                    target = path if one == name else path.parent / one
                    joined[one] = chosen.joining(one, partial(files.open, target))
                joined[one].add(content)
            total.count += part.count
            total.rejected += part.rejected
            total.unheld.update(part.unheld)
            total.evidence.update(part.evidence)
        # Files in folders first: the one at the top, which names them, is the last to appear in a store.
        for one in sorted(joined, key=lambda one: -one.count("/")):
            joined[one].close()
    for left in getattr(chosen, "may_write", lambda path: ())(path):
        if left.name != name and left.name not in joined:
            left.unlink(missing_ok=True)  # of an earlier export
    return total.count
