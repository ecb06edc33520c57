"""Small inline SVG charts, drawn by hand: a report must open anywhere, for years, with no script and no network."""

from collections.abc import Sequence
from html import escape

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
