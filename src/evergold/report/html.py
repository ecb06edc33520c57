"""The report as one HTML file: styles and charts inside, no script, no request to anywhere."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

from evergold.report.charts import histogram_chart, interval_chart
from evergold.report.provenance import provenance_rows, spending_rows
from evergold.report.summary import Failure, RunReport, beginning


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
        _failures(report),
        _slices(report),
        "<section><h2>Cost and time</h2>",
        _table(("side", "calls", "tokens in", "tokens out", "cost", "median", "p95"), spending_rows(report)),
        "</section><section><h2>Provenance</h2>",
        _table(("what", "value"), provenance_rows(report)),
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


def _failures(report: RunReport) -> str:
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


def _slices(report: RunReport) -> str:
    sections = []
    for by in dict.fromkeys(part.by for part in report.slices):
        parts = [part for part in report.slices if part.by == by]
        columns = (by, "cases", *(mean.metric for mean in parts[0].means))
        rows = [(part.name, part.cases, *map(str, part.means)) for part in parts]
        sections.append(f"<section><h2>By {escape(by)}</h2>{_table(columns, rows)}</section>")
    return "".join(sections)


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
