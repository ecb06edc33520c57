"""`evergold generate`, `build`, `check` and `verify`: documents → an offline dataset → a frozen build that can be verified."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from evergold.cli.options import A_PATH, CANDIDATES, CANDIDATES_HELP, cluster_option, parse_filters, report_verb
from evergold.cli.output import answer_in_json, echo, print_result, progress, table
from evergold.errors import BadInput
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.build.manifest import Report
    from evergold.extract.run import RowCheck
    from evergold.model.build import Manifest
    from evergold.model.generation import GenerationReport

DEFAULT_MANIFEST = "evaluation/datasets/manifest.json"
MOST_UNGROUNDED = 0.4  # of `build/check.py`, which gives the reason
NAME_WIDTH = 22
SHOWN_ITEMS = 3
LONGEST = 160
EMPTY_SPLIT = ": cases that belong together are never parted; give it a larger share, or group by something smaller"
OF_A_DATASET = ("out", "shares", "group_by", "seed", "filters", "candidates", "on_leak", "avoid", "canary", "repeats")
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
@click.option("--candidates", type=click.Choice(CANDIDATES), help=CANDIDATES_HELP)
@click.option(
    "--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this; may be repeated."
)
@click.option("--on-leak", help="Near-duplicates across splits, overlap: report, fail or ignore.  [default: report]")
@click.option("--avoid", type=A_PATH, multiple=True, help="Few-shot or fine-tune file whose texts must not be in here.")
@click.option("--repeats", help="Copies of one question: keep all in one split, or only the best one.  [default: keep]")
@click.option("--canary", is_flag=True, default=None, help="Put a canary line on top of each split.")
@report_verb
def build_command(workspace: Workspace, name: str | None, dataset: str | None, **flags: Any) -> None:
    """Build versioned evaluation splits with a manifest that proves them: of DATASET, or of an offline file."""
    ctx = click.get_current_context()
    # The builder logs task types that have no split; without a handler nobody would see it.
    logging.basicConfig(level=logging.WARNING, format="evergold: %(message)s")
    if name and dataset and name != dataset:
        raise BadInput(f"{ctx.command_path}: name one dataset, {name!r} or --dataset {dataset!r}")
    # A name is that of a stored dataset; a file goes with an option of its own.
    if name and Path(name).is_file():
        option = "--config" if name.endswith((".yaml", ".yml")) else "--offline-dataset"
        raise BadInput(f"{name!r} is a file; to build from it: {ctx.command_path} {option} {name}")
    dataset = name or dataset
    # One verb, two sources: an option of the other one is refused, because it would silently do nothing.
    wrong = [name for name in (OF_A_FILE if dataset else OF_A_DATASET) if flags[name] not in (None, ())]
    if wrong:
        other = "an offline file" if dataset else "a stored dataset (--dataset NAME)"
        option = next(one.opts[0] for one in ctx.command.params if one.name == wrong[0])
        raise BadInput(f"{ctx.command_path}: {option} goes with {other} only")
    manifest, path = _freeze(workspace, dataset, flags) if dataset else _build_file(workspace, flags)
    print_result(manifest, lambda: _print_build(manifest, path))


def _build_file(workspace: Workspace, flags: dict[str, Any]) -> tuple[Manifest, Path]:
    outputs = {"qa": flags["qa_output"], "summaries": flags["summary_output"]}
    given = {name: flags[name] for name in ("offline_dataset", "manifest", "version", "limit", "force", "strict")}
    built = workspace.rag.build(
        flags["config"], {**given, "outputs": outputs}, jobs=flags["jobs"], cluster=flags["cluster"], progress=progress
    )
    if built.registered is not None:
        echo(f"in the workspace as {built.registered.dataset}@{built.registered.version}", err=True)
    return built.manifest, built.path


def _freeze(workspace: Workspace, dataset: str, flags: dict[str, Any]) -> tuple[Manifest, Path]:
    options = {name: flags[name] for name in ("shares", "group_by", "seed", "on_leak", "canary", "repeats", "force")}
    filters = parse_filters(flags["filters"]) | ({"candidates": flags["candidates"]} if flags["candidates"] else {})
    options |= {"filters": filters, "avoid": tuple(flags["avoid"])}
    build, path = workspace.builds.freeze_as(dataset, flags["version"], flags["out"], **options)
    from evergold.model.build import Manifest

    return Manifest.model_validate(build.manifest), path


def _print_build(manifest: Manifest, path: Path) -> None:
    from evergold.model.case import candidates_left_out

    extra = manifest.model_extra or {}
    rows = [(name, entry.count, f"{entry.bytes:,}", entry.path) for name, entry in manifest.splits.items()]
    rows += [("excluded: " + kind, count, "", "") for kind, count in manifest.excluded_task_types.items()]
    rows += [("excluded: " + reason, count, "", "") for reason, count in extra.get("excluded", {}).items()]
    rows += [("rejected: " + reason, count, "", "") for reason, count in manifest.rejected.items()]
    table(f"build {manifest.version}", ("split", "records", "bytes", "file"), rows, numbers=("records", "bytes"))
    if waiting := extra.get("excluded", {}).get("candidate"):
        echo(candidates_left_out(waiting), err=True)
    rejected = extra.get("rejected_records", {})
    if rejected.get("count"):
        echo(f"{rejected['count']} rejected records, with line and reason, are in {rejected['path']}", err=True)
    pairs = (extra.get("near_duplicates") or {}).get("count")
    if pairs:
        echo(f"{pairs} cases are nearly the same as one in another split; the manifest names the first", err=True)
    repeats, group_by = extra.get("repeats") or {}, extra.get("group_by")
    if repeats.get("clusters"):
        kept = f"{repeats['left_out']} left out" if repeats.get("mode") == "one" else "each kept in one split"
        echo(f"{repeats['clusters']} questions are asked more than once, by {repeats['cases']} cases: {kept}", err=True)
    if repeats.get("ungrouped") and group_by not in ("auto", "none"):
        echo(f"{repeats['ungrouped']} cases name no {group_by}; each is a group of its own", err=True)
    for name, entry in manifest.splits.items():
        if not entry.count:
            echo(f"split {name} is empty{EMPTY_SPLIT if extra.get('shares') else ''}", err=True)
    echo(f"manifest: {path}", err=True)


@click.command()
@click.argument("manifest", type=A_PATH, default=DEFAULT_MANIFEST, required=False)
@click.option("--baseline", type=A_PATH, help="Manifest of an earlier version to compare with.")
@click.option("--max-drop", type=float, default=0.10, help="Share of records a split may lose.")
@click.option("--max-drift", type=float, default=0.20, help="How far a distribution may move, 0 to 1.")
@click.option("--sample", type=int, default=0, help="Print this many records of each split for a spot check.")
@click.option("--seed", type=int, default=0, help="Which records the sample draws.")
@click.option("--judged", type=int, default=50, help="Records of each split that the offline judge reads.")
@click.option(
    "--max-ungrounded",
    type=float,
    default=MOST_UNGROUNDED,
    help="Share of judged records that may have a sentence without support.",
)
@click.option("--repo", type=A_PATH, help="Prove the rows of a dataset A or B file against this repository instead.")
@click.option("--junit", type=A_PATH, help="Also write the result as JUnit XML.")
@report_verb
def check_command(
    workspace: Workspace, manifest: Path, baseline: Path | None, repo: Path | None, junit: Path | None, **limits: float
) -> int:
    """Check every record of a build against its schema and its MANIFEST. Exit code 0: good, 1: failed, 2: could not run.

    Without one, evaluation/datasets/manifest.json is checked. A `.jsonl` file instead of a manifest is checked as
    validated rows of dataset A or B.
    """
    rows = repo is not None or manifest.suffix == ".jsonl"
    # JUnit for rows comes from the check of a file; the proof against a repository has findings of another shape.
    if rows and (baseline or limits["sample"] or (junit and repo)):
        raise BadInput("--baseline and --sample go with a manifest only, and --junit not with --repo; leave them out")
    with progress("checking", None) as advance:
        if repo is not None:
            return _print_row_check(workspace.flows.check_rows(manifest, repo, advance))
        from evergold.build.check import CheckLimits

        bounds = CheckLimits(**limits)  # type: ignore[arg-type]
        report = workspace.rag.check(manifest, baseline, bounds, junit, advance)
    return print_report(report)


def print_report(report: Report) -> int:
    """Print the findings of a check; the exit code is 1 where one failed."""
    if answer_in_json(report.to_json()):
        return int(bool(report.failed))
    rows = []
    for one in report.findings:
        times = f"{one.count} times: " if one.outcome == "failed" and one.count > 1 else ""
        measured = ", ".join(f"{name} {value}" for name, value in one.measured.items())
        rows.append((one.outcome, one.check, one.split, f"{times}{one.message}" or measured))
    table(f"{report.manifest} ({report.version})", ("result", "check", "split", "note"), rows)
    for finding in report.failed:
        for example in finding.examples:
            echo(f"{finding.split}: {finding.check}: {example}", err=True)
        if finding.count > len(finding.examples):
            echo(f"{finding.split}: {finding.check}: … and {finding.count - len(finding.examples)} more", err=True)
    for split, records in report.samples.items():
        for record in records:
            echo(f"\n{split}: {record.get('task_id') or record.get('id') or ''}")
            for name, text in _compact(record):
                echo(f"  {name:<{NAME_WIDTH}} {text}")
    return int(bool(report.failed))


def _compact(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields of a sampled record side by side with their names, cut to a few lines; `--json` has them whole."""
    for name, value in record.items():
        if isinstance(value, list):
            for number, item in enumerate(value[:SHOWN_ITEMS], 1):
                yield f"{name} {number}/{len(value)}", _one_line(item)
        elif value not in (None, "", {}) and name not in ("task_id", "id"):
            yield name, _one_line(value)


