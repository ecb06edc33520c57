"""The chart of recall against line budget, as SVG inside a page: what one gets for the lines one is willing to show."""

from typing import Any

WIDTH, HEIGHT = 560, 240
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
        f"viewBox='0 0 {WIDTH + 2 * LEFT} {HEIGHT + TOP + BELOW}' width='{WIDTH + 2 * LEFT}' style='max-width:100%'>"
        + "".join(_grid_line(share) for share in (0, 0.25, 0.5, 0.75, 1))
        + (f"<polygon class='band' points='{_points(band)}'/>" if known else "")
        + f"<polyline class='curve' points='{_points(curve)}'/>"
        + "".join(_mark(limit, limit / most, bounds) for limit, bounds in points)
        + _text(LEFT + WIDTH / 2, TOP + HEIGHT + 38, "lines shown, best first", "middle")
        + "</svg>"
    )


def _at(x: float, y: float) -> tuple[float, float]:
    return LEFT + x * WIDTH, TOP + (1 - y) * HEIGHT


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
    line = f"<line class='axis' x1='{LEFT}' x2='{LEFT + WIDTH}' y1='{y:.1f}' y2='{y:.1f}'/>"
    return line + _text(LEFT - 6, y + 4, f"{share:g}", "end")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f"<text x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}'>{text}</text>"
