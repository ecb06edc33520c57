"""Cases of an export as parts of work: a worker writes the file of some of them, and the parts are joined here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evergold import plugins
from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.unheld import counted_unheld
from evergold.model.case import Case
from evergold.model.rejected import Rejected
from evergold.seams import Format
from evergold.spread import Spread


@dataclass(frozen=True)
class CasesPart:
    """Some cases in the order of the export, with the integers by which SQL knows them where the format names those."""

    cases: Sequence[Case]
    numbers: Mapping[tuple[str, str], int] | None = None


@dataclass
class WrittenPart:
    """The bytes of a part's file, and what a caller of the format would have got beside it."""

    content: bytes = b""
    count: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    unheld: Counter[str] = field(default_factory=Counter)


def require_joinable(format_name: str) -> None:
    """Refuse a format whose parts do not make a file."""
    able = [name for name in plugins.names("formats") if _is_joinable(name)]
    if format_name not in able:
        raise BadInput(
            f"{format_name} is written by one process; leave --cluster out, or take one of: {', '.join(able)}"
        )


def _is_joinable(format_name: str) -> bool:
    return bool(getattr(plugins.factory("formats", format_name), "joinable", False))


def write_cases(format_name: str, part: CasesPart) -> WrittenPart:
    """Write some cases; what a worker does."""
    chosen: Format = plugins.load("formats", format_name)
    written = WrittenPart()
    options: dict[str, Any] = {"rejected": written.rejected}
    if part.numbers is not None:
        options["numbers"] = lambda cases: part.numbers
    with TemporaryDirectory(prefix="evergold-") as folder:
        path = Path(folder) / "part"
        cases = counted_unheld(part.cases, chosen, written.unheld, written.rejected)
        written.count = chosen.write(cases, path, **options)
        written.content = path.read_bytes()
    return written


def write_joined(spread: Spread, format_name: str, parts: Iterable[CasesPart], path: Path, total: WrittenPart) -> int:
    """Have workers write the parts and join them; the file appears whole or not at all. `total` gets what was left out."""
    with FileSet() as files:
        out = files.open(path)
        for part in spread(partial(write_cases, format_name), parts):
            out.write(part.content)
            total.count += part.count
            total.rejected += part.rejected
            total.unheld.update(part.unheld)
    return total.count
