"""Reports as HTML pages: styles and charts inside, no script, no request to anywhere, so that they open for years.

The charts are inline SVG, drawn by hand.
"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from evergold.model.report import Mean
from evergold.report.documents import as_rows, compare_rows, tables_of, write_number
from evergold.report.summary import RunReport, shorten_question

WIDTH, ROW, LABEL = 640, 26, 200
BUDGET_WIDTH, HEIGHT = 560, 240
LEFT, TOP, BELOW = 44, 22, 46


class _Markup(str):
    """A cell that is HTML already."""


def to_html(report: RunReport) -> str:
    run = report.run
    trials = f"{run.spec.trials} trial{'s' if run.spec.trials != 1 else ''}"
    columns = ("metric", "mean, 95 % interval", "values", "unscored", "errors", "failed", "not applicable", "why")
    rows = [
        (
            summary.spec.name,
            summary.mean,
            _Markup(histogram_chart(summary.histogram, summary.spec.name)),
            summary.unscored,
            summary.errors,
            summary.mean.failed,
            summary.not_applicable,
            _Markup(_list(f"{count} × {reason}" for reason, count in summary.reasons.items())),
        )
        for summary in report.metrics
    ]
    means = [summary.mean for summary in report.metrics]
    parts = [
        *(f"<p class=warning>{escape(warning)}</p>" for warning in report.warnings),
        _section("Metrics", interval_chart(means), _table(columns, rows)),
        _failures(report),
        *(_section(heading, _table(columns, rows)) for heading, columns, rows in tables_of(report)),
    ]
    sub = f"{report.cases} cases, {trials} each · {run.id} · {run.status}"
    return _page(f"{run.spec.model} on {run.spec.dataset}", sub, parts)


def as_html(figures: dict[str, Any], golden: str, predictions: str) -> str:
    """The page of a retrieval score."""
    counts = ", ".join(
        f"{figures[name]} {name.replace('_', ' ')}" for name in ("abstained", "missing", "not_applicable", "extra")
    )
    budget = figures.get("budget")
    parts = [
        f"<p>{escape(figures['note'])}</p>",
        _section("Recall against line budget", budget_chart(budget)) if budget else "",
        _section("Figures", _table(("level", "figure", "value", "95 % interval"), as_rows(figures))),
    ]
    for name, slices in figures["slices"].items():
        if len(slices) > 1:
            by = name.replace("_", " ")
            rows = [(key, *map(write_number, row.values())) for key, row in slices.items()]
            parts.append(_section(f"By {by}", _table((by, "n", "line recall", "line precision", "file recall"), rows)))
    if "compare" in figures:
        table = _table(("figure", "difference", "95 % interval", "n"), compare_rows(figures))
        parts.append(_section("Second minus first", table))
    if figures["problems"]:
        parts.append(_section("Problems", _list(figures["problems"])))
    sub = f"{figures['n']} cases of {golden} scored; {counts}, {len(figures['duplicates'])} duplicate."
    return _page(f"Retrieval: {predictions}", sub, parts)


def _page(title: str, sub: str, parts: Iterable[str]) -> str:
    style = files("evergold.report").joinpath("report.css").read_text(encoding="utf-8")
    # The page shows text that models wrote. The policy lets no script and no request run even if escaping missed some.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)} · Evergold</title><style>{style}</style></head>"
        f"<body><header><p class=brand>Evergold report</p><h1>{escape(title)}</h1><p class=sub>{escape(sub)}</p></header>"
        f"<main>{''.join(parts)}</main></body></html>\n"
    )


def _section(heading: str, *content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{''.join(content)}</section>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(value: object) -> str:
    if isinstance(value, _Markup):
        return f"<td>{value}</td>"
    text = str(value)
    return f"<td{' class=number' if text[:1].isdigit() or text[:1] in '+-−' else ''}>{escape(text)}</td>"


def _list(items: Iterable[str]) -> str:
    points = "".join(f"<li>{escape(item)}</li>" for item in items)
    return f"<ul>{points}</ul>" if points else ""


def _failures(report: RunReport) -> str:
    if not report.failures:
        return _section("Failures", "<p>No attempt failed or scored below the mark.</p>")
    blocks = []
    for failure in report.failures:
        value = "failed" if failure.value is None else f"{escape(failure.metric or '')} {failure.value:.2f}"
        name, why = escape(failure.case_id), escape(failure.reason or "")
        asked = escape(shorten_question(failure.input)) or name
        trial = f" #{failure.trial}" if failure.trial else ""
        summary = f"<b>{asked}</b> <span class=score>{value}</span> {why} <small>{name}{trial}</small>"
        texts = "".join(f"<h4>{name}</h4><pre>{escape(text)}</pre>" for name, text in failure.texts())
        blocks.append(f"<details><summary>{summary}</summary>{texts}</details>")
    shown = f", the {len(report.failures)} worst shown" if len(report.failures) < report.failing else ""
    return f"<section><h2>Failures <small>{report.failing}{shown}</small></h2>{''.join(blocks)}</section>"


def interval_chart(means: Sequence[Mean]) -> str:
    """A dot with its 95 % interval per metric on a scale from 0 to 1."""
    height = ROW * len(means) + 24
    span = WIDTH - LABEL - 60
    parts = [_open(WIDTH, height, "Mean of each metric with its 95 % interval")]
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x = LABEL + tick * span
        parts.append(f'<line x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height - 20}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 6}" class="tick">{tick:g}</text>')
    for index, mean in enumerate(means):
        y = ROW * index + ROW / 2
        parts.append(f'<text x="{LABEL - 10}" y="{y + 4:.1f}" class="label">{escape(mean.metric[:28])}</text>')
        if mean.value is None:
            parts.append(f'<text x="{LABEL + 6}" y="{y + 4:.1f}" class="value">no score</text>')
            continue
        if mean.low is not None and mean.high is not None:
            # A bootstrap interval may reach a little beyond the scale;
            # the drawing ends at its edge, the table has the number.
            low, high = (LABEL + span * min(1.0, max(0.0, bound)) for bound in (mean.low, mean.high))
            parts.append(f'<line x1="{low:.1f}" y1="{y:.1f}" x2="{high:.1f}" y2="{y:.1f}" class="interval"/>')
        x = LABEL + span * min(1.0, max(0.0, mean.value))
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" class="dot"/>')
        parts.append(f'<text x="{WIDTH - 52}" y="{y + 4:.1f}" class="value">{mean.value:.3f}</text>')
    return "".join(parts) + "</svg>"


def histogram_chart(counts: Sequence[int], label: str) -> str:
    """How many attempts fall into each tenth."""
    width, height = 220, 80
    # An empty histogram has no tallest bar; 1 avoids a division by zero.
    top = max(counts, default=0) or 1
    step = width / len(counts)
    parts = [_open(width, height, f"Distribution of {label}")]
    for index, number in enumerate(counts):
        tall = (height - 18) * number / top
        parts.append(
            f'<rect x="{index * step + 1:.1f}" y="{height - 16 - tall:.1f}" width="{step - 2:.1f}" '
            f'height="{tall:.1f}" class="bar"><title>{index / 10:.1f}–{(index + 1) / 10:.1f}: {number}</title></rect>'
        )
    parts.append(f'<text x="1" y="{height - 3}" class="tick start">0</text>')
    parts.append(f'<text x="{width - 1}" y="{height - 3}" class="tick end">1</text>')
    return "".join(parts) + "</svg>"


def budget_chart(budget: dict[str, Any]) -> str:
    """Recall against line budget: what one gets for the lines one is willing to show.

    `budget` maps a number of lines to recall with its bounds; the bounds are drawn as a band.
    """
    points = [(int(name), bounds) for name, bounds in budget.items() if name != "area"]
    most = max(limit for limit, _ in points)
    # A limit without bounds (too few cases) stands on the curve and not in the band.
    known = [(limit / most, bounds) for limit, bounds in points if bounds["low"] is not None]
    # The band runs along the lower bounds and back along the upper ones.
    edges = [(x, bounds["low"]) for x, bounds in known] + [(x, bounds["high"]) for x, bounds in known[::-1]]
    parts = [_open(BUDGET_WIDTH + 2 * LEFT, HEIGHT + TOP + BELOW, "Recall against line budget")]
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + (1 - share) * HEIGHT
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{LEFT + BUDGET_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick end" x="{LEFT - 6}" y="{y + 4:.1f}">{share:g}</text>')
    if known:
        parts.append(f'<polygon class="band" points="{_path([(0, 0), *edges])}"/>')
    curve = [(0.0, 0.0), *((limit / most, bounds["value"]) for limit, bounds in points)]
    parts.append(f'<polyline class="curve" points="{_path(curve)}"/>')
    for limit, bounds in points:
        x, y = LEFT + limit / most * BUDGET_WIDTH, TOP + (1 - bounds["value"]) * HEIGHT
        between = "" if bounds["low"] is None else f" ({bounds['low']:.3f} to {bounds['high']:.3f})"
        title = f"<title>{limit} lines: {bounds['value']:.3f}{between}</title>"
        parts.append(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3">{title}</circle>')
        parts.append(f'<text class="tick" x="{x:.0f}" y="{TOP + HEIGHT + 18}">{limit}</text>')
    middle, bottom = LEFT + BUDGET_WIDTH / 2, TOP + HEIGHT + 38
    parts.append(f'<text class="tick" x="{middle:.0f}" y="{bottom}">lines shown, best first</text>')
    return "".join(parts) + "</svg>"


def _path(points: Iterable[tuple[float, float]]) -> str:
    """Points of the unit square as those of the budget chart."""
    return " ".join(f"{LEFT + x * BUDGET_WIDTH:.1f},{TOP + (1 - y) * HEIGHT:.1f}" for x, y in points)


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title, quote=True)}">'
    )
