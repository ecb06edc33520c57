"""Print results: JSON when asked for, tables and progress bars on a terminal, neither in a pipe.

Texts of traces, files and models may hold control characters. A terminal would take them for commands: to clear lines that were
printed before, to set its title, to answer as if somebody had typed. They are printed as signs instead.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
import orjson

from evergold.credentials import hide

JSON_WANTED = "evergold.json"  # where the context of a command keeps the flag --json
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but the tab and the line end
PICTURES = {code: chr(0x2400 + code) for code in range(32)} | {0x7F: "\u2421"}  # of the control characters of ASCII


def echo(message: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, with signs for the control characters in it."""
    click.echo(make_printable(str(message)), err=err, nl=nl)


def make_printable(text: str) -> str:
    """Write control characters as signs, and hide secrets; a line end of Windows stays a line end."""
    text = hide(text)
    if not CONTROL.search(text):
        return text
    return CONTROL.sub(lambda sign: PICTURES.get(ord(sign[0]), f"\\x{ord(sign[0]):02x}"), text.replace("\r\n", "\n"))


def emit_json(value: Any) -> None:
    # Counters by number (such as histograms) are keys of JSON objects here.
    def convert(one: Any) -> Any:
        return one.model_dump(mode="json") if hasattr(one, "model_dump") else str(one)

    text = orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=convert).decode()
    # JSON escapes the control characters of ASCII; the others are escaped alike, which means the same to a reader.
    click.echo(CONTROL.sub(lambda control: f"\\u{ord(control[0]):04x}", hide(text)))


def wants_json() -> bool:
    """Whether the command was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(JSON_WANTED))


def answer_in_json(value: Any) -> bool:
    """Print a value as JSON where --json was given; whether it was."""
    if wanted := wants_json():
        emit_json(value)
    return wanted


def print_result(value: Any, text: str | Callable[[], object]) -> None:
    """Print what a verb did: as JSON where --json was given, else as a line of text, or as `text` prints it."""
    if answer_in_json(value):
        return
    if isinstance(text, str):
        echo(text)
    else:
        text()


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, numbers: Sequence[str] = ()) -> None:
    """A table on a terminal; tab-separated lines in a pipe, where programs read them."""
    if not sys.stdout.isatty():
        for row in [columns, *rows]:
            echo("\t".join(one_line(cell) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # As a Text, a name in the title or a heading is not read as markup.
    drawn = Table(
        title=Text(one_line(title)), title_justify="left", box=None, header_style="bold", padding=(0, 2, 0, 0)
    )
    for column in columns:
        # A cell of a table must not push the others off the screen; --json has texts whole.
        drawn.add_column(
            Text(one_line(column)), justify="right" if column in numbers else "left", overflow="ellipsis", max_width=60
        )
    for row in rows:
        drawn.add_row(*(Text(one_line(cell)) for cell in row))
    Console().print(drawn)


def one_line(cell: Any) -> str:
    return make_printable(" ".join(str("" if cell is None else cell).split()))


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
