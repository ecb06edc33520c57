"""`evergold datasets`: what a run can be made of, and whether the files are right."""

from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import emit_json, json_flag, table


@click.group()
def command() -> None:
    """List benchmark datasets, check their files, print their schema."""


@command.command("list")
@json_flag
@click.pass_context
def list_command(ctx: click.Context, as_json: bool) -> None:
    """List datasets: YAML files of `benchmark.datasets_dir`, the bundled samples, and what the store holds."""
    with opened(ctx) as workspace:
        found = workspace.bench.datasets.list()
    if as_json:
        emit_json(found)
        return
    rows = [(d.name, d.origin, d.tasks or "", d.problems[0] if d.problems else d.description or d.title) for d in found]
    table(f"{len(found)} datasets", ("dataset", "origin", "cases", "about"), rows)


@command.command("lint")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_flag
def lint_command(path: Path, as_json: bool) -> int:
    """Check every YAML file below PATH (or the one file). Exit code 1 when anything is wrong."""
    from evergold.bench.datasets import discover, read_file

    found = discover(path, None) if path.is_dir() else {path.stem: read_file(path)}
    problems = [problem for entry in found.values() for problem in entry.problems]
    if as_json:
        emit_json(
            {
                "files": len(found),
                "tasks": sum(len(e.file.tasks) for e in found.values() if e.file),
                "problems": problems,
            }
        )
        return int(bool(problems))
    for problem in problems:
        click.echo(problem)
    tasks = sum(len(entry.file.tasks) for entry in found.values() if entry.file)
    click.echo(f"{len(found)} files, {tasks} tasks, {len(problems)} problems")
    return int(bool(problems))


@command.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of a dataset file, for editors."""
    from evergold.formats.yaml_tasks import json_schema

    emit_json(json_schema())
