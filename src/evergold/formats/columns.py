"""Cases as columns, for a Parquet file or a Hugging Face folder.

Tables want one type per column, and loaders guess types: `datasets` takes a column of JSON texts that all look like dates for
dates, even where the card says text, and writes them differently. So every column's type is declared in the file itself,
texts stay texts, and what has no column travels as the JSON text of one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import orjson
import yaml

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.carrying import KEY, carried, rebuilt
from evergold.formats.lines import Record, attempted, read_lines
from evergold.model.case import Case
from evergold.model.rejected import Rejected

TEXTS = ("id", "dataset", "kind", "entry_type", "input", "output", "expected")
HELD = set(TEXTS)
COLUMNS = (*TEXTS, "tags", "contexts", "evergold")
BATCH = 1000


def row_of(case: Case) -> Record:
    row: Record = {name: getattr(case, name) for name in TEXTS}
    row["tags"] = list(case.tags)
    row["contexts"] = [context.text or "" for context in case.contexts]
    row["evergold"] = orjson.dumps(carried(case, HELD)).decode()
    return row


def case_of(row: Record) -> Case:
    rest = orjson.loads(row["evergold"]) if row.get("evergold") else None
    guessed = {"tags": row.get("tags"), "contexts": [{"text": text} for text in row.get("contexts") or []]}
    held = {name: row.get(name) for name in TEXTS}
    return rebuilt(held, {KEY: rest} if rest is not None else None, guessed=guessed)


class _Table:
    """One Parquet file with declared types as it grows, a thousand rows at a time."""

    def __init__(self, handle: BinaryIO) -> None:
        self._arrow, parquet = _arrow()
        kinds = {"tags": self._arrow.list_(self._arrow.string()), "contexts": self._arrow.list_(self._arrow.string())}
        self._schema = self._arrow.schema([(name, kinds.get(name, self._arrow.string())) for name in COLUMNS])
        self._writer = parquet.ParquetWriter(handle, self._schema)
        self._rows: list[Record] = []
        self.count = 0

    def add(self, case: Case) -> None:
        self._rows.append(row_of(case))
        self.count += 1
        if len(self._rows) == BATCH:
            self._flush()

    def close(self) -> None:
        if self._rows:
            self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, self._schema))
        self._rows = []


class HuggingFace:
    """A folder that `datasets.load_dataset(FOLDER)` loads: a card that names the splits, and a Parquet file for each.

    Folders whose splits are JSON lines are read too.
    """

    suffix: ClassVar[str] = ""

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"---\n") and b"data_files" in head

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """The split of a case is its metadata's `split`, where that is a plain name; else `test`."""
        _arrow()
        with FileSet() as files:
            tables: dict[str, _Table] = {}
            for case in cases:
                split = _split_of(case)
                if split not in tables:
                    tables[split] = _Table(files.open(path / "data" / f"{split}-00000-of-00001.parquet"))
                tables[split].add(case)
            for table in tables.values():
                table.close()
            files.open(path / "README.md").write(_card(sorted(tables)).encode())
        return sum(table.count for table in tables.values())

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        folder = path if path.is_dir() else path.parent
        found = sorted(file for file in (folder / "data").glob("*") if file.suffix in (".jsonl", ".parquet"))
        if not found:
            raise BadInput(f"{folder}: nothing to read; expected data/*.parquet or data/*.jsonl")
        for file in found:
            yield from Parquet().read(file) if file.suffix == ".parquet" else read_lines(file, case_of)


def _split_of(case: Case) -> str:
    split = case.metadata.get("split")
    return split if isinstance(split, str) and split.isidentifier() else "test"


def _card(splits: list[str]) -> str:
    listed = {name: {"dtype": "string"} for name in (*TEXTS, "evergold")}
    features = [
        {"name": name, **listed[name]} if name in listed else {"name": name, "list": "string"} for name in COLUMNS
    ]
    card = {
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": f"data/{split}-*.parquet"} for split in splits],
            }
        ],
        "dataset_info": {"config_name": "default", "features": features},
    }
    return f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n\nEvaluation cases, exported by Evergold.\n"


class Parquet:
    """One Parquet file with declared types; needs `pip install 'evergold[export]'`."""

    suffix: ClassVar[str] = ".parquet"

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"PAR1")

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        _arrow()
        with FileSet() as files:
            table = _Table(files.open(path))
            for case in cases:
                table.add(case)
            table.close()
        return table.count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        _, parquet = _arrow()
        number = 0
        for batch in parquet.ParquetFile(path).iter_batches(BATCH):
            for row in batch.to_pylist():
                number += 1
                yield attempted(row, f"{path.name}[{number}]", case_of)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError as problem:
        raise BadInput("Parquet needs pyarrow: pip install 'evergold[export]'") from problem
    return pyarrow, parquet
