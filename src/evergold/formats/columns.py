"""Cases as columns, for a Parquet file or a Hugging Face folder.

Tables want one type per column, and loaders guess types: `datasets` takes a column of JSON texts that all look like dates for
dates, even where the card says text, and writes them differently. So every column's type is declared in the file itself,
texts stay texts, and what has no column travels as the JSON text of one. `Frame` gives any rows as a table of Arrow, pandas
or Polars, for notebooks and other people's tools.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import orjson
import yaml

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.lines import Record, columns_of, first_object, first_record, read_lines, read_objects, try_line
from evergold.formats.parts import JoinedFile, Joining, Opener
from evergold.formats.records import (
    KEY,
    answer_of,
    carry_fields,
    question_of,
    rebuild_case,
    unread_of,
    with_edits,
)
from evergold.formats.tables import arrow
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.report import html_of_rows
from evergold.model.run import Attempt
from evergold.model.trace import Trace

TEXTS = ("id", "dataset", "kind", "entry_type", "input", "output", "expected")
HELD = set(TEXTS)
SHOWN = ("reference", "messages", "turn", "tools")  # for people and loaders; the truth is carried
LISTS = ("tags", "contexts")
COLUMNS = (*TEXTS, *LISTS, *SHOWN, "evergold")
BATCH = 1000
ASKED = ("input", "question", "prompt", "query", "instruction", "user_input", "problem")
# An `answer` comes last: beside one of the others it is what a model answered.
ANSWERED = (
    "expected",
    "expected_output",
    "expected_answer",
    "reference_answer",
    "correct_answer",
    "ground_truth",
    "reference",
    "target",
    "solution",
    "ideal",
    "completion",
    "answer",
)
READABLE = (".parquet", ".jsonl", ".json")


def row_of(case: Case) -> Record:
    row: Record = {name: getattr(case, name) for name in TEXTS}
    row["tags"] = list(case.tags)
    row["contexts"] = [context.text or "" for context in case.contexts]
    row["reference"] = case.reference_text()
    for name in ("messages", "turn", "tools"):
        held = getattr(case, name)
        row[name] = orjson.dumps(held).decode() if held else None
    row["evergold"] = orjson.dumps(carry_fields(case, HELD, shows_reference=False)).decode()
    return row


def case_of(row: Record) -> Case:
    """A row of ours, or of anybody's table: the question and the answer have many names, and other columns are kept."""
    if not row.get(KEY):
        return _read_foreign(row)
    shown = _show_value(row)
    case = rebuild_case(
        {name: row.get(name) for name in TEXTS}, {KEY: orjson.loads(row[KEY])}, unread=unread_of(row, *COLUMNS)
    )
    return with_edits(case, shown, _show_value(row_of(case)))


def _show_value(row: Record) -> Record:
    return {"tags": tuple(row.get("tags") or ()), "contexts": [{"text": text} for text in row.get("contexts") or []]}


ITEM_SIGNS = tuple(
    f'"{key}"'.encode()
    for key in ("datasetId", "dataset_id", "sourceTraceId", "source_trace_id", "source_run_id", "node_id", "example_id")
)
"""Keys by which an example of a dataset of Langfuse, LangSmith or Phoenix is known."""
OUTPUTS = ("expected_output", "expectedOutput", "reference_outputs", "outputs", "output")
TRACES = ("sourceTraceId", "source_trace_id", "source_run_id")
BOOKKEEPING = (
    "createdAt",
    "updatedAt",
    "created_at",
    "modified_at",
    "updated_at",
    "node_id",
    "version",
    "mediaReferences",
)


def _is_item(row: Record) -> bool:
    """Whether a row is an example of a tracing platform: input and output are objects, or it names their dataset."""
    asked = row.get("inputs", row.get("input"))
    return isinstance(asked, dict | list) or (asked is not None and any(name in row for name in ("datasetId", *TRACES)))


def _item(row: Record) -> Case:
    """An example of a dataset of Langfuse, LangSmith or Phoenix; what is said beside question and answer is kept."""
    if row.get("status") == "ARCHIVED":
        raise ValueError("archived there, so it is left out")
    asked = "inputs" if "inputs" in row else "input"
    question, messages, key = question_of(row[asked])
    out = next((name for name in OUTPUTS if row.get(name) is not None), "")
    answer, answer_key = answer_of(row.get(out))
    trace = next((row[name] for name in TRACES if row.get(name)), None)
    ident = row.get("id") or row.get("example_id")
    held = {"id": None if ident is None else str(ident), "input": question, "expected": answer}
    guessed = {"messages": messages, "provenance": {"source": "import", "trace_id": trace} if trace else None}
    # An input with more than its question keeps the rest: other variables, tools, parameters.
    more = {
        asked: unread_of(row[asked], key or "") if isinstance(row[asked], dict) and key else {},
        out: unread_of(row[out], answer_key) if out and isinstance(row[out], dict) and answer_key else {},
    }
    unread = unread_of(row, asked, out, "id", "example_id", "metadata", "datasetName", *TRACES, *BOOKKEEPING)
    unread |= {name: value for name, value in more.items() if value}
    metadata = row.get("metadata") if isinstance(row.get("metadata"), dict) else {}
    name = str(row.get("datasetName") or row.get("dataset_name") or "imported")
    return rebuild_case(held, metadata, guessed=guessed, dataset=name, unread=unread)


