"""A retrieval score as rows of a table and as one HTML page that needs nothing else: no script, no font, no network."""

from html import escape
from typing import Any

from evergold.report.budget_chart import budget_chart

Json = dict[str, Any]
Rows = list[tuple[str, str, str, str]]

_LEVELS = ("line", "file")

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1c2024; background: #fff; }
table { border-collapse: collapse; margin: 1rem 0; } td, th { padding: .25rem .9rem .25rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } tr + tr td { border-top: 1px solid #e4e7ea; }
svg text { font-size: 12px; fill: currentColor; } .note { color: #5a6470; } .axis { stroke: #9aa4ae; stroke-width: .5; }
.band { fill: #1f6feb; opacity: .18; } .dot { fill: #1f6feb; } .curve { fill: none; stroke: #1f6feb; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  body { color: #e6e8ea; background: #15181b; } tr + tr td { border-color: #2c3238; } .note { color: #9aa4ae; }
}
"""


def as_rows(figures: Json) -> Rows:
    """(level, figure, value, interval) of everything that has a value."""
    rows: Rows = []
    for level in _LEVELS:
        held = figures.get(level) or {}
        for average in ("macro", "micro"):
            rows += [_row(level, f"{average} {name}", bounds) for name, bounds in (held.get(average) or {}).items()]
        # Figures beside the averages (such as reciprocal rank) have one value each.
        rows += [_row(level, name, bounds) for name, bounds in held.items() if name not in ("macro", "micro")]
    for name, bounds in (figures.get("budget") or {}).items():
        label = "area under recall by budget" if name == "area" else f"recall within {name} lines"
        rows.append(_row("line", label, bounds))
    for name, bounds in (figures.get("tokens") or {}).items():
        rows.append(_row("line", f"recall within {name} tokens", bounds))
    for average, held in (figures.get("symbol") or {}).items():
        rows += [_row("symbol", f"{average} {name}", bounds) for name, bounds in held.items()]
    rows.append(_row("line", "noise rate", figures["noise"]))
    return [row for row in rows if row[2]]


def compare_rows(figures: Json) -> Rows:
    return [
        (name, _number(bounds["value"], signed=True), _interval(bounds), str(bounds["n"]))
        for name, bounds in figures["compare"].items()
        if bounds["value"] is not None
    ]


def as_html(figures: Json, golden: str, predictions: str) -> str:
    counts = ", ".join(
        f"{figures[name]} {name.replace('_', ' ')}" for name in ("abstained", "missing", "not_applicable", "extra")
    )
    parts = [
        f"<h1>Retrieval: {escape(predictions)}</h1>",
        f"<p>{figures['n']} cases of {escape(golden)} scored; {counts}, {len(figures['duplicates'])} duplicate.</p>",
        f"<p class='note'>{escape(figures['note'])}</p>",
        budget_chart(figures["budget"]) if figures.get("budget") else "",
        _table(("level", "figure", "value", "95 % interval"), as_rows(figures)),
        *(_slice(name, slices) for name, slices in figures["slices"].items() if len(slices) > 1),
    ]
    if "compare" in figures:
        parts += [
            "<h2>Second minus first</h2>",
            _table(("figure", "difference", "95 % interval", "n"), compare_rows(figures)),
        ]
    if figures["problems"]:
        parts += ["<h2>Problems</h2><ul>", *(f"<li>{escape(problem)}</li>" for problem in figures["problems"]), "</ul>"]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Retrieval: {escape(predictions)}</title><style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _slice(name: str, slices: Json) -> str:
    rows = [(key, *(_number(value) for value in row.values())) for key, row in slices.items()]
    return f"<h2>By {escape(name.replace('_', ' '))}</h2>" + _table(
        (name.replace("_", " "), "n", "line recall", "line precision", "file recall"), rows
    )


def _table(columns: tuple[str, ...], rows: Any) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(text: str) -> str:
    numeric = text[:1].isdigit() or text[:1] in "+-−"
    return f"<td class='number'>{escape(text)}</td>" if numeric else f"<td>{escape(text)}</td>"


def _row(level: str, figure: str, bounds: Json) -> tuple[str, str, str, str]:
    return level, figure, _number(bounds["value"]), _interval(bounds)


def _number(value: Any, signed: bool = False) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def _interval(bounds: Json) -> str:
    return "" if bounds["low"] is None else f"{bounds['low']:.3f} to {bounds['high']:.3f}"