def _one_line(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else orjson.dumps(value).decode()).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _print_row_check(result: RowCheck) -> int:
    """Print a check of rows. Exit code 1 where a row is stale; a row without a base commit is open, not wrong."""
    if answer_in_json(vars(result)):
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


@click.command()
@click.argument("folder", type=A_PATH)
@report_verb
def verify_command(workspace: Workspace, folder: Path) -> int:
    """Prove that the build in FOLDER (or the one of a manifest file) is still the one that was made."""
    return print_report(workspace.rag.verify(folder))


SHOWN_FILES = 10


@click.command()
@click.option("--documents", metavar="DIR", help="Folder with text, Markdown and PDF files.")
@click.option("--config", type=A_PATH, help="YAML file with a `generation` section; relative paths start beside it.")
@click.option("--out", "output", metavar="FILE", help="Where the dataset goes.  [default: the file that a build reads]")
@click.option("--model", metavar="MODEL", help="openai/NAME, local/smollm2 …; without one, sentences are quoted.")
@click.option("--limit", type=int, help="Stop after this many records.")
@click.option(
    "--resume/--fresh", "resume", default=None, help="Go on where a generation ended, or ask everything anew."
)
@report_verb
def generate_command(workspace: Workspace, config: Path | None, resume: bool | None, **flags: Any) -> None:
    """Make questions, answers and summaries from your documents, with the passages that prove them.

    With a model the records are written by it and every claim must cite a passage. Without one they are taken from the
    documents word for word, and say so.
    """
    from evergold.storage import location

    generation = workspace.generation
    # A path that was typed starts where it was typed; one in the config starts beside the config.
    output = str(location(flags["output"]).absolute()) if flags["output"] else None
    plan = generation.plan(config, {**flags, "output": output}, resume)
    with progress("reading documents", None) as advance:
        corpus = generation.read(plan, lambda _name: advance(1))
    with progress("generating", len(corpus.documents)) as advance:
        report = generation.generate(plan, corpus, advance)
    print_result(report, lambda: _print_summary(report, plan.outputs.dataset))


