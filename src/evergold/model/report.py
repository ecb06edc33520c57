"""Results of runs: means, comparisons of two runs, and HTML of single things for notebooks (escaped, long texts cut)."""

from collections.abc import Iterable
from enum import StrEnum
from html import escape

from pydantic import BaseModel

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


class PairedVerdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    TIED = "tied"
    INCONCLUSIVE = "inconclusive"


# The tolerance for "the same width on both sides": both halves come from floating-point sums.
EVEN = 1e-9


class Mean(BaseModel, frozen=True):
    """`0.83 ±0.05 (n=41/50)`: never a mean without how many cases it rests on.

    `interval` names the method. One that is not the same width on both sides is said by its ends: `0.125 [0.022, 0.471]`.
    `of` counts the cases that the metric applies to; `not_applicable` counts the others. `self_compared` counts recorded
    answers that are their own reference; where a metric has other cases too, they are outside the mean.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    interval: str | None = None
    not_applicable: int = 0
    self_compared: int = 0

    def __str__(self) -> str:
        notes = [f"{self.of - self.n} unscored"] if self.value is not None and self.n < self.of else []
        notes += [f"{self.not_applicable} not applicable"] if self.not_applicable else []
        notes += [f"{self.self_compared} compared with itself"] if self.self_compared else []
        counted = f"(n={', '.join([f'{self.n}/{self.of}', *notes])})"
        return f"– {counted}" if self.value is None else f"{self.value:.3f}{self._spread(self.value)} {counted}"

    def _spread(self, value: float) -> str:
        if self.low is None or self.high is None:
            return ""
        if abs(self.low + self.high - 2 * value) < EVEN:
            return f" ±{(self.high - self.low) / 2:.3f}"
        return f" [{self.low:.3f}, {self.high:.3f}]"


# The share of cases without a pair above which the gate does not decide: the missing ones may be the regressions.
MOST_UNPAIRED = 0.1


class MetricComparison(BaseModel, frozen=True):
    """One metric: second run minus first. `p` is corrected for the number of metrics (Holm).

    Where each question counts once, `n` counts questions, and `gained` and `lost` name the first case of each.
    """

    metric: str
    n: int
    unpaired: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    test: str
    verdict: PairedVerdict
    smallest_visible: float | None
    gained: tuple[str, ...]
    lost: tuple[str, ...]


class RunComparison(BaseModel, frozen=True):
    first: str
    second: str
    margin: float
    weighted: bool = False
    metrics: tuple[MetricComparison, ...]
    warnings: tuple[str, ...]

    def _repr_html_(self) -> str:
        rows = [
            (one.metric, one.n, f"{one.first:.3f}", f"{one.second:.3f}", f"{one.difference:+.3f}", one.verdict.value)
            for one in self.metrics
        ]
        columns = ("metric", "cases", self.first, self.second, "difference", "verdict")
        return html_of_rows(f"{self.second} against {self.first}", columns, rows) + "".join(
            f"<p>{escape(warning)}</p>" for warning in self.warnings
        )

    @property
    def exit_code(self) -> int:
        """0 no regression, 1 a regression, 3 these cases cannot tell."""
        verdicts = {metric.verdict for metric in self.metrics}
        # Thin pairing does not hide a regression: WORSE is decided first.
        thin = any(metric.unpaired > MOST_UNPAIRED * (metric.n + metric.unpaired) for metric in self.metrics)
        if PairedVerdict.WORSE in verdicts:
            return 1
        return 3 if PairedVerdict.INCONCLUSIVE in verdicts or thin or not verdicts else 0
