"""`evergold build`: offline RAG generations → splits and manifest; or a stored dataset, frozen."""

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from evergold.cli.opening import opened, without_database
from evergold.cli.output import cluster_option, echo, emit_json, json_flag, progress, table
from evergold.cli.paths import A_PATH
from evergold.errors import BadInput
from evergold.model.build import Manifest

EMPTY_SPLIT = ": cases that belong together are never parted; give it a larger share, or group by something smaller"
OF_A_DATASET = ("out", "shares", "group_by", "seed", "filters", "on_leak", "avoid", "canary", "repeats")
OF_A_FILE = (
    "config",
    "offline_dataset",
    "qa_output",
    "summary_output",
    "manifest",
    "limit",
    "strict",
    "jobs",
    "cluster",
)


@click.command()
@click.argument("name", metavar="[DATASET]", required=False)
@click.option("--config", type=A_PATH, help="YAML file with an `evaluation` section; relative paths start beside it.")
@click.option("--offline-dataset", metavar="FILE|URL", help="Offline JSONL to build from; also s3:// and friends.")
@click.option("--qa-output", type=A_PATH, help="Where the qa split goes.")
@click.option("--summary-output", "--summaries-output", "summary_output", type=A_PATH, help="Where summaries go.")
@click.option("--manifest-output", "manifest", type=A_PATH, help="Where the manifest goes.")
@click.option("--version", help="Version of the build: v1, v2, v2.1 …  [default: v1; with --dataset the next one]")
@click.option("--limit", type=int, help="Read only this many records.")
@click.option("--force", is_flag=True, help="Replace outputs that are already there.")
@click.option("--strict", is_flag=True, default=None, help="Stop at the first record that cannot be used.")
@click.option("--jobs", type=int, help="Cores to use.  [default: all of them for a large file]")
@cluster_option
@click.option("--dataset", help="Freeze this stored dataset; the same as DATASET.")
@click.option("--out", type=A_PATH, help="Folder of the build.  [default: builds/DATASET/VERSION in the workspace]")
@click.option("--split", "shares", metavar="NAME=SHARE,…", help="Splits and their shares: train=0.7,test=0.3.")
@click.option(
    "--group-by", help="What must not be parted: session, document, repository, trace, user, none.  [default: auto]"
)
@click.option("--seed", type=int, help="Decides which group goes where.  [default: 0]")
@click.option(
    "--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this; may be repeated."
)
@click.option("--on-leak", help="Near-duplicates across splits, overlap: report, fail or ignore.  [default: report]")
@click.option("--avoid", type=A_PATH, multiple=True, help="Few-shot or fine-tune file whose texts must not be in here.")
@click.option("--repeats", help="Copies of one question: keep all in one split, or only the best one.  [default: keep]")
@click.option("--canary", is_flag=True, default=None, help="Put a canary line on top of each split.")
@json_flag
@click.pass_context
def command(ctx: click.Context, /, name: str | None, dataset: str | None, as_json: bool, **flags: Any) -> None:
    """Build versioned evaluation splits with a manifest that proves them: of DATASET, or of an offline file."""
    # The builder logs task types that have no split; without a handler nobody would see it.
    logging.basicConfig(level=logging.WARNING, format="evergold: %(message)s")
    if name and dataset and name != dataset:
        raise BadInput(f"{ctx.command_path}: name one dataset, {name!r} or --dataset {dataset!r}")
    dataset = _named(ctx, name) if name else dataset
    # One verb, two sources: an option of the other one is refused, because it would silently do nothing.
    wrong = [name for name in (OF_A_FILE if dataset else OF_A_DATASET) if flags[name] not in (None, ())]
    if wrong:
        other = "an offline file" if dataset else "a stored dataset (--dataset NAME)"
        raise BadInput(f"{ctx.command_path}: {_flag(ctx, wrong[0])} goes with {other} only")
    manifest, path = _freeze(ctx, dataset, flags) if dataset else _build_file(ctx, flags)
    if as_json:
        emit_json(manifest)
    else:
        _print_summary(manifest, path)


