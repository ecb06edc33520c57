"""`evergold build`: offline RAG generations → splits and manifest; or a stored dataset, frozen."""

import logging
from pathlib import Path
from typing import Any

import click

from evergold.build.spec import load_spec
from evergold.cli.output import emit_json, json_flag, progress, table
from evergold.model.build import Manifest
from evergold.workspace.builds import build_rag

A_PATH = click.Path(path_type=Path)


@click.command()
@click.option("--config", type=A_PATH, help="YAML file with an `evaluation` section; relative paths start beside it.")
@click.option("--offline-dataset", type=A_PATH, help="Offline JSONL to build from.")
@click.option("--qa-output", type=A_PATH, help="Where the qa split goes.")
@click.option("--summary-output", "--summaries-output", "summary_output", type=A_PATH, help="Where summaries go.")
@click.option("--manifest-output", "manifest", type=A_PATH, help="Where the manifest goes.")
@click.option("--version", help="Version of the build: v1, v2, v2.1 …  [default: v1]")
@click.option("--limit", type=int, help="Read only this many records.")
@click.option("--force", is_flag=True, help="Replace outputs that are already there.")
@click.option("--strict", is_flag=True, help="Stop at the first record that cannot be used.")
@click.option("--jobs", type=int, help="Processes to use.  [default: one per core for a large file]")
@click.option("--cluster", metavar="tcp://…", help="Dask scheduler to use instead of processes here.")
@json_flag
def command(config: Path | None, jobs: int | None, cluster: str | None, as_json: bool, **flags: Any) -> None:
    """Build versioned evaluation splits with a manifest that proves them."""
    logging.basicConfig(level=logging.WARNING, format="evergold: %(message)s")
    outputs = {"qa": flags.pop("qa_output"), "summaries": flags.pop("summary_output")}
    spec = load_spec(config, {**flags, "outputs": outputs})
    size = spec.source.stat().st_size if spec.source.is_file() else None
    with progress("building", size) as advance:
        manifest = build_rag(spec, jobs=jobs, cluster=cluster, progress=_steps(advance))
    if as_json:
        emit_json(manifest)
    else:
        _print_summary(manifest, spec.manifest)


def _steps(advance: Any) -> Any:
    """The bar advances by differences, the builder reports how far it is."""
    reached = 0

    def report(done: int, _total: int) -> None:
        nonlocal reached
        advance(done - reached)
        reached = done

    return report


def _print_summary(manifest: Manifest, path: Path) -> None:
    rows = [(name, entry.count, f"{entry.bytes:,}", entry.path) for name, entry in manifest.splits.items()]
    rows += [("excluded: " + kind, count, "", "") for kind, count in manifest.excluded_task_types.items()]
    rows += [("rejected: " + reason, count, "", "") for reason, count in manifest.rejected.items()]
    table(f"build {manifest.version}", ("split", "records", "bytes", "file"), rows, numbers=("records", "bytes"))
    rejected = manifest.model_extra["rejected_records"] if manifest.model_extra else {}
    if rejected.get("count"):
        click.echo(f"{rejected['count']} rejected records, with line and reason, are in {rejected['path']}", err=True)
    click.echo(f"manifest: {path}", err=True)