def _plain_name(name: str) -> str:
    """A column's name as it is known, if it is: `Ground Truth` is `ground_truth`."""
    plain = name.strip().lower().replace(" ", "_")
    return plain if plain in (*ASKED, *ANSWERED) else name


def begins_with_question(head: bytes) -> bool:
    """Whether the first object of a file is a question with its answer, as anybody writes them: no format of its own."""
    row = {_plain_name(name): value for name, value in first_object(head).items()}
    asked = any(isinstance(row.get(name), str) for name in ASKED)
    return asked and any(row.get(name) is not None for name in (*ANSWERED, *OUTPUTS))


def _read_foreign(row: Record) -> Case:
    if _is_item(row):
        return _item(row)
    row = {_plain_name(name): value for name, value in row.items()}
    # A line of instruction tuning: what it is about stands in `input`.
    if isinstance(asked := row.get("instruction"), str) and isinstance(subject := row.get("input"), str):
        row = row | {"input": f"{asked}\n\n{subject}".strip(), "instruction": None}
    texts = {name for name, value in row.items() if isinstance(value, str) and value.strip()}
    several = {
        name for name in ANSWERED if isinstance(row.get(name), list) and row[name] and isinstance(row[name][0], str)
    }
    asked = next((name for name in ASKED if name in texts), None)
    answered = next((name for name in ANSWERED if name in texts | several), None)
    if asked is None:
        raise ValueError(
            f"no column holds the question (one of {', '.join(ASKED)}); there are: {', '.join(map(str, row))}"
        )
    # With a column `input` the table probably has our column names; under another name `tags` may mean anything.
    ours = (*HELD, *LISTS) if asked == "input" else ("id",)
    known = {asked, None if answered in several else answered, *ours}
    # Any of several answers is right: the first is taken, and all are kept.
    right = row[answered] if answered else None
    right = right[0] if answered in several and right else right
    contexts = [{"text": text} for text in row.get("contexts") or [] if isinstance(text, str)]
    held = {name: row.get(name) for name in TEXTS if name in known and name not in ("id", "dataset")}
    held |= {"input": row[asked], "expected": right}
    held["id"] = str(row["id"]) if row.get("id") is not None else None
    guessed = {"tags": row.get("tags"), "contexts": contexts} if "contexts" in known else {}
    return rebuild_case(held, None, guessed=guessed, unread=unread_of(row, *map(str, known)))


