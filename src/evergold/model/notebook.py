"""HTML of single things for notebooks: every text is escaped, long ones are cut."""

from collections.abc import Iterable
from html import escape

SHOWN_LETTERS = 2000
IN_A_ROW = 200  # letters of a cell in a table of many columns


def html_of_pairs(title: str, pairs: Iterable[tuple[str, object]]) -> str:
    """A table of two columns; pairs without a value are left out."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{_cell(value)}</td></tr>" for name, value in pairs if value)
    return f"<p><b>{escape(title)}</b></p><table>{rows}</table>"


def html_of_rows(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with a head."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(value, IN_A_ROW)}</td>' for value in row)}</tr>" for row in rows)
    return f"<p><b>{escape(title)}</b></p><table><tr>{head}</tr>{body}</table>"


def _cell(value: object, most: int = SHOWN_LETTERS) -> str:
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    shown = text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
    # `dir="auto"` shows Arabic and Hebrew from the right; `pre-wrap` keeps line breaks; the classes keep notebooks from
    # setting what stands between two prices in dollars as a formula.
    return (
        f'<span dir="auto" class="tex2jax_ignore mathjax_ignore" style="white-space: pre-wrap">{escape(shown)}</span>'
    )
