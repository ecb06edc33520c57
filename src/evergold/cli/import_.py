"""`evergold import`: cases from a file of any known format."""

from collections import Counter
from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag
from evergold.cli.paths import A_PATH
from evergold.model.rejected import Rejected
from evergold.storage import matching


@click.command()
@click.argument("file", type=A_PATH)
@click.option("--format", "format_name", help="Format of the file (default: recognised).")
@click.option("--dataset", help="Put the cases into this dataset (default: what the file says).")
@click.option("--who", default="cli", show_default=True, help="Recorded as the author.")
@json_flag
@click.pass_context
def command(
    ctx: click.Context, file: Path, format_name: str | None, dataset: str | None, who: str, as_json: bool
) -> int:
    """Read cases from FILE into the store. The same file twice changes nothing; a changed case becomes a revision.

    FILE may be a URL (s3://…) and a glob in quotes; each file that matches is stored in a transaction of its own.
    """
    counts: Counter[str] = Counter()
    rejected: list[Rejected] = []
    with opened(ctx) as workspace:
        for one in matching(file):
            result, bad = workspace.cases.import_file(one, format_name=format_name, dataset=dataset, who=who)
            counts.update(vars(result))
            rejected += bad
    for item in rejected:
        echo(str(item), err=True)
    if as_json:
        emit_json({**counts, "rejected": len(rejected)})
    else:
        counts_text = ", ".join(f"{count} {name}" for name, count in counts.items())
        echo(f"imported {file}: {counts_text}, {len(rejected)} rejected")
    return int(bool(rejected))
