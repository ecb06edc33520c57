"""`evergold export`: a dataset as a file another tool reads."""

from collections import Counter
from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import cluster_option, echo, emit_json, json_flag
from evergold.cli.paths import A_PATH
from evergold.model.case import EntryType, ReviewState
from evergold.model.rejected import Rejected
from evergold.store.cases import CaseFilter
from evergold.workspace.naming import file_name


@click.command()
@click.argument("dataset")
@click.option("--format", "format_name", default="live-jsonl", show_default=True, help="`evergold plugins` lists them.")
@click.option("--out", type=A_PATH, help="File or folder (default: DATASET with the usual ending).")
@click.option("--type", "entry_type", type=click.Choice([kind.value for kind in EntryType]))
@click.option(
    "--confirmed/--candidate", "confirmed", default=None, help="Golden cases with, or without, a person's word."
)
@click.option("--review", type=click.Choice([state.value for state in ReviewState]))
@click.option("--tag", help="Only cases with this tag.")
@click.option("--since", metavar="TIME", help="Only cases made at or after this time (UTC).")
@click.option("--limit", type=click.IntRange(1), help="At most this many, after the filters, newest first.")
@cluster_option
@json_flag
@click.pass_context
def command(
    ctx: click.Context,
    /,
    dataset: str,
    format_name: str,
    out: Path | None,
    limit: int | None,
    cluster: str | None,
    as_json: bool,
    **filters: object,
) -> None:
    """Write the cases of DATASET, newest first. The file appears whole or not at all."""
    wanted = CaseFilter.model_validate({"dataset": dataset, **filters})
    with opened(ctx) as workspace:
        workspace.cases.require_dataset(dataset)
        # A name may hold a slash; the file stays in this folder.
        path = out or Path(file_name(dataset) + workspace.cases.suffix_of(format_name))
        unfit: list[Rejected] = []
        unheld: Counter[str] = Counter()
        count = workspace.cases.export(
            wanted, format_name, path, limit=limit, cluster=cluster, rejected=unfit, unheld=unheld
        )
    for item in unfit:
        echo(f"left out: {item}", err=True)
    if as_json:
        emit_json(
            {"path": str(path), "format": format_name, "cases": count, "left_out": len(unfit), "unheld": dict(unheld)}
        )
        return
    echo(f"exported {count} cases to {path}" + (f"; {len(unfit)} left out" if unfit else ""))
    if unheld:
        fields = ", ".join(f"{name}: {number}" for name, number in unheld.most_common())
        echo(f"{format_name} has no place for {fields}; they travel with the file and are read back", err=True)