class _Sink:
    """A file for Arrow, which writes the end of a table even when the file was given up: that goes nowhere."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self.closed = False

    def write(self, content: bytes) -> int:
        return len(content) if self._handle.closed else self._handle.write(content)

    def flush(self) -> None:
        if not self._handle.closed:
            self._handle.flush()

    def close(self) -> None:
        """The file is closed by those who opened it."""


class _Table:
    """One Parquet file with declared types as it grows, a thousand rows at a time."""

    def __init__(self, handle: BinaryIO) -> None:
        self._arrow, parquet = arrow()
        text = self._arrow.string()
        # Declared and not inferred: a batch whose texts are all null would otherwise get the type null.
        self._schema = self._arrow.schema(
            [(name, self._arrow.list_(text) if name in LISTS else text) for name in COLUMNS]
        )
        self._writer = parquet.ParquetWriter(_Sink(handle), self._schema)
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

    def write(self, rows: Any) -> None:
        """Write an Arrow table of such rows."""
        self._writer.write_table(rows)

    def _flush(self) -> None:
        self.write(self._arrow.Table.from_pylist(self._rows, self._schema))
        self._rows = []


class JoinedTable:
    """Parquet files of the same columns as one."""

    def __init__(self, _name: str, opener: Opener) -> None:
        _, self._parquet = arrow()
        self._table = _Table(opener())

    def add(self, content: bytes) -> None:
        self._table.write(self._parquet.read_table(BytesIO(content)))

    def close(self) -> None:
        self._table.close()


class JoinedCard:
    """The cards of folders as the card of all of them, written last."""

    def __init__(self, _name: str, opener: Opener) -> None:
        self._open = opener
        self._splits: set[str] = set()

    def add(self, content: bytes) -> None:
        head = yaml.safe_load(content.split(b"---\n")[1])
        self._splits |= {one["split"] for one in head["configs"][0]["data_files"]}

    def close(self) -> None:
        self._open().write(_card(sorted(self._splits)).encode())


class HuggingFace:
    """A folder that `datasets.load_dataset(FOLDER)` loads: a card that names the splits, and a Parquet file for each.

    Folders whose splits are JSON lines are read too.
    """

    suffix: ClassVar[str] = ""

    def joining(self, name: str, opener: Opener) -> JoinedFile:
        return JoinedTable(name, opener) if name.endswith(".parquet") else JoinedCard(name, opener)

    def accepts(self, head: bytes) -> bool:
        return head.startswith(b"---\n") and b"data_files" in head

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """The split of a case is its metadata's `split`, where that is a plain name; else `test`."""
        arrow()
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
        """The files that the card names, split by split; of a folder without such a card, those under `data`."""
        folder = path if path.is_dir() else path.parent
        files = _list_values(folder) or [(None, file) for file in sorted((folder / "data").glob("*"))]
        readable = [(split, file) for split, file in files if file.suffix in READABLE]
        if not readable:
            raise BadInput(
                f"{folder}: nothing to read; expected Parquet files or JSON lines, in data/ or named by the card"
            )
        for split, file in readable:
            for item in Parquet().read(file) if file.suffix == ".parquet" else read_lines(file, case_of):
                # A case of another tool remembers the split it stood in, so that it stands there again when exported.
                if isinstance(item, Case) and split not in (None, _split_of(item)) and "split" not in item.metadata:
                    item = item.model_copy(update={"metadata": {**item.metadata, "split": split}})
                yield item


def _list_values(folder: Path) -> list[tuple[str | None, Path]]:
    """The split and file of each entry in the card's `data_files`; patterns stay inside the folder."""
    card = folder / "README.md"
    head = card.read_text("utf-8", "replace").split("---\n") if card.is_file() else []
    try:
        content = yaml.safe_load(head[1]) if len(head) > 2 else None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        raise BadInput(f"{card}: its head is not YAML: {' '.join(str(problem).split())}") from problem
    configs = content.get("configs") if isinstance(content, dict) else None
    entries = [
        one for config in configs or [] if isinstance(config, dict) for one in _entries(config.get("data_files"))
    ]
    return [
        (split, file)
        for split, pattern in entries
        # The card is somebody else's text: a pattern such as `../*` must not read other folders.
        if not Path(pattern).is_absolute() and ".." not in Path(pattern).parts
        for file in sorted(folder.glob(pattern))
    ]


def _entries(data_files: Any) -> Iterator[tuple[str | None, str]]:
    """`data_files` is a pattern, a list of them, or a list of `{split, path}`."""
    for one in data_files if isinstance(data_files, list) else [data_files]:
        split = one.get("split") if isinstance(one, dict) else None
        patterns = one.get("path") if isinstance(one, dict) else one
        for pattern in patterns if isinstance(patterns, list) else [patterns]:
            if isinstance(pattern, str):
                yield split, pattern


def _split_of(case: Case) -> str:
    split = case.metadata.get("split")
    return split if isinstance(split, str) and split.isidentifier() else "test"


def _card(splits: list[str]) -> str:
    features = [{"name": name, "list" if name in LISTS else "dtype": "string"} for name in COLUMNS]
    files = [{"split": split, "path": f"data/{split}-*.parquet"} for split in splits]
    card = {
        "configs": [{"config_name": "default", "data_files": files}],
        "dataset_info": {"config_name": "default", "features": features},
    }
    return f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n\nEvaluation cases, exported by Evergold.\n"


class Parquet:
    """One Parquet file with declared types (extra `export`). Read are also CSV and JSON of such rows, ours or anybody's."""

    suffix: ClassVar[str] = ".parquet"
    joining: ClassVar[Joining] = JoinedTable

    def accepts(self, head: bytes) -> bool:
        if head.startswith(b"PAR1"):
            return True
        if columns := list(map(_plain_name, columns_of(head))):
            asked = [name for name in columns if name.partition(".")[0] in (*ASKED, "inputs")]
            return bool(asked) and len(set(columns) & {"id", *ANSWERED, *OUTPUTS}) + len(asked) > 1
        if head.lstrip()[:1] not in (b"[", b"{"):
            return False
        first = first_record(head)
        listed = b'"input' in head and any(sign in head for sign in ITEM_SIGNS)
        return listed or (_is_item(first) and "expectations" not in first and any(name in first for name in OUTPUTS))

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        arrow()
        with FileSet() as files:
            table = _Table(files.open(path))
            for case in cases:
                table.add(case)
            table.close()
        return table.count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        yield from (try_line(row, where, case_of) for where, row in read_objects(path))


