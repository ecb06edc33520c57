"""`evergold datasets`: what a run can be made of, whether its files are right, and how two versions differ."""

from pathlib import Path

import click

from evergold.build.diff import Diff
from evergold.cli.options import PathOrUrl, json_flag, open_without_database, open_workspace
from evergold.cli.output import echo, emit_json, table


@click.group()
def datasets_command() -> None:
    """List datasets, show their versions, compare two of them, check benchmark files."""


@datasets_command.command("list")
@json_flag
@click.pass_context
def list_datasets(ctx: click.Context, as_json: bool) -> None:
    """List datasets: YAML files of `benchmark.datasets_dir`, the bundled samples, and what the store holds."""
    with open_workspace(ctx) as workspace:
        result = workspace.bench.datasets.list()
    if as_json:
        emit_json(result)
        return
    rows = [
        (d.name, d.origin, d.tasks or "", d.problems[0] if d.problems else d.description or d.title) for d in result
    ]
    table(f"{len(result)} datasets", ("dataset", "origin", "cases", "about"), rows)


@datasets_command.command("lint")
@click.argument("path", type=PathOrUrl(exists=True))
@json_flag
@click.pass_context
def lint_files(ctx: click.Context, /, path: Path, as_json: bool) -> int:
    """Check every YAML file below PATH (or the one file). Exit code 1 when anything is wrong."""
    with open_without_database(ctx) as workspace:
        check = workspace.task_files.lint(path)
    if as_json:
        emit_json(vars(check))
        return int(bool(check.problems))
    for problem in check.problems:
        echo(problem)
    echo(f"{check.files} files, {check.tasks} tasks, {len(check.problems)} problems")
    return int(bool(check.problems))


@datasets_command.command("schema")
@click.pass_context
def print_schema(ctx: click.Context) -> None:
    """Print the JSON Schema of a dataset file, for editors."""
    with open_without_database(ctx) as workspace:
        emit_json(workspace.task_files.schema())


@datasets_command.command("show")
@click.argument("dataset")
@click.argument("version", required=False)
@json_flag
@click.pass_context
def show_dataset(ctx: click.Context, dataset: str, version: str | None, as_json: bool) -> None:
    """Show the versions of DATASET, or the manifest of one VERSION."""
    with open_workspace(ctx) as workspace:
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


@datasets_command.command("diff")
@click.argument("before")
@click.argument("after")
@click.option("--dataset", help="The dataset whose versions BEFORE and AFTER are.")
@json_flag
@click.pass_context
def diff_builds(ctx: click.Context, before: str, after: str, dataset: str | None, as_json: bool) -> None:
    """Compare two builds: versions (v1 v2), folders or manifests. Added, removed and changed cases, field by field."""
    with open_workspace(ctx) as workspace:
        result = workspace.builds.diff(before, after, dataset)
    if as_json:
        emit_json(result.to_json())
    else:
        _print_diff(result)


def _print_diff(result: Diff) -> None:
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
