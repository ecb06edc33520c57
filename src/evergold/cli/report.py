"""`evergold report`: what a run found, for people and for machines."""

from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, json_flag, one_line, table
from evergold.cli.paths import PathOrUrl
from evergold.report.summary import Options, RunReport
from evergold.workspace.judging import FORMATS


@click.command()
@click.argument("run_id")
@click.option("--format", "form", type=click.Choice(["terminal", *FORMATS]), default="terminal", show_default=True)
@click.option("--out", "--output", "output", type=PathOrUrl(dir_okay=False), help="Write to a file, not the terminal.")
@click.option(
    "--reducer", default="mean", show_default=True, help="Trials → one value: mean, median, mode, max, pass@K, pass^K."
)
@click.option("--passing", type=click.FloatRange(0, 1), default=0.5, show_default=True, help="Below it is a failure.")
@click.option("--failures", type=click.IntRange(0, 1000), default=20, show_default=True, help="How many are shown.")
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Count each question once in the means, or each case.  [default: as the run was started]",
)
@json_flag
@click.pass_context
def command(
    ctx: click.Context, /, run_id: str, form: str, output: Path | None, as_json: bool, **options: object
) -> None:
    """Report on a run: means with intervals and coverage, slices, failures first, cost, provenance."""
    chosen = Options.model_validate(options)
    with opened(ctx) as workspace:
        # Tables of a terminal are drawn here; every other form is made by the report itself.
        if form == "terminal" and not as_json and output is None:
            report = workspace.judging.report(run_id, chosen)
            _show(report, workspace.judging.tables(report))
            return
        text = workspace.judging.rendered(run_id, "json" if as_json else _from(form, output), chosen)
    if output is None:
        echo(text, nl=False)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    echo(f"wrote {output}", err=True)


def _from(form: str, output: Path | None) -> str:
    """The format asked for, else the one the file's name says."""
    if form != "terminal" or output is None:
        return form
    return {".html": "html", ".json": "json", ".xml": "junit"}.get(output.suffix, "markdown")


def _show(report: RunReport, tables: dict[str, list[tuple[str, ...]]]) -> None:
    run = report.run
    metrics = [
        (
            summary.spec.name,
            summary.mean,
            summary.unscored,
            summary.errors,
            summary.not_applicable,
            "; ".join(summary.reasons),
        )
        for summary in report.metrics
    ]
    table(
        f"{run.spec.model} on {run.spec.dataset}",
        ("metric", "mean", "unscored", "errors", "not applicable", "why"),
        metrics,
    )
    if report.failures:
        rows = [
            (f.case_id, f.trial, f.metric or "failed", "–" if f.value is None else f"{f.value:.2f}", f.reason, f.output)
            for f in report.failures
        ]
        table(f"{report.failing} failures", ("case", "trial", "metric", "value", "reason", "output"), rows)
    for by in dict.fromkeys(part.by for part in report.slices):
        parts = [part for part in report.slices if part.by == by]
        columns = (by, "cases", *(mean.metric for mean in parts[0].means))
        table(f"by {by}", columns, [(part.name, part.cases, *part.means) for part in parts])
    table("cost and time", ("side", "calls", "tokens in", "tokens out", "cost", "median", "p95"), tables["spending"])
    table("provenance", ("what", "value"), tables["provenance"])
    for warning in report.warnings:
        echo(f"note: {one_line(warning)}", err=True)
