"""Small inline SVG charts, drawn by hand: a report must open anywhere, for years, with no script and no network.

The chart of recall against line budget, as SVG inside a page: what one gets for the lines one is willing to show.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from evergold.report.scores import Mean

WIDTH, ROW, LABEL = 640, 26, 200


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


def _open(width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(title, quote=True)}" xmlns="http://www.w3.org/2000/svg">'
    )


BUDGET_CHART_WIDTH, HEIGHT = 560, 240
LEFT, TOP, BELOW = 44, 22, 46


def budget_chart(budget: dict[str, Any]) -> str:
    """`budget` maps a number of lines to recall with its bounds; the bounds are drawn as a band."""
    points = [(int(name), bounds) for name, bounds in budget.items() if name != "area"]
    most = max(limit for limit, _ in points)
    curve = [_at(0, 0), *(_at(limit / most, bounds["value"]) for limit, bounds in points)]
    # A limit without bounds (too few cases) stands on the curve and not in the band.
    known = [(limit / most, bounds) for limit, bounds in points if bounds["low"] is not None]
    band = [
        _at(0, 0),
        # The polygon runs along the lower bounds and back along the upper ones.
        *(_at(x, bounds["low"]) for x, bounds in known),
        *(_at(x, bounds["high"]) for x, bounds in known[::-1]),
    ]
    return (
        "<h2>Recall against line budget</h2><svg role='img' aria-label='Recall against line budget' "
        f"viewBox='0 0 {BUDGET_CHART_WIDTH + 2 * LEFT} {HEIGHT + TOP + BELOW}' width='{BUDGET_CHART_WIDTH + 2 * LEFT}' "
        "style='max-width:100%'>"
        + "".join(_grid_line(share) for share in (0, 0.25, 0.5, 0.75, 1))
        + (f"<polygon class='band' points='{_points(band)}'/>" if known else "")
        + f"<polyline class='curve' points='{_points(curve)}'/>"
        + "".join(_mark(limit, limit / most, bounds) for limit, bounds in points)
        + _text(LEFT + BUDGET_CHART_WIDTH / 2, TOP + HEIGHT + 38, "lines shown, best first", "middle")
        + "</svg>"
    )


def _at(x: float, y: float) -> tuple[float, float]:
    return LEFT + x * BUDGET_CHART_WIDTH, TOP + (1 - y) * HEIGHT


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _mark(limit: int, position: float, bounds: dict[str, Any]) -> str:
    x, y = _at(position, bounds["value"])
    between = "" if bounds["low"] is None else f" ({bounds['low']:.3f} to {bounds['high']:.3f})"
    title = f"<title>{limit} lines: {bounds['value']:.3f}{between}</title>"
    dot = f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='3'>{title}</circle>"
    return dot + _text(x, TOP + HEIGHT + 18, str(limit), "middle")


def _grid_line(share: float) -> str:
    y = TOP + (1 - share) * HEIGHT
    line = f"<line class='axis' x1='{LEFT}' x2='{LEFT + BUDGET_CHART_WIDTH}' y1='{y:.1f}' y2='{y:.1f}'/>"
    return line + _text(LEFT - 6, y + 4, f"{share:g}", "end")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}'>{text}</text>"