Row = Mapping[str, Any]
FRAME_ROWS = 2000
SHOWN_ROWS = 10
TYPES: dict[str, Callable[[Any], Any]] = {
    "text": lambda pyarrow: pyarrow.string(),
    "number": lambda pyarrow: pyarrow.float64(),
    "count": lambda pyarrow: pyarrow.int64(),
    "flag": lambda pyarrow: pyarrow.bool_(),
    "time": lambda pyarrow: pyarrow.timestamp("us", "UTC"),
    "texts": lambda pyarrow: pyarrow.list_(pyarrow.string()),
}


@dataclass(frozen=True)
class Frame:
    """A table that is read when it is asked for. `columns` gives each its type: one of `TYPES`.

    In a notebook it shows its first rows.
    """

    title: str
    columns: Mapping[str, str]
    rows: Callable[[], Iterable[Row]]

    def to_arrow(self) -> Any:
        """A `pyarrow.Table`; batch by batch, so that only the columns are held and not the objects they came from."""
        pyarrow, _ = arrow()
        schema = pyarrow.schema([(name, TYPES[kind](pyarrow)) for name, kind in self.columns.items()])
        source = iter(self.rows())
        batches = []
        # Rows may be any mapping; Arrow wants dicts.
        while rows := [dict(row) for row in islice(source, FRAME_ROWS)]:
            batches.append(pyarrow.RecordBatch.from_pylist(rows, schema))
        return pyarrow.Table.from_batches(batches, schema)

    def to_pandas(self) -> Any:
        """A `pandas.DataFrame`."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """A `polars.DataFrame`."""
        return _require("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        # One row more than is shown tells whether there are more.
        rows = list(islice(self.rows(), SHOWN_ROWS + 1))
        title = f"{self.title}, the first {SHOWN_ROWS} (all: .to_pandas())" if len(rows) > SHOWN_ROWS else self.title
        return html_of_rows(
            title, self.columns, ([row.get(name) for name in self.columns] for row in rows[:SHOWN_ROWS])
        )


def _require(package: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as problem:
        raise BadInput(f"{package} is not installed: pip install {package}") from problem


TRACE_COLUMNS = {
    **dict.fromkeys(("id", "session_id", "user_id", "name", "input", "output", "status"), "text"),
    **dict.fromkeys(("started_at", "ended_at"), "time"),
    "cost": "number",
    "cost_source": "text",
    "tags": "texts",
    **dict.fromkeys(("scores", "metadata"), "text"),
}
CASE_COLUMNS = {
    **dict.fromkeys(("id", "dataset", "kind", "entry_type", "input", "output", "reference"), "text"),
    **dict.fromkeys(("reference_origin", "review", "evidence"), "text"),
    "tags": "texts",
    **dict.fromkeys(("trace_id", "session_id"), "text"),
    "created_at": "time",
    **dict.fromkeys(("messages", "tools", "metadata"), "text"),
}
ATTEMPT_COLUMNS = {
    "case_id": "text",
    "trial": "count",
    **dict.fromkeys(("input", "reference", "output", "error"), "text"),
    "latency_ms": "number",
    **dict.fromkeys(("input_tokens", "output_tokens"), "count"),
    "cost": "number",
    "cached": "flag",
}


def trace_row(trace: Trace) -> dict[str, Any]:
    shown = ("name", "value", "source", "comment")
    scores = [{name: getattr(score, name) for name in shown} for score in trace.scores]
    row = {name: getattr(trace, name) for name in TRACE_COLUMNS}
    return row | {"tags": list(trace.tags), "scores": _json(scores), "metadata": _json(trace.metadata)}


def case_row(case: Case) -> dict[str, Any]:
    reference = case.reference()
    row = {name: getattr(case, name, None) for name in CASE_COLUMNS}
    row |= {"reference": case.reference_text(), "reference_origin": reference and reference.origin}
    row |= {"trace_id": case.provenance.trace_id, "session_id": case.provenance.session_id, "tags": list(case.tags)}
    return row | {name: _json(getattr(case, name)) for name in ("messages", "tools", "metadata")}


def attempt_row(attempt: Attempt, case: Case | None, metrics: list[str]) -> dict[str, Any]:
    row = {name: getattr(attempt, name, getattr(attempt.usage, name, None)) for name in ATTEMPT_COLUMNS}
    row |= {"input": case and case.input, "reference": case and case.reference_text()}
    measured = {name: attempt.measurements.get(name) for name in metrics}
    return row | {name: measurement and measurement.value for name, measurement in measured.items()}


def _json(value: Any) -> str | None:
    return orjson.dumps(value, default=str).decode() if value else None
