"""`evergold compare`: is the second run better, worse, tied, or can these cases not tell?"""

from typing import Any

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table

INCONCLUSIVE = 3


@click.command()
@click.argument("first")
@click.argument("second")
@click.option("--margin", type=click.FloatRange(0, 1), default=0.02, show_default=True, help="Smaller is called a tie.")
@click.option("--gate", is_flag=True, help="Exit code 1 on a regression, 3 when inconclusive, else 0.")
@click.option(
    "--require-calibrated",
    "least",
    type=click.FloatRange(-1, 1),
    metavar="KAPPA",
    help="With --gate: exit 3 unless each judge's kappa with people is at least this at the lower end.",
)
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Compare question by question, or case by case.  [default: by question where both runs were started so]",
)
@json_flag
@click.pass_context
def command(ctx: click.Context, /, first: str, second: str, gate: bool, as_json: bool, **options: Any) -> int:
    """Compare run SECOND with run FIRST, case by case (paired bootstrap, exact McNemar, Holm over metrics)."""
    least, margin, weighted = options["least"], options["margin"], options["weighted"]
    with opened(ctx) as workspace:
        result = workspace.bench.results.compare(first, second, margin=margin, weighted=weighted)
        doubts = [] if least is None else workspace.judging.require_calibrated(second, least)
        exit_code = INCONCLUSIVE if doubts and result.exit_code == 0 else result.exit_code
        # An inconclusive gate neither opens nor closes an alert.
        if gate and exit_code != INCONCLUSIVE:
            spec = workspace.bench.get(second).spec
            verdicts = ", ".join(f"{metric.metric} {metric.verdict}" for metric in result.metrics)
            workspace.alerts.gate(spec.dataset, spec.model, passed=exit_code == 0, why=f"{verdicts} against {first}")
    if as_json:
        emit_json({**result.model_dump(mode="json"), "exit_code": exit_code, "uncalibrated": doubts})
        return exit_code if gate else 0
    columns = ("metric", "first", "second", "difference", "95 %", "p", "verdict", "visible from", "n", "gained", "lost")
    rows = [
        (
            metric.metric,
            f"{metric.first:.3f}",
            f"{metric.second:.3f}",
            f"{metric.difference:+.3f}",
            f"{metric.low:+.3f} … {metric.high:+.3f}",
            "<0.001" if metric.p < 0.001 else f"{metric.p:.3f}",
            metric.verdict,
            "–" if metric.smallest_visible is None else f"{metric.smallest_visible:.3f}",
            f"{metric.n}" + (f" (+{metric.unpaired} unpaired)" if metric.unpaired else ""),
            len(metric.gained),
            len(metric.lost),
        )
        for metric in result.metrics
    ]
    table(f"{second} against {first}", columns, rows)
    if result.weighted:
        echo("note: each question counts once, however many cases ask it", err=True)
    for warning in [*result.warnings, *doubts]:
        echo(f"note: {warning}", err=True)
    return exit_code if gate else 0
