"""`evergold import`: cases from a file of any known format."""

from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import emit_json, json_flag


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--format", "format_name", help="Format of the file (default: recognised).")
@click.option("--dataset", help="Put the cases into this dataset (default: what the file says).")
@click.option("--who", default="cli", show_default=True, help="Recorded as the author.")
@json_flag
@click.pass_context
def command(
    ctx: click.Context, file: Path, format_name: str | None, dataset: str | None, who: str, as_json: bool
) -> int:
    """Read cases from FILE into the store. The same file twice changes nothing; a changed case becomes a revision."""
    with opened(ctx) as workspace:
        result, rejected = workspace.cases.import_file(file, format_name=format_name, dataset=dataset, who=who)
    for item in rejected:
        click.echo(str(item), err=True)
    if as_json:
        emit_json({**vars(result), "rejected": len(rejected)})
    else:
        counts_text = ", ".join(f"{count} {name}" for name, count in vars(result).items())
        click.echo(f"imported {file}: {counts_text}, {len(rejected)} rejected")
    return int(bool(rejected))
