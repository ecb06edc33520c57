"""Cases as columns, for a Parquet file or a Hugging Face folder.

Tables want one type per column, and loaders guess types: a text that looks like a date comes back as a date. So every
column's type is declared, texts stay texts, and what has no column travels as the JSON text of one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

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


class HuggingFace:
    """A folder that `datasets.load_dataset(FOLDER)` loads: a card that declares the types, and JSON lines per split."""

    suffix: ClassVar[str] = ""

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"---\n") and b"data_files" in head

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """The split of a case is its metadata's `split`, where that is a plain name; else `test`."""
        counts: dict[str, int] = {}
        with FileSet() as files:
            outs: dict[str, Any] = {}
            for case in cases:
                split = _split_of(case)
                if split not in outs:
                    outs[split] = files.open(path / "data" / f"{split}-00000-of-00001.jsonl")
                outs[split].write(orjson.dumps(row_of(case), option=orjson.OPT_APPEND_NEWLINE))
                counts[split] = counts.get(split, 0) + 1
            files.open(path / "README.md").write(_card(sorted(counts)).encode())
        return sum(counts.values())

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        folder = path if path.is_dir() else path.parent
        found = sorted((folder / "data").glob("*.jsonl"))
        if not found:
            raise BadInput(
                f"{folder}: no data/*.jsonl; a folder with Parquet files is read file by file (--format parquet)"
            )
        for file in found:
            yield from read_lines(file, case_of)


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
                "data_files": [{"split": split, "path": f"data/{split}-*.jsonl"} for split in splits],
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
        arrow, parquet = _arrow()
        kinds = {"tags": arrow.list_(arrow.string()), "contexts": arrow.list_(arrow.string())}
        schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in COLUMNS])
        count = 0
        with FileSet() as files, parquet.ParquetWriter(files.open(path), schema) as writer:
            rows: list[Record] = []
            for case in cases:
                rows.append(row_of(case))
                count += 1
                if len(rows) == BATCH:
                    writer.write_table(arrow.Table.from_pylist(rows, schema))
                    rows = []
            if rows:
                writer.write_table(arrow.Table.from_pylist(rows, schema))
        return count

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
