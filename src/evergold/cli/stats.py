"""`evergold stats`: what the living dataset holds."""

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table


@click.command()
@click.option("--dataset", default="live", show_default=True, help="Which dataset.")
@click.option("--days", type=click.IntRange(1, 3660), default=30, show_default=True, help="How many days back.")
@json_flag
@click.pass_context
def command(ctx: click.Context, dataset: str, days: int, as_json: bool) -> None:
    """Totals per type, confirmed and candidate, per tag and per day."""
    with opened(ctx) as workspace:
        repeats = workspace.repeats.of(dataset).counts
        stats = workspace.live.stats(dataset, days=days).model_copy(update={"repeats": repeats})
    if as_json:
        emit_json(stats.model_dump(mode="json"))
        return
    covered = "no traces yet" if stats.coverage is None else f"{stats.coverage:.1%} of {stats.traces} traces"
    totals = [
        ("golden, confirmed", stats.confirmed),
        ("golden, candidate", stats.candidate),
        ("failure", stats.failure),
        ("correction", stats.correction),
        ("withdrawn", stats.withdrawn),
        ("traces curated", stats.curated_traces),
        ("traces that wait for curation", stats.waiting),
        ("questions that more than one case asks", repeats.questions),
        ("cases that ask them", repeats.repeating),
    ]
    table(f"{dataset}: {stats.total} entries, from {covered}", ("entries", "count"), totals, numbers=("count",))
    if repeats.looked_at < repeats.cases:
        echo(f"note: repeats are counted among the newest {repeats.looked_at} cases", err=True)
    if stats.tags:
        table("by tag", ("tag", "count"), list(stats.tags.items()), numbers=("count",))
    if stats.days:
        rows = [(day.day, day.traces, day.golden, day.failure, day.correction) for day in stats.days]
        columns = ("day", "traces", "golden", "failure", "correction")
        table("by day", columns, rows, numbers=columns[1:])
