"""Print results: JSON when asked for, tables and progress bars on a terminal, neither in a pipe."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import orjson

json_flag = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
cluster_option = click.option(
    "--cluster", metavar="tcp://…", help="Dask scheduler whose workers do the work; they see the same files."
)


def emit_json(value: Any) -> None:
    # Counters by number (such as histograms) are keys of JSON objects here.
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=_plain)
    click.echo(text.decode())


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return str(value)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: Sequence[str] = ()) -> None:
    """A table on a terminal; tab-separated lines in a pipe, where programs read them."""
    if not sys.stdout.isatty():
        for row in [columns, *rows]:
            click.echo("\t".join(one_line(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=title, title_justify="left", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for column in columns:
        # A cell of a table must not push the others off the screen; --json has texts whole.
        drawn.add_column(column, justify="right" if column in numbers else "left", overflow="ellipsis", max_width=60)
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    Console().print(drawn)


def one_line(cell: Any) -> str:
    return " ".join(str("" if cell is None else cell).split())


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing in a pipe. Yields the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda amount: bar.advance(task, amount)