def _print_summary(report: GenerationReport, output: Path) -> None:
    rows: list[tuple[str, int, str]] = [("documents", report.documents, f"{report.passages:,} passages")]
    rows += [(kind, count, "records") for kind, count in report.records.items()]
    rows += [(f"by {method}", count, "") for method, count in report.methods.items()]
    rows += [(f"rejected: {reason}", count, "") for reason, count in report.rejected.items()]
    for reason in sorted({one.reason for one in report.skipped}):
        names = [one.name for one in report.skipped if one.reason == reason]
        more = " …" if len(names) > SHOWN_FILES else ""
        rows.append((f"skipped: {reason}", len(names), ", ".join(names[:SHOWN_FILES]) + more))
    if report.calls or report.calls_from_log:
        usage, failed = report.usage, f"; {report.failed_calls} failed" if report.failed_calls else ""
        money = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
        tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {money}{failed}"
        rows += [("calls", report.calls, tokens), ("from the log", report.calls_from_log, "not asked again")]
    table("generated", ("what", "count", "details"), rows, numbers=("count",))
    echo(f"{report.label} ({report.writer}); contexts by {report.retrieval}", err=True)
    if report.rejected:
        echo(f"what was rejected, and why: {output.with_name(report.rejected_output)}", err=True)
    echo(f"dataset: {output}", err=True)
