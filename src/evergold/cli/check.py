"""`evergold check`: is this build whole, and did anything shrink or drift since the last one?"""

from pathlib import Path

import click

from evergold.build.check import Limits
from evergold.cli.output import emit_json, json_flag, progress
from evergold.cli.verdict import print_report
from evergold.workspace.rag import check_build

A_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("manifest", type=A_PATH)
@click.option("--baseline", type=A_PATH, help="Manifest of an earlier version to compare with.")
@click.option("--max-drop", type=float, default=0.10, show_default=True, help="Share of records a split may lose.")
@click.option(
    "--max-drift", type=float, default=0.20, show_default=True, help="How far a distribution may move, 0 to 1."
)
@click.option("--sample", type=int, default=0, help="Print this many records of each split for a spot check.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which records the sample draws.")
@click.option("--junit", type=A_PATH, help="Also write the result as JUnit XML.")
@json_flag
def command(
    manifest: Path,
    baseline: Path | None,
    junit: Path | None,
    as_json: bool,
    **limits: float,
) -> int:
    """Check every record of a build against its schema and its MANIFEST. Exit code 0: good, 1: failed, 2: could not run."""
    with progress("checking", None) as advance:
        report = check_build(manifest, baseline, Limits(**limits), junit, advance)  # type: ignore[arg-type]
    if as_json:
        emit_json(report.to_json())
    else:
        print_report(report)
    return 1 if report.failed else 0