def _named(ctx: click.Context, name: str) -> str:
    """Take a name for a stored dataset; a file goes with an option of its own."""
    if Path(name).is_file():
        option = "--config" if name.endswith((".yaml", ".yml")) else "--offline-dataset"
        raise BadInput(f"{name!r} is a file; to build from it: {ctx.command_path} {option} {name}")
    return name


def _flag(ctx: click.Context, name: str) -> str:
    return next(option.opts[0] for option in ctx.command.params if option.name == name)


def _build_file(ctx: click.Context, flags: dict[str, Any]) -> tuple[Manifest, Path]:
    outputs = {"qa": flags["qa_output"], "summaries": flags["summary_output"]}
    given = {name: flags[name] for name in ("offline_dataset", "manifest", "version", "limit", "force", "strict")}
    with without_database(ctx) as workspace:
        built = workspace.rag.build(
            flags["config"],
            {**given, "outputs": outputs},
            jobs=flags["jobs"],
            cluster=flags["cluster"],
            progress=progress,
        )
    if built.registered is not None:
        echo(f"in the workspace as {built.registered.dataset}@{built.registered.version}", err=True)
    return built.manifest, built.path


def _freeze(ctx: click.Context, dataset: str, flags: dict[str, Any]) -> tuple[Manifest, Path]:
    options = {name: flags[name] for name in ("shares", "group_by", "seed", "on_leak", "canary", "repeats", "force")}
    options |= {"filters": filters_of(flags["filters"]), "avoid": tuple(flags["avoid"])}
    with opened(ctx) as workspace:
        build, path = workspace.builds.freeze_as(dataset, flags["version"], flags["out"], **options)
    return Manifest.model_validate(build.manifest), path


def filters_of(texts: Sequence[str]) -> dict[str, str]:
    """Each field once: of two values for the same one, either would be ignored."""
    filters: dict[str, str] = {}
    for name, value in map(_pair, texts):
        if filters.setdefault(name, value) != value:
            raise BadInput(f"--filter {name} is given as {filters[name]!r} and as {value!r}; a case can pass only one")
    return filters


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadInput(f"--filter {text!r} is not FIELD=VALUE, as in entry_type=golden")
    return name.strip().replace("-", "_"), value.strip()


def _repeat_notes(repeats: dict[str, Any], group_by: str) -> Iterator[str]:
    if repeats.get("clusters"):
        kept = f"{repeats['left_out']} left out" if repeats.get("mode") == "one" else "each kept in one split"
        yield f"{repeats['clusters']} questions are asked more than once, by {repeats['cases']} cases: {kept}"
    if repeats.get("ungrouped") and group_by not in ("auto", "none"):
        yield f"{repeats['ungrouped']} cases name no {group_by}; each is a group of its own"


def _print_summary(manifest: Manifest, path: Path) -> None:
    extra = manifest.model_extra or {}
    rows = [(name, entry.count, f"{entry.bytes:,}", entry.path) for name, entry in manifest.splits.items()]
    rows += [("excluded: " + kind, count, "", "") for kind, count in manifest.excluded_task_types.items()]
    rows += [("excluded: " + reason, count, "", "") for reason, count in extra.get("excluded", {}).items()]
    rows += [("rejected: " + reason, count, "", "") for reason, count in manifest.rejected.items()]
    table(f"build {manifest.version}", ("split", "records", "bytes", "file"), rows, numbers=("records", "bytes"))
    rejected = extra.get("rejected_records", {})
    if rejected.get("count"):
        echo(f"{rejected['count']} rejected records, with line and reason, are in {rejected['path']}", err=True)
    pairs = (extra.get("near_duplicates") or {}).get("count")
    if pairs:
        echo(f"{pairs} cases are nearly the same as one in another split; the manifest names the first", err=True)
    for note in _repeat_notes(extra.get("repeats") or {}, str(extra.get("group_by"))):
        echo(note, err=True)
    for name, entry in manifest.splits.items():
        if not entry.count:
            echo(f"split {name} is empty{EMPTY_SPLIT if extra.get('shares') else ''}", err=True)
    echo(f"manifest: {path}", err=True)
