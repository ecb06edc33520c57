"""`evergold generate`: documents → an offline dataset that `evergold build` reads."""

from pathlib import Path
from typing import Any

import click

from evergold.cli.options import A_PATH, json_flag, settings_of
from evergold.cli.output import echo, emit_json, progress, table
from evergold.model.generation import GenerationReport
from evergold.storage import location
from evergold.workspace import Workspace

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
@json_flag
@click.pass_context
def generate_command(
    ctx: click.Context,
    /,
    config: Path | None,
    resume: bool | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Make questions, answers and summaries from your documents, with the passages that prove them.

    With a model the records are written by it and every claim must cite a passage. Without one they are taken from the
    documents word for word, and say so.
    """
    # The workspace is named, not opened: generation reads and writes files only.
    generation = Workspace(settings_of(ctx)).generation
    plan = generation.plan(config, {**flags, "output": _make_absolute(flags["output"])}, resume)
    with progress("reading documents", None) as advance:
        corpus = generation.read(plan, lambda _name: advance(1))
    with progress("generating", len(corpus.documents)) as advance:
        report = generation.generate(plan, corpus, advance)
    if as_json:
        emit_json(report)
    else:
        _print_summary(report, plan.outputs.dataset)


def _make_absolute(path: str | None) -> str | None:
    """A path that was typed starts where it was typed; one in the config starts beside the config."""
    return str(location(path).absolute()) if path else None


def _print_summary(report: GenerationReport, output: Path) -> None:
    rows: list[tuple[str, int, str]] = [("documents", report.documents, f"{report.passages:,} passages")]
    rows += [(kind, count, "records") for kind, count in report.records.items()]
    rows += [(f"by {method}", count, "") for method, count in report.methods.items()]
    rows += [(f"rejected: {reason}", count, "") for reason, count in report.rejected.items()]
    rows += [(f"skipped: {reason}", count, names) for reason, count, names in _skipped_rows(report)]
    if report.calls or report.calls_from_log:
        rows += [
            ("calls", report.calls, _cost_text(report)),
            ("from the log", report.calls_from_log, "not asked again"),
        ]
    table("generated", ("what", "count", "details"), rows, numbers=("count",))
    echo(f"{report.label} ({report.writer}); contexts by {report.retrieval}", err=True)
    if report.rejected:
        echo(f"what was rejected, and why: {output.with_name(report.rejected_output)}", err=True)
    echo(f"dataset: {output}", err=True)


def _skipped_rows(report: GenerationReport) -> list[tuple[str, int, str]]:
    by_reason: dict[str, list[str]] = {}
    for one in report.skipped:
        by_reason.setdefault(one.reason, []).append(one.name)
    return [
        (reason, len(names), ", ".join(names[:SHOWN_FILES]) + (" …" if len(names) > SHOWN_FILES else ""))
        for reason, names in sorted(by_reason.items())
    ]


def _cost_text(report: GenerationReport) -> str:
    usage = report.usage
    money = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    tokens = f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, {money}"
    return f"{tokens}; {report.failed_calls} failed" if report.failed_calls else tokens
