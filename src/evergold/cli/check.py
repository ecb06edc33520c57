"""`evergold check`: is this build whole, and did anything shrink or drift since the last one?"""

from pathlib import Path

import click

from evergold.build.check import MOST_UNGROUNDED, CheckLimits
from evergold.build.spec import DEFAULT_FOLDER
from evergold.cli.opening import without_database
from evergold.cli.output import echo, emit_json, json_flag, progress
from evergold.cli.paths import A_PATH
from evergold.cli.verdict import print_report
from evergold.errors import BadInput
from evergold.extract.run import RowCheck

DEFAULT_MANIFEST = f"{DEFAULT_FOLDER}/manifest.json"


@click.command()
@click.argument("manifest", type=A_PATH, default=DEFAULT_MANIFEST, required=False)
@click.option("--baseline", type=A_PATH, help="Manifest of an earlier version to compare with.")
@click.option("--max-drop", type=float, default=0.10, show_default=True, help="Share of records a split may lose.")
@click.option(
    "--max-drift", type=float, default=0.20, show_default=True, help="How far a distribution may move, 0 to 1."
)
@click.option("--sample", type=int, default=0, help="Print this many records of each split for a spot check.")
@click.option("--seed", type=int, default=0, show_default=True, help="Which records the sample draws.")
@click.option(
    "--judged", type=int, default=50, show_default=True, help="Records of each split that the offline judge reads."
)
@click.option(
    "--max-ungrounded",
    type=float,
    default=MOST_UNGROUNDED,
    show_default=True,
    help="Share of judged records that may have a sentence without support.",
)
@click.option("--repo", type=A_PATH, help="Prove the rows of a dataset A or B file against this repository instead.")
@click.option("--junit", type=A_PATH, help="Also write the result as JUnit XML.")
@json_flag
@click.pass_context
def command(
    ctx: click.Context,
    /,
    manifest: Path,
    baseline: Path | None,
    repo: Path | None,
    junit: Path | None,
    as_json: bool,
    **limits: float,
) -> int:
    """Check every record of a build against its schema and its MANIFEST. Exit code 0: good, 1: failed, 2: could not run.

    Without one, evaluation/datasets/manifest.json is checked. A `.jsonl` file instead of a manifest is checked as
    validated rows of dataset A or B.
    """
    rows = repo is not None or manifest.suffix == ".jsonl"
    # JUnit for rows comes from the check of a file; the proof against a repository has findings of another shape.
    if rows and (baseline or limits["sample"] or (junit and repo)):
        raise BadInput("--baseline and --sample go with a manifest only, and --junit not with --repo; leave them out")
    with without_database(ctx) as workspace, progress("checking", None) as advance:
        if repo is not None:
            return _print_check(workspace.flows.check_rows(manifest, repo, advance), as_json)
        bounds = CheckLimits(**limits)  # type: ignore[arg-type]
        report = workspace.rag.check(manifest, baseline, bounds, junit, advance)
    if as_json:
        emit_json(report.to_json())
    else:
        print_report(report)
    return 1 if report.failed else 0


def _print_check(result: RowCheck, as_json: bool) -> int:
    """Exit code 1 where a row is stale; a row without a base commit is open, not wrong."""
    if as_json:
        emit_json(vars(result))
        return int(bool(result.stale))
    echo(
        f"{result.rows} rows: {result.proved} proved, {len(result.stale)} stale, {len(result.open)} without a base commit, "
        f"{len(result.overridden)} approved against the repository, {result.without_hashes} without hashes; "
        f"{result.unproved_ranges} golden ranges carry no hash, {result.not_at_base} secondary entries are not at base"
    )
    for case_id, reasons in result.stale.items():
        for reason in reasons:
            echo(f"stale {case_id}: {reason}")
    for case_id, reason in result.overridden.items():
        echo(f"approved against the repository {case_id}: {reason}")
    return int(bool(result.stale))
