"""`evergold check-traces`: run the checks by hand."""

import click

from evergold.checks.stage import CheckReport
from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, progress, table
from evergold.errors import BadInput
from evergold.model.checking import Checked


@click.command()
@click.option("--backfill", is_flag=True, help="Check all of history again, also what was checked before.")
@click.option("--dry-run", is_flag=True, help="Show what the checks find in all of history; keep nothing.")
@click.option("--explain", "trace_id", metavar="TRACE", help="What each check finds in one trace, and why.")
@json_flag
@click.pass_context
def command(
    ctx: click.Context,
    /,
    backfill: bool,
    dry_run: bool,
    trace_id: str | None,
    as_json: bool,
) -> None:
    """Run the checks over the traces that no check has seen yet. The entries follow with the next `evergold curate`."""
    if sum(map(bool, (backfill, dry_run, trace_id))) > 1:
        raise BadInput("--backfill, --dry-run and --explain exclude each other; give one")
    with opened(ctx) as workspace:
        checks = workspace.live.checks
        if trace_id:
            # An unknown trace is an error here; the checks would only find nothing to say.
            workspace.intake.get(trace_id)
            _explain(checks.explain(trace_id), as_json)
            return
        work = checks.dry_run if dry_run else checks.backfill if backfill else checks.missing
        with progress("checking", workspace.live.trace_count()) as advance:
            report = work(advance)
        hint = checks.state()["hint"]
    if as_json:
        emit_json(vars(report) | {"dry_run": dry_run, "hint": hint})
        return
    _print(report, dry_run)
    if hint:
        echo(str(hint))


def _explain(outcomes: list[Checked], as_json: bool) -> None:
    if as_json:
        emit_json([_plain(each) for each in outcomes])
        return
    rows = [(each.check, _value(each), _reason(each), each.result.evidence if each.result else "") for each in outcomes]
    table("checks", ("check", "value", "reason", "evidence"), rows)


def _plain(each: Checked) -> dict[str, object]:
    result = each.result
    return {
        "check": each.check,
        "version": each.version,
        "source": each.source.value,
        "value": None if result is None else result.value,
        "reason": _reason(each),
        "evidence": "" if result is None else result.evidence,
        "error": each.error,
    }


def _value(each: Checked) -> str:
    return f"{each.result.value:g}" if each.result else "error" if each.error else "-"


def _reason(each: Checked) -> str:
    return each.result.reason if each.result else each.error or "does not apply"


def _print(report: CheckReport, dry_run: bool) -> None:
    done = "would change" if dry_run else "changed"
    echo(f"looked at {report.traces} traces" + ("" if dry_run else f"; {report.changed} scores {done}"))
    rows = [
        (name, value, number) for name, by_value in report.values.items() for value, number in sorted(by_value.items())
    ]
    if rows:
        table("results", ("check", "value", "traces"), rows, numbers=("traces",))
    for name, number in report.errors.items():
        echo(f"{name} could not be run on {number} traces")
    for what, examples in report.examples.items():
        echo(f"{what} (for example {', '.join(examples[:3])})")
