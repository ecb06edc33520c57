"""Results of runs: means, comparisons of two runs; and results as text for a terminal and as HTML for a notebook.

Texts of traces and models are escaped in both: a terminal would take control characters for commands. Long ones are cut.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from html import escape
from typing import NamedTuple

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


def _write(value: object) -> str:
    return "" if value is None else ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _cell(value: object, most: int = SHOWN_LETTERS) -> str:
    text = _write(value)
    shown = text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"
    # `dir="auto"` shows Arabic and Hebrew from the right; `pre-wrap` keeps line breaks; the classes keep notebooks from
    # setting what stands between two prices in dollars as a formula.
    return (
        f'<span dir="auto" class="tex2jax_ignore mathjax_ignore" style="white-space: pre-wrap">{escape(shown)}</span>'
    )


IN_A_LINE = 60  # letters of a cell in a terminal
# Control characters and their kin as signs; of ASCII, Unicode has a picture each.
SIGNS = {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), "�")


def text_of_rows(title: str, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table with a head, as lines of text."""
    most = SHOWN_LETTERS if len(columns) == 1 else IN_A_LINE  # one column: sentences, which say what to do at their end
    body = [[_line(value, most) for value in row] for row in rows]
    cells = [[*columns], *body] if any(columns) and body else body
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))] if cells else []
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join([_line(title, SHOWN_LETTERS), *lines])


