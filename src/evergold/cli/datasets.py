"""`evergold datasets`: what a run can be made of, whether its files are right, and how two versions differ."""

from pathlib import Path

import click

from evergold.build.diff import Diff
from evergold.cli.opening import opened, without_database
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.cli.paths import PathOrUrl


@click.group()
def command() -> None:
    """List datasets, show their versions, compare two of them, check benchmark files."""


@command.command("list")
@json_flag
@click.pass_context
def list_command(ctx: click.Context, as_json: bool) -> None:
    """List datasets: YAML files of `benchmark.datasets_dir`, the bundled samples, and what the store holds."""
    with opened(ctx) as workspace:
        result = workspace.bench.datasets.list()
    if as_json:
        emit_json(result)
        return
    rows = [
        (d.name, d.origin, d.tasks or "", d.problems[0] if d.problems else d.description or d.title) for d in result
    ]
    table(f"{len(result)} datasets", ("dataset", "origin", "cases", "about"), rows)


@command.command("lint")
@click.argument("path", type=PathOrUrl(exists=True))
@json_flag
@click.pass_context
def lint_command(ctx: click.Context, /, path: Path, as_json: bool) -> int:
    """Check every YAML file below PATH (or the one file). Exit code 1 when anything is wrong."""
    with without_database(ctx) as workspace:
        check = workspace.task_files.lint(path)
    if as_json:
        emit_json(vars(check))
        return int(bool(check.problems))
    for problem in check.problems:
        echo(problem)
    echo(f"{check.files} files, {check.tasks} tasks, {len(check.problems)} problems")
    return int(bool(check.problems))


@command.command("schema")
@click.pass_context
def schema_command(ctx: click.Context) -> None:
    """Print the JSON Schema of a dataset file, for editors."""
    with without_database(ctx) as workspace:
        emit_json(workspace.task_files.schema())


@command.command("show")
@click.argument("dataset")
@click.argument("version", required=False)
@json_flag
@click.pass_context
def show_command(ctx: click.Context, dataset: str, version: str | None, as_json: bool) -> None:
    """Show the versions of DATASET, or the manifest of one VERSION."""
    with opened(ctx) as workspace:
        result = [workspace.builds.get(dataset, version)] if version else workspace.builds.versions(dataset)
    if version:
        # A manifest is JSON whichever way it is asked for.
        emit_json(result[0].manifest)
    elif as_json:
        emit_json({"builds": [build.model_dump(mode="json") for build in result]})
    else:
        rows = [
            (
                build.version,
                ", ".join(f"{name} {split['count']}" for name, split in build.manifest["splits"].items()),
                build.parent,
                build.content_hash[:19],
                build.created_at.strftime("%Y-%m-%d %H:%M"),
                build.location,
            )
            for build in result
        ]
        table(f"builds of {dataset}", ("version", "cases", "parent", "content", "built", "folder"), rows)


@command.command("diff")
@click.argument("before")
@click.argument("after")
@click.option("--dataset", help="The dataset whose versions BEFORE and AFTER are.")
@json_flag
@click.pass_context
def diff_command(ctx: click.Context, before: str, after: str, dataset: str | None, as_json: bool) -> None:
    """Compare two builds: versions (v1 v2), folders or manifests. Added, removed and changed cases, field by field."""
    with opened(ctx) as workspace:
        result = workspace.builds.diff(before, after, dataset)
    if as_json:
        emit_json(result.to_json())
    else:
        _print(result)


def _print(result: Diff) -> None:
    rows: list[tuple[object, ...]] = [("+", one, "", "", "") for one in result.added]
    rows += [("-", one, "", "", "") for one in result.removed]
    rows += [(">", one, "split", old, new) for one, (old, new) in result.moved.items()]
    rows += [
        ("~", one, change.field, change.before, change.after) for one, all_ in result.changed.items() for change in all_
    ]
    counts = result.to_json()["counts"]
    title = ", ".join(f"{count} {what}" for what, count in counts.items())
    table(f"{result.before} → {result.after}: {title}", ("", "case", "field", "before", "after"), rows)
    if not rows:
        echo(f"no difference between {result.before} and {result.after}", err=True)
