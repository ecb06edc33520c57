"""The block that makes a report worth keeping: enough to know whether another number means the same.

The report as Markdown: for a pull request, an issue, a CI summary.

The report as one HTML file: styles and charts inside, no script, no request to anywhere.

The report as JUnit XML: every CI knows how to show it. One test per case, trial and metric.

A retrieval score as rows of a table and as one HTML page that needs nothing else: no script, no font, no network.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

from evergold.model.run import Attempt, Measurement, Run
from evergold.report.charts import budget_chart, histogram_chart, interval_chart
from evergold.report.summary import PASSING, Failure, RunReport, beginning, shortened
from evergold.text.words import xml_text


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


def spending_rows(report: RunReport) -> list[tuple[str, ...]]:
    """(side, calls, tokens in, tokens out, cost, median, p95) for target and judge, apart."""
    rows: list[tuple[str, ...]] = []
    for side, spent in (("target", report.target), ("judge", report.judge)):
        cost = "unknown" if spent.usage.cost is None else f"${spent.usage.cost:.4f}"
        # No price and no tokens means that no call was made; "unknown" would suggest a bill that nobody can read.
        if spent.usage.cost is None and not spent.usage.input_tokens:
            cost = "–"
        times = (_milliseconds(spent.median_ms), _milliseconds(spent.p95_ms))
        rows.append(
            (side, f"{spent.calls:,}", f"{spent.usage.input_tokens:,}", f"{spent.usage.output_tokens:,}", cost, *times)
        )
    return rows


def _milliseconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f} ms"


LONGEST_TEXT = 600
_MARKS = re.compile(r"[\\`\[\]]")
_BLOCK_MARKS = re.compile(r"^(\s*)([#~=+>-])")


def to_markdown(report: RunReport) -> str:
    run = report.run
    parts = [f"# {_cell(run.spec.model)} on {_cell(run.spec.dataset)}", ""]
    parts += [f"> ⚠ {_cell(warning)}" for warning in report.warnings] + ([""] if report.warnings else [])
    parts += _table(
        ("metric", "mean, 95 % interval", "unscored", "errors", "not applicable", "why"),
        (
            (m.spec.name, str(m.mean), m.unscored, m.errors, m.not_applicable, "; ".join(m.reasons))
            for m in report.metrics
        ),
    )
    parts += _failures(report)
    parts += _slices(report)
    parts += ["## Cost and time", ""]
    parts += _table(("side", "calls", "tokens in", "tokens out", "cost", "median", "p95"), spending_rows(report))
    parts += ["## Provenance", "", *_table(("what", "value"), provenance_rows(report))]
    return "\n".join(parts) + "\n"


def _failures(report: RunReport) -> list[str]:
    if not report.failures:
        return ["No attempt failed or scored below the mark.", ""]
    shown = f", the {len(report.failures)} worst below" if len(report.failures) < report.failing else ""
    lines = [f"## Failures ({report.failing}{shown})", ""]
    for failure in report.failures:
        lines += [f"### {_cell(failure.case_id)}, trial {failure.trial}: {_headline(failure)}", ""]
        for name, text in (("input", failure.input), ("expected", failure.expected), ("output", failure.output)):
            if text:
                lines += [f"**{name}**", "", *_quoted(text), ""]
    return lines


def _headline(failure: Failure) -> str:
    if failure.metric is None:
        return f"failed: {_cell(failure.reason or 'no reason given')}"
    value = "–" if failure.value is None else f"{failure.value:.2f}"
    return f"{_cell(failure.metric)} {value}" + (f": {_cell(failure.reason)}" if failure.reason else "")


def _slices(report: RunReport) -> list[str]:
    lines = []
    for by in dict.fromkeys(part.by for part in report.slices):
        parts = [part for part in report.slices if part.by == by]
        names = [mean.metric for mean in parts[0].means]
        rows = ((part.name, part.cases, *map(str, part.means)) for part in parts)
        lines += [f"## By {_cell(by)}", "", *_table((by, "cases", *names), rows)]
    return lines


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [f"| {' | '.join(map(_cell, columns))} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_cell(value) for value in row)} |" for row in rows]
    return [*lines, ""]


def _quoted(text: str) -> list[str]:
    lines = shortened(text, LONGEST_TEXT).splitlines()
    return [f"> {_BLOCK_MARKS.sub(_behind_space, _escaped(line))}" for line in lines]


def _behind_space(match: re.Match[str]) -> str:
    return f"{match[1]}\\{match[2]}"


def _cell(value: object) -> str:
    """One line that cannot break a table, open a tag or start markup."""
    return _escaped(" ".join(str(value).split())).replace("|", "\\|")


def _escaped(text: str) -> str:
    """A text that is no tag, code, link or picture; a picture of another host would be loaded by every reader."""
    # A backslash of the text would take the one before a mark away. `>` is left: alone it opens no tag.
    marked = _MARKS.sub(lambda match: "\\" + match[0], text)
    return marked.replace("&", "&amp;").replace("<", "&lt;")


def to_html(report: RunReport) -> str:
    run = report.run
    title = f"{escape(run.spec.model)} on {escape(run.spec.dataset)}"
    style = files("evergold.report").joinpath("report.css").read_text(encoding="utf-8")
    # The report shows text that models wrote. The policy lets
    # no script and no request run even if escaping missed some.
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{title} · Evergold</title><style>{style}</style></head>"
    )
    body = [
        f"<header><p class=brand>Evergold report</p><h1>{title}</h1>",
        f"<p class=sub>{report.cases} cases, {run.spec.trials} trial{'s' if run.spec.trials != 1 else ''} each · "
        f"{escape(run.id)} · {escape(str(run.status))}</p></header><main>",
        *(f"<p class=warning>{escape(warning)}</p>" for warning in report.warnings),
        "<section><h2>Metrics</h2>",
        interval_chart([summary.mean for summary in report.metrics]),
        _metrics(report),
        "</section>",
        _html_failures(report),
        _html_slices(report),
        "<section><h2>Cost and time</h2>",
        _html_table(("side", "calls", "tokens in", "tokens out", "cost", "median", "p95"), spending_rows(report)),
        "</section><section><h2>Provenance</h2>",
        _html_table(("what", "value"), provenance_rows(report)),
        "</section></main>",
    ]
    return f"{head}<body>{''.join(body)}</body></html>\n"


def _metrics(report: RunReport) -> str:
    rows = []
    for summary in report.metrics:
        reasons = "".join(f"<li>{count} × {escape(reason)}</li>" for reason, count in summary.reasons.items())
        why = f"<ul>{reasons}</ul>" if reasons else ""
        cells = (
            f"<td>{escape(summary.spec.name)}</td><td class=number>{escape(str(summary.mean))}</td>"
            f"<td>{histogram_chart(summary.histogram, summary.spec.name)}</td>"
            f"<td class=number>{summary.unscored}</td><td class=number>{summary.errors}</td>"
            f"<td class=number>{summary.not_applicable}</td><td>{why}</td>"
        )
        rows.append(f"<tr>{cells}</tr>")
    names = ("metric", "mean, 95 % interval", "values", "unscored", "errors", "not applicable", "why")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _html_failures(report: RunReport) -> str:
    if not report.failures:
        return "<section><h2>Failures</h2><p>No attempt failed or scored below the mark.</p></section>"
    shown = f", the {len(report.failures)} worst shown" if len(report.failures) < report.failing else ""
    blocks = "".join(map(_failure, report.failures))
    return f"<section><h2>Failures <small>{report.failing}{shown}</small></h2>{blocks}</section>"


def _failure(failure: Failure) -> str:
    value = "failed" if failure.value is None else f"{escape(failure.metric or '')} {failure.value:.2f}"
    trial = f" #{failure.trial}" if failure.trial else ""
    texts = "".join(
        f"<h4>{name}</h4><pre>{escape(text)}</pre>"
        for name, text in (("input", failure.input), ("expected", failure.expected), ("output", failure.output))
        if text
    )
    asked = escape(beginning(failure.input))
    summary = (
        f"<b>{asked or escape(failure.case_id)}</b> <span class=score>{value}</span> {escape(failure.reason or '')}"
    )
    named = f" <small>{escape(failure.case_id)}{trial}</small>"
    return f"<details><summary>{summary}{named}</summary>{texts}</details>"


def _html_slices(report: RunReport) -> str:
    sections = []
    for by in dict.fromkeys(part.by for part in report.slices):
        parts = [part for part in report.slices if part.by == by]
        columns = (by, "cases", *(mean.metric for mean in parts[0].means))
        rows = [(part.name, part.cases, *map(str, part.means)) for part in parts]
        sections.append(f"<section><h2>By {escape(by)}</h2>{_html_table(columns, rows)}</section>")
    return "".join(sections)


def _html_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"


def to_junit(run: Run, attempts: Iterable[Attempt], passing: float = PASSING) -> str:
    """Below `passing` is a failure, a failed call or broken metric an error, an unscored one skipped."""
    suite = ElementTree.Element("testsuite", name=xml_text(f"{run.spec.dataset} · {run.spec.model}"), id=run.id)
    tally = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
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
            outcome = _outcome(attempt, attempt.measurements.get(metric), passing)
            if outcome is not None:
                kind, message = outcome
                # The counts are attributes of the suite with names of their own in the plural, except `skipped`.
                tally[{"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]] += 1
                failure = ElementTree.SubElement(test, kind, message=xml_text(message))
                if kind == "failure":
                    failure.text = xml_text(shortened(attempt.output))
    for name, number in tally.items():
        suite.set(name, str(number))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _outcome(attempt: Attempt, made: Measurement | None, passing: float) -> tuple[str, str] | None:
    if attempt.error is not None:
        return "error", attempt.error
    if made is None:
        return "skipped", "not measured"
    if made.value is None:
        return ("error" if made.state == "error" else "skipped"), made.reason or "no reason given"
    if made.value < passing:
        return "failure", f"{made.value:.3f} is below {passing:g}" + (f": {made.reason}" if made.reason else "")
    return None


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
        _retrieval_table(("level", "figure", "value", "95 % interval"), as_rows(figures)),
        *(_slice(name, slices) for name, slices in figures["slices"].items() if len(slices) > 1),
    ]
    if "compare" in figures:
        parts += [
            "<h2>Second minus first</h2>",
            _retrieval_table(("figure", "difference", "95 % interval", "n"), compare_rows(figures)),
        ]
    if figures["problems"]:
        parts += ["<h2>Problems</h2><ul>", *(f"<li>{escape(problem)}</li>" for problem in figures["problems"]), "</ul>"]
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>Retrieval: {escape(predictions)}</title><style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _slice(name: str, slices: Json) -> str:
    rows = [(key, *(_number(value) for value in row.values())) for key, row in slices.items()]
    return f"<h2>By {escape(name.replace('_', ' '))}</h2>" + _retrieval_table(
        (name.replace("_", " "), "n", "line recall", "line precision", "file recall"), rows
    )


def _retrieval_table(columns: tuple[str, ...], rows: Any) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(_retrieval_cell(cell) for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _retrieval_cell(text: str) -> str:
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
