"""The report as Markdown: for a pull request, an issue, a CI summary."""

import re
from collections.abc import Iterable, Sequence

from evergold.report.provenance import provenance_rows, spending_rows
from evergold.report.summary import Failure, RunReport, shortened

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
