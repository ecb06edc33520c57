"""Rows as a table of Arrow, pandas or Polars, for notebooks and other people's tools."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from typing import Any

from evergold.errors import BadInput
from evergold.formats.columns import arrow
from evergold.model.notebook import html_of_rows

Row = Mapping[str, Any]
BATCH = 2000
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
        while rows := [dict(row) for row in islice(source, BATCH)]:
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