def _line(value: object, most: int = IN_A_LINE) -> str:
    text = " ".join(_write(value).split()).translate(SIGNS)
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Printable:
    """A result that prints as a table in a terminal and shows as one in a notebook."""

    def table(self) -> tuple[str, Sequence[str], Iterable[Iterable[object]]]:
        """Its title, columns and rows."""
        raise NotImplementedError

    def __str__(self) -> str:
        return text_of_rows(*self.table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_of_rows(*self.table())


class PairedVerdict(StrEnum):
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


# The tolerance for "the same width on both sides": both halves come from floating-point sums.
EVEN = 1e-9


class Mean(BaseModel, frozen=True):
    """`0.83 ±0.05 (n=41/50, 9 unscored, 3 errors)`: never a mean without what it rests on.

    Attempts that failed or could not be had (`failed`, `errors`) are in the mean with the worst value of the metric;
    `excluded` says that errors were left out on request. `coverage` is the share of the attempts the metric applies to
    that have a value. `interval` names the method. An interval that is not the same width on both sides is said by its
    ends: `0.125 [0.022, 0.471]`. `of` counts the cases that the metric applies to; `not_applicable` the others.
    `uncited` counts answers that cite nothing, where that alone gives a full score; `outside` those in a language that the
    offline judge was not measured in. `self_compared` counts recorded
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
    errors: int = 0
    failed: int = 0
    truncated: int = 0
    uncited: int = 0
    outside: int = 0
    excluded: bool = False
    coverage: float | None = None

    def __str__(self) -> str:
        counts = {
            "unscored": self.of - self.n if self.value is not None else 0,
            "errors left out" if self.excluded else "errors" if self.errors != 1 else "error": self.errors,
            "failed": self.failed,
            "truncated": self.truncated,
            "cite nothing" if self.uncited != 1 else "cites nothing": self.uncited,
            "outside the judge's languages": self.outside,
            "not applicable": self.not_applicable,
            "compared with itself": self.self_compared,
        }
        notes = [f"{count} {what}" for what, count in counts.items() if count > 0]
        rests_on = f"{self.n}" if self.n == self.of else f"{self.n}/{self.of}"
        counted = f"(n={', '.join([rests_on, *notes])})"
        return f"– {counted}" if self.value is None else f"{self.value:.3f}{self._spread(self.value)} {counted}"

    def _spread(self, value: float) -> str:
        if self.low is None or self.high is None:
            return ""
        if abs(self.low + self.high - 2 * value) < EVEN:
            return f" ±{(self.high - self.low) / 2:.3f}"
        return f" [{self.low:.3f}, {self.high:.3f}]"

    @property
    def is_empty(self) -> bool:
        """Whether the metric applies to cases and none of them has a value."""
        return self.value is None and self.of > 0


MIN_COVERAGE = 0.95
TOLERANCE = 0.05
"""The drop, as a share of a metric's scale, that a gate lets pass."""
FINE, WORSE, COULD_NOT_RUN, INCONCLUSIVE = 0, 1, 2, 3
"""Exit codes of runs and gates."""


class MinimumGate(NamedTuple):
    """Whether means reach their minima: the exit code, why, and the metrics it is about."""

    code: int
    reasons: list[str]
    below: list[str]
    unmeasured: list[str]

    def as_dict(self) -> dict[str, list[str]]:
        return {"reasons": self.reasons, "below": self.below, "unmeasured": self.unmeasured}


def decide_minimum(
    means: Sequence[Mean], minima: Mapping[str, float], min_coverage: float = MIN_COVERAGE
) -> MinimumGate:
    """Hold means against their minima; without any, say whether something was measured at all.

    1: one is below. 2: a metric that applies has no value. 3: too few attempts have one, or no metric applies.
    """
    known = {mean.metric: mean for mean in means}
    asked = {name: known.get(name) for name in minima}
    empty = [mean.metric for mean in means if mean.is_empty]
    unmeasured = [name for name, mean in asked.items() if mean is None or mean.value is None]
    thin = [
        mean
        for mean in asked.values()
        if mean is not None and mean.of and (mean.coverage or 0) < min_coverage and not mean.is_empty
    ]
    decided = {name: mean.value for name, mean in asked.items() if mean is not None and mean not in thin}
    below = [name for name, value in decided.items() if value is not None and value < minima[name]]
    reasons = [f"{name} {known[name]} is below {minima[name]:g}" for name in below]
    reasons += [f"{name}: nothing could be measured" for name in empty]
    reasons += [f"{name}: the run has no such metric" for name, mean in asked.items() if mean is None]
    reasons += [
        f"{mean.metric}: {mean.coverage or 0:.0%} of the attempts have a value, {min_coverage:.0%} are needed to decide"
        for mean in thin
    ]
    if below:
        code = WORSE
    elif empty or any(mean is None for mean in asked.values()):
        code = COULD_NOT_RUN
    elif thin or not any(mean.of for mean in means) or any(not mean.of for mean in asked.values() if mean is not None):
        code = INCONCLUSIVE
        if not thin:
            reasons.append("a metric applies to no case: nothing was measured; see `evergold report` for the reasons")
    else:
        code = FINE
    return MinimumGate(code, reasons, below, unmeasured)


class MetricComparison(BaseModel, frozen=True):
    """One metric: candidate (second run) minus baseline (first run), turned so that more is better.

    `first` and `second` are means over the paired cases on the metric's own scale; `difference`, its 95 % interval and
    `lower` (the one-sided 95 % bound) are shares of that scale. `p` is corrected for the number of metrics (Holm).
    `without_errors` is the verdict over cases to which both runs got replies, where it is another. Where each question
    counts once, `n` counts questions, and `gained` and `lost` name the first case of each.
    """

    metric: str
    n: int
    groups: int
    unpaired: int
    first: float
    second: float
    difference: float
    low: float
    high: float
    lower: float
    p: float
    test: str
    verdict: PairedVerdict
    smallest_visible: float
    more: int | None = None
    coverage: float | None = None
    answered_by_both: int = 0
    without_errors: PairedVerdict | None = None
    gained: tuple[str, ...]
    lost: tuple[str, ...]


class ChangeKind(StrEnum):
    """Which cases of a comparison are listed: those that changed sides, changed at all, lack an answer, or all."""

    LOST = "lost"
    GAINED = "gained"
    CHANGED = "changed"
    ERRORS = "errors"
    ALL = "all"


class CaseTrials(BaseModel, frozen=True):
    """How many trials of a case have a value of a metric, and how many of them pass."""

    case_id: str
    metric: str
    passes: int
    trials: int


class CaseSide(BaseModel, frozen=True):
    """What one run made of a case: its value (the mean of its trials) and the answer of its worst trial, cut."""

    value: float | None = None
    answer: str = ""
    error: str | None = None
    trial: int = 0


class ComparedCase(BaseModel, frozen=True):
    """A case as both runs answered it. `difference` is a share of the metric's scale, turned so that more is better."""

    case_id: str
    question: str
    reference: str = ""
    first: CaseSide
    second: CaseSide
    difference: float | None = None


class ComparedCases(BaseModel, frozen=True):
    """A page of the cases of a comparison by one metric, worst first, and how many there are of each kind."""

    metric: str
    counts: dict[ChangeKind, int]
    cases: tuple[ComparedCase, ...]


class ComparedFigure(BaseModel, frozen=True):
    """A figure of both runs that is no score, over the cases that both have it for.

    Cost (a sum) and latency (a median) have the `ratio` of candidate to baseline; errors (a share of the attempts) have a
    `difference`, turned so that more is better. `low` and `high` are the 95 % interval of either.
    """

    name: str
    unit: str
    first: float | None
    second: float | None
    n: int = 0
    ratio: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None


class RunDecision(StrEnum):
    """What to do after a comparison. `weigh`: better by one metric and worse by another."""

    SHIP = "ship"
    KEEP = "keep"
    EITHER = "either"
    WEIGH = "weigh"
    UNDECIDED = "undecided"


class ComparedRun(BaseModel, frozen=True):
    """One side of a comparison: its attempts, by how they ended."""

    run_id: str
    model: str
    attempts: int
    errors: int
    failed: int
    truncated: int


class RunComparison(BaseModel, frozen=True):
    """Two runs over the same cases: `sentence` says what a reader should do, the rest is what it rests on."""

    first: str
    second: str
    margin: float
    weighted: bool = False
    errors_excluded: bool = False
    decision: RunDecision = RunDecision.UNDECIDED
    sentence: str = ""
    sides: tuple[ComparedRun, ...] = ()
    metrics: tuple[MetricComparison, ...]
    figures: tuple[ComparedFigure, ...] = ()
    warnings: tuple[str, ...]

    def table(self) -> tuple[str, Sequence[str], list[tuple[object, ...]]]:
        """Its title, columns and rows, as it prints and shows in a notebook."""
        rows: list[tuple[object, ...]] = [
            (one.metric, one.n, f"{one.first:.3f}", f"{one.second:.3f}", f"{one.difference:+.3f}", one.verdict.value)
            for one in self.metrics
        ]
        columns = ("metric", "cases", self.first, self.second, "difference", "verdict")
        return self.sentence or f"{self.second} against {self.first}", columns, rows

    def __str__(self) -> str:
        return "\n".join((text_of_rows(*self.table()), *(f"note: {warning}" for warning in self.warnings)))

    def _repr_html_(self) -> str:
        return html_of_rows(*self.table()) + "".join(f"<p>{escape(warning)}</p>" for warning in self.warnings)

    def decide_gate(self, tolerance: float = TOLERANCE, min_coverage: float = MIN_COVERAGE) -> tuple[int, str]:
        """The exit code of a gate about not getting worse, and why."""
        if worse := [one.metric for one in self.metrics if one.verdict is PairedVerdict.WORSE]:
            return WORSE, f"worse: {', '.join(worse)}"
        if self.errors_excluded:
            return INCONCLUSIVE, "errors are left out; a comparison without them passes no gate"
        for one in self.metrics:
            if one.coverage is None or one.coverage < min_coverage:
                share = "none" if one.coverage is None else f"{one.coverage:.0%}"
                return (
                    INCONCLUSIVE,
                    f"{one.metric}: {share} of the attempts have a value, {min_coverage:.0%} are needed",
                )
        unsure = [one for one in self.metrics if one.lower < -tolerance or one.groups < 6]
        if unsure:
            seen = max(unsure, key=lambda one: -one.lower)
            return INCONCLUSIVE, (
                f"{seen.metric}: {seen.n} cases cannot rule out a drop of {-min(0.0, seen.lower):.3f} "
                f"(tolerance {tolerance:g}); use --gate cases for a small set, or more cases"
            )
        return FINE, "not worse"
