"""The report of a run as tables, as Markdown (for a pull request, an issue, a CI summary) and as JUnit XML, and the figures
of a retrieval score as rows. `html.py` makes pages of both.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any
from xml.etree import ElementTree

from evergold.model.report import ChangeKind, ComparedCases, ComparedFigure, RunComparison
from evergold.model.run import Attempt, Measurement, MetricSpec, Run
from evergold.report.summary import PASSING, RunReport, shorten
from evergold.text.words import xml_text

Table = tuple[str, Sequence[str], Sequence[Sequence[object]]]
"""A heading, the columns and the rows."""


def provenance_rows(report: RunReport) -> list[tuple[str, str]]:
    run = report.run
    dataset = run.provenance.get("dataset") or {}
    rows = [
        ("run", run.id),
        ("status", str(run.status)),
        ("dataset", f"{dataset.get('name', run.spec.dataset)} {dataset.get('version', '')}".strip()),
        ("dataset hash", str(dataset.get("content_hash") or "not recorded")),
        ("target", run.provenance.get("target") or run.spec.model),
        ("judge", str(run.provenance.get("judge") or "none")),
        ("trials", f"{run.spec.trials} (reduced by {report.reducer})"),
        ("seed", "none" if run.spec.seed is None else str(run.spec.seed)),
        ("code", str(run.provenance.get("code") or "not recorded")),
        ("started", run.started_at.isoformat() if run.started_at else "–"),
        ("ended", run.ended_at.isoformat() if run.ended_at else "–"),
    ]
    for summary in report.metrics:
        spec = summary.spec
        params = ", ".join(f"{name}={value}" for name, value in spec.params.items() if value is not None)
        prompts = f", prompts {spec.prompt_hash[:19]}" if spec.prompt_hash else ""
        rows.append((f"metric {spec.name}", f"version {spec.version}" + (f" ({params})" if params else "") + prompts))
    return rows


SPENDING_COLUMNS = ("side", "calls", "from the cache", "tokens in", "tokens out", "cost", "median", "p95")


def spending_rows(report: RunReport) -> list[tuple[str, ...]]:
    """(side, calls, from the cache, tokens in, tokens out, cost, median, p95) for target and judge, apart."""
    rows: list[tuple[str, ...]] = []
    for side, spent in (("target", report.target), ("judge", report.judge)):
        cost = "unknown" if spent.usage.cost is None else f"${spent.usage.cost:.4f}"
        # No price and no tokens means that no call was made; "unknown" would suggest a bill that nobody can read.
        if spent.usage.cost is None and not spent.usage.input_tokens:
            cost = "–"
        times = ("–" if value is None else f"{value:,.0f} ms" for value in (spent.median_ms, spent.p95_ms))
        counts = (spent.calls, spent.cached, spent.usage.input_tokens, spent.usage.output_tokens)
        rows.append((side, *(f"{number:,}" for number in counts), cost, *times))
    return rows


def tables_of(report: RunReport) -> Iterator[Table]:
    """The tables that follow the failures: slices, cost and time, provenance."""
    for by, group in groupby(report.slices, key=lambda part: part.by):
        parts = list(group)
        columns = (by, "cases", *(mean.metric for mean in parts[0].means))
        yield f"By {by}", columns, [(part.name, part.cases, *part.means) for part in parts]
    yield "Cost and time", SPENDING_COLUMNS, spending_rows(report)
    yield "Provenance", ("what", "value"), provenance_rows(report)


LONGEST_TEXT = 600
LONGEST_CELL = 120
_MARKS = re.compile(r"[\\`\[\]]")
_BLOCK_MARKS, ESCAPED = re.compile(r"^(\s*)([#~=+>-])"), r"\1\\\2"


def to_markdown(report: RunReport) -> str:
    run = report.run
    parts = [f"# {_cell(run.spec.model)} on {_cell(run.spec.dataset)}", ""]
    parts += [f"> ⚠ {_cell(warning)}" for warning in report.warnings] + ([""] if report.warnings else [])
    parts += _table(
        ("metric", "mean, 95 % interval", "unscored", "errors", "failed", "not applicable", "why"),
        [
            (m.spec.name, m.mean, m.unscored, m.errors, m.mean.failed, m.not_applicable, "; ".join(m.reasons))
            for m in report.metrics
        ],
    )
    parts += _failures(report)
    for heading, columns, rows in tables_of(report):
        parts += [f"## {_cell(heading)}", "", *_table(columns, rows)]
    return "\n".join(parts) + "\n"


def comparison_markdown(compared: Sequence[RunComparison], changed: Sequence[ComparedCases]) -> str:
    """Comparisons with one baseline for a pull request: the sentences, what they rest on, and the cases that changed."""
    lines = [line for one in compared for line in (f"**{_cell(one.sentence)}**", "")]
    for _, columns, rows in comparison_tables(compared):
        lines += _table(columns, rows)
    for one, cases in zip(compared, changed, strict=True):
        title, columns, rows = changed_table(one, cases)
        if rows:
            # GitHub reads Markdown inside of a tag where a blank line parts the two.
            lines += ["<details>", f"<summary>{_cell(title)}</summary>", "", *_table(columns, rows), "</details>", ""]
    lines += [f"> ⚠ {_cell(warning)}" for warning in dict.fromkeys(w for one in compared for w in one.warnings)]
    return "\n".join(lines) + "\n"


def comparison_tables(compared: Sequence[RunComparison]) -> Iterator[Table]:
    """What comparisons with one baseline rest on: quality by metric, then errors, cost and latency, then the attempts."""
    columns: Sequence[str]
    columns = ("metric", "run", "baseline", "candidate", "difference", "95 %", "p", "verdict", "n", "gained", "lost")
    metrics = [
        (
            one.metric,
            each.second,
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.difference:+.3f}",
            f"{one.low:+.3f} to {one.high:+.3f}",
            "<0.001" if one.p < 0.001 else f"{one.p:.3f}",
            one.verdict.value,
            f"{one.n}" + (f" (+{one.unpaired} unpaired)" if one.unpaired else ""),
            len(one.gained),
            len(one.lost),
        )
        for each in compared
        for one in each.metrics
    ]
    yield f"against {compared[0].first}", columns, metrics
    figures = [
        (one.name, each.second, _amount(one.first, one.unit), _amount(one.second, one.unit), _change(one), one.n)
        for each in compared
        for one in each.figures
    ]
    columns = ("on cases of both", "run", "baseline", "candidate", "change, 95 %", "n")
    yield "errors, cost and latency", columns, figures
    sides = dict.fromkeys(side for one in compared for side in one.sides)
    columns = ("run", "model", "attempts", "errors", "failed", "truncated")
    yield "attempts", columns, [(s.run_id, s.model, s.attempts, s.errors, s.failed, s.truncated) for s in sides]


def changed_table(compared: RunComparison, changed: ComparedCases) -> Table:
    """The cases that changed most for the worse, both answers beside the reference."""
    total = changed.counts[ChangeKind.CHANGED]
    title = f"{compared.second}: {total} cases changed by {changed.metric}, worst first"
    if len(changed.cases) < total:
        title += f", {len(changed.cases)} shown"
    rows = [
        (
            case.case_id,
            "–" if case.difference is None else f"{case.difference:+.2f}",
            shorten(case.question, LONGEST_CELL),
            shorten(case.reference, LONGEST_CELL),
            *(shorten(side.error or side.answer, LONGEST_CELL) for side in (case.first, case.second)),
        )
        for case in changed.cases
    ]
    return title, ("case", "change", "question", "reference", "baseline", "candidate"), rows


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "unknown"
    if unit == "share":
        return f"{100 * value:.1f} %"
    return f"${value:,.4f}" if unit == "$" else f"{value:,.0f} {unit}"


def _change(figure: ComparedFigure) -> str:
    """The ratio of cost or latency; of errors how many more or fewer of a hundred attempts."""
    if figure.difference is not None and figure.low is not None and figure.high is not None:
        # Turned for comparison so that more is better; told as a change of the share.
        value, low, high = (-100 * each + 0.0 for each in (figure.difference, figure.high, figure.low))
        return f"{value:+.1f} ({low:+.1f} to {high:+.1f}) points"
    if figure.ratio is None:
        return "–"
    return f"× {figure.ratio:.2f}" + (f" ({figure.low:.2f} to {figure.high:.2f})" if figure.low and figure.high else "")


def _failures(report: RunReport) -> list[str]:
    if not report.failures:
        return ["No attempt failed or scored below the mark.", ""]
    shown = f", the {len(report.failures)} worst below" if len(report.failures) < report.failing else ""
    lines = [f"## Failures ({report.failing}{shown})", ""]
    for failure in report.failures:
        value = "–" if failure.value is None else f"{failure.value:.2f}"
        result = "failed" if failure.metric is None else f"{_cell(failure.metric)} {value}"
        reason = failure.reason or ("no reason given" if failure.metric is None else "")
        result += f": {_cell(reason)}" if reason else ""
        lines += [f"### {_cell(failure.case_id)}, trial {failure.trial}: {result}", ""]
        for name, text in failure.texts():
            quoted = (_escape(line) for line in shorten(text, LONGEST_TEXT).splitlines())
            lines += [f"**{name}**", "", *(f"> {_BLOCK_MARKS.sub(ESCAPED, line)}" for line in quoted), ""]
    return lines


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(map(_cell, columns))} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return [*lines, ""]


def _cell(value: object) -> str:
    """One line that cannot break a table, open a tag or start markup."""
    return _escape(" ".join(str(value).split())).replace("|", "\\|")


def _escape(text: str) -> str:
    """A text that is no tag, code, link or picture; a picture of another host would be loaded by every reader."""
    # A backslash of the text would take the one before a mark away. `>` is left: alone it opens no tag.
    marked = _MARKS.sub(lambda match: "\\" + match[0], text)
    return marked.replace("&", "&amp;").replace("<", "&lt;")


def to_junit(run: Run, attempts: Iterable[Attempt], passing: float = PASSING) -> str:
    """Below `passing` is a failure, a failed call or broken metric an error, an unscored one skipped."""
    suite = ElementTree.Element("testsuite", name=xml_text(f"{run.spec.dataset} · {run.spec.model}"), id=run.id)
    tally = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    specs = {spec.name: spec for spec in run.metrics}
    for attempt in attempts:
        for metric in run.spec.metrics:
            tally["tests"] += 1
            test = ElementTree.SubElement(
                suite,
                "testcase",
                classname=xml_text(f"{run.spec.dataset}.{metric}"),
                name=xml_text(f"{attempt.case_id}" + (f" #{attempt.trial}" if run.spec.trials > 1 else "")),
                time=f"{(attempt.latency_ms or 0) / 1000:.3f}",
            )
            spec = specs.get(metric) or MetricSpec(name=metric, version="")
            outcome = _outcome(attempt, attempt.measurements.get(metric), spec, passing)
            if outcome is not None:
                kind, message = outcome
                # The counts are attributes of the suite with names of their own in the plural, except `skipped`.
                tally[{"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]] += 1
                failure = ElementTree.SubElement(test, kind, message=xml_text(message))
                if kind == "failure":
                    failure.text = xml_text(shorten(attempt.output))
    for name, number in tally.items():
        suite.set(name, str(number))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _outcome(attempt: Attempt, made: Measurement | None, spec: MetricSpec, passing: float) -> tuple[str, str] | None:
    if attempt.error is not None and (made is None or made.state != "not_applicable"):
        return ("error" if attempt.outcome == "error" else "failure"), attempt.error
    if made is None:
        return "skipped", "not measured"
    if made.value is None:
        return ("error" if made.state == "error" else "skipped"), made.reason or "no reason given"
    if spec.is_failing(made.value, passing):
        return "failure", f"{made.value:.3f} is below {passing:g}" + (f": {made.reason}" if made.reason else "")
    return None


Json = dict[str, Any]
Rows = list[tuple[str, str, str, str]]


def as_rows(figures: Json) -> Rows:
    """(level, figure, value, interval) of everything that has a value."""
    named: list[tuple[str, str, Json]] = []
    for level in ("line", "file"):
        held = figures.get(level) or {}
        for average in ("macro", "micro"):
            named += [(level, f"{average} {name}", bounds) for name, bounds in (held.get(average) or {}).items()]
        # Figures beside the averages (such as reciprocal rank) have one value each.
        named += [(level, name, bounds) for name, bounds in held.items() if name not in ("macro", "micro")]
    for name, bounds in (figures.get("budget") or {}).items():
        label = "area under recall by budget" if name == "area" else f"recall within {name} lines"
        named.append(("line", label, bounds))
    for name, bounds in (figures.get("tokens") or {}).items():
        named.append(("line", f"recall within {name} tokens", bounds))
    for average, held in (figures.get("symbol") or {}).items():
        named += [("symbol", f"{average} {name}", bounds) for name, bounds in held.items()]
    named.append(("line", "noise rate", figures["noise"]))
    return [
        (level, name, write_number(bounds["value"]), _write_interval(bounds))
        for level, name, bounds in named
        if bounds["value"] is not None
    ]


def compare_rows(figures: Json) -> Rows:
    return [
        (name, write_number(bounds["value"], signed=True), _write_interval(bounds), str(bounds["n"]))
        for name, bounds in figures["compare"].items()
        if bounds["value"] is not None
    ]


def write_number(value: Any, signed: bool = False) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def _write_interval(bounds: Json) -> str:
    return "" if bounds["low"] is None else f"{bounds['low']:.3f} to {bounds['high']:.3f}"
