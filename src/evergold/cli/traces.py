"""`evergold ingest` and `evergold traces`: take traces in from files, look at them, archive them by day, forget them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evergold.cli.options import A_PATH, cluster_option, report_verb
from evergold.cli.output import answer_in_json, echo, one_line, print_result, progress, table
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.model.trace import Span, Trace


@click.command()
@click.argument("files", nargs=-1, required=True, type=str)
@click.option("--source", metavar="NAME", help="Format of the files (default: recognised).")
@click.option(
    "--unit",
    type=click.Choice(["task", "turn"]),
    help="What becomes a trace: of an agent's log the whole task by default, of a chat each turn.",
)
@click.option("--strict", is_flag=True, help="Store nothing when any record is bad.")
@click.option(
    "--scale",
    multiple=True,
    metavar="NAME=BAD:GOOD",
    help="Read scores of this name by their scale, numbers or words: stars=1:5, risk=1:0, tone=rude:kind.",
)
@cluster_option
@report_verb
def ingest_command(workspace: Workspace, files: tuple[str, ...], strict: bool, **how: Any) -> int:
    """Take in traces, scores and corrections from FILES (- is standard input).

    Bad records are reported as `file:line: field: reason` and counted; the good ones are stored. Exit code 1 when any
    was rejected. The same file twice changes nothing.
    """
    from evergold.storage import find_matching

    inputs = [one for name in files for one in ([sys.stdin.buffer] if name == "-" else find_matching(name))]
    # The size is for the progress bar; standard input and objects of a store have none.
    size = sum(path.stat().st_size for path in inputs if isinstance(path, Path) and path.is_file())
    with progress("ingesting", size or None) as advance:
        report = workspace.intake.ingest(inputs, strict=strict, progress=advance, **how)
    for problem in report.problems:
        echo(problem, err=True)
    if report.rejected > len(report.problems):
        echo(f"… and {report.rejected - len(report.problems)} more rejected records", err=True)
    if any("from 0 to 1" in problem for problem in report.problems):
        echo(
            "scores of another scale are read with --scale NAME=BAD:GOOD, such as stars=1:5 or tone=rude:kind", err=True
        )
    nothing = "; nothing was stored (--strict)" if strict and report.rejected else ""
    print_result(report.counts(), f"{report.table()[0]}{nothing}")
    return int(report.rejected > 0)


@click.group()
def traces_command() -> None:
    """List and show traces; archive them by day; forget them by age, or everything of one user."""


@traces_command.command("list")
@click.option("--session", "session_id", help="Only traces of this session.")
@click.option("--user", "user_id", help="Only traces of this user.")
@click.option("--status", type=click.Choice(["started", "completed", "failed"]))
@click.option("--name", help="Only traces of this name.")
@click.option("--model", help="Only traces that used this model.")
@click.option("--app", multiple=True, help="Only traces of this app, `service/name`; may be repeated.")
@click.option(
    "--became",
    multiple=True,
    type=click.Choice(["golden", "candidate", "failure", "correction", "none"]),
    help="Only traces whose case is this; none: those without a case.",
)
@click.option("--incomplete", multiple=True, metavar="REASON", help="Only traces that lack this, `any`, or `none`.")
@click.option("--exporter", help="Only incomplete traces that this instrumentation, service or agent sent.")
@click.option("--since", metavar="TIME", help="Only traces begun at or after this time (UTC).")
@click.option("--until", metavar="TIME", help="Only traces begun before this time (UTC).")
@click.option("--search", help="Words said anywhere in it, the last one as a beginning; or an id's beginning.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, help="How many at most.")
@click.option("--before", metavar="CURSOR", help="The page after: `next` of the page before, as --json prints it.")
@report_verb
def list_traces(workspace: Workspace, limit: int, before: str | None, **filters: object) -> None:
    """List traces, newest first."""
    from evergold.store.trace.filter import TraceFilter

    wanted = TraceFilter.model_validate(filters)
    if wanted.search:
        workspace.intake.index()
    result, cursor = workspace.intake.page(wanted, limit=limit, before=before)
    total = workspace.intake.count(wanted)
    ids = [trace.id for trace in result]
    became, hits = workspace.intake.outcomes(ids), workspace.intake.hits(wanted, ids)
    if answer_in_json({"total": total, "next": cursor, "traces": result, "became": became, "hits": hits}):
        return
    columns = ("started", "id", "status", "became", "name", *(("found in", "excerpt") if hits else ("input", "output")))
    rows = []
    for one in result:
        outcome = became.get(one.id) or ("incomplete" if one.incomplete else "")
        texts = ("", "") if hits else (one.input, one.output)
        if hit := hits.get(one.id):
            # The words of the search stand in brackets.
            marked = (f"[{piece}]" if number % 2 else piece for number, piece in enumerate(hit.excerpt))
            texts = " ".join(filter(None, (hit.part.replace("_", " "), hit.name))), "".join(marked)
        rows.append((_start_text(one), one.id, one.status, outcome, one.name, *texts))
    table(f"{total} traces", columns, rows)


@traces_command.command("show")
@click.argument("trace_id")
@report_verb
def show_trace(workspace: Workspace, trace_id: str) -> None:
    """Show one trace: its steps as a tree, and its scores."""
    trace = workspace.intake.get(trace_id)
    if answer_in_json(trace):
        return
    for name, value in (
        ("trace", f"{trace.id}  {trace.status}  {_start_text(trace)}"),
        ("session", trace.session_id),
        ("user", trace.user_id),
        ("tags", ", ".join(trace.tags)),
        ("cost", "unknown" if trace.cost is None else f"${trace.cost:.6f} ({trace.cost_source})"),
        ("input", trace.input),
        ("output", trace.output),
        ("lacks", ", ".join(trace.incomplete)),
    ):
        if value:
            echo(f"{name + ':':9}{value}")
    for depth, span in _order_spans(trace):
        echo(_span_line(depth, span))
    for score in trace.scores:
        comment = f"  {score.comment}" if score.comment else ""
        number = f"#{score.id} " if score.id is not None else ""
        echo(f"score:   {number}{score.name} = {score.value:g} ({score.source}){comment}")


@traces_command.command("unscore")
@click.argument("score_id", type=click.IntRange(min=1))
@report_verb
def delete_score(workspace: Workspace, score_id: int) -> None:
    """Take a score back, with what followed from it; `traces show` prints the ids."""
    trace_id = workspace.live.unscore(score_id)
    workspace.live.curate(trace_id)
    print_result({"id": score_id, "trace_id": trace_id}, f"took score {score_id} of trace {trace_id} back")


@traces_command.command("archive")
@click.option("--older-than", required=True, metavar="AGE", help="Age as 30d, 12h or 2w.")
@click.option("--to", "target", required=True, type=A_PATH, metavar="URL", help="A folder, here or in an object store.")
@click.option("--dry-run", is_flag=True, help="Count; move nothing.")
@report_verb
def archive_traces(workspace: Workspace, older_than: str, target: Path, dry_run: bool) -> None:
    """Move old traces with everything about them into Parquet files by day, verified by hash.

    What a dataset entry cites stays in the workspace. Killed in the middle, nothing is lost: the same command again finishes.
    """
    with progress("archiving", None) as advance:
        archives = workspace.archives
        done = archives.would_move(older_than) if dry_run else archives.move(older_than, target, advance)
    kept = f"; {done.kept} changed meanwhile and stay" if done.kept else ""
    kept += f"; {done.cited} that datasets cite stay" if done.cited else ""
    size = " " if dry_run else f", {done.bytes / 1e6:.1f} MB, "
    moved = f"{'would archive' if dry_run else 'archived'} {done.traces} traces of {done.days} days{size}in {target}"
    text = moved if done.days else f"nothing to archive that is older than {older_than}"
    print_result(vars(done) | {"dry_run": dry_run}, text + kept)


@traces_command.command("restore")
@click.argument("day", metavar="DAY")
@click.option("--from", "source", required=True, type=A_PATH, metavar="URL", help="The archive.")
@report_verb
def restore_traces(workspace: Workspace, day: str, source: Path) -> None:
    """Bring the traces of DAY (2026-01-05) back from an archive. Traces that are there stay as they are."""
    count = workspace.archives.restore(day, source)
    print_result({"restored": count, "day": day}, f"restored {count} traces of {day}")


@traces_command.command("verify")
@click.argument("archive", type=A_PATH, metavar="URL")
@report_verb
def verify_archive(workspace: Workspace, archive: Path) -> int:
    """Compare every file of the archive at URL with its hash, and list its days. Ends with 1 if one is damaged."""
    days = list(workspace.archives.verify(archive))
    problems = [problem for day in days for problem in day.problems]
    if answer_in_json({"whole": not problems, "days": [vars(day) for day in days]}):
        return int(bool(problems))
    rows = [
        (day.day, day.parts, day.traces, f"{day.bytes / 1e6:.2f}", "damaged" if day.problems else "whole")
        for day in days
    ]
    table(f"{len(days)} days", ("day", "files", "traces", "MB", "state"), rows, numbers=("files", "traces", "MB"))
    for problem in problems:
        echo(problem, err=True)
    return int(bool(problems))


@traces_command.command("prune")
@click.option("--older-than", required=True, metavar="AGE", help="Age as 90d, 12h or 2w.")
@click.option("--dry-run", is_flag=True, help="Count; delete nothing.")
@report_verb
def prune_traces(workspace: Workspace, older_than: str, dry_run: bool) -> None:
    """Delete old traces that no dataset entry cites."""
    pruned = workspace.retention.prune(older_than, dry_run=dry_run)
    verb = "would delete" if dry_run else "deleted"
    waited = f"; {verb} {pruned.waiting} records whose trace never came" if pruned.waiting else ""
    text = f"{verb} {pruned.deleted} traces; kept {pruned.kept} that the dataset cites{waited}"
    print_result(vars(pruned) | {"dry_run": dry_run}, text)


@traces_command.command("erase")
@click.option("--user", required=True, metavar="USER", help="The user id the traces carry.")
@click.option("--who", default="cli", help="Who asks for it; stands in the tombstone.")
@click.option("--why", default="", show_default=False, help="Why; stands in the tombstone.")
@click.option("--dry-run", is_flag=True, help="Count traces, cases and archived traces; erase nothing.")
@report_verb
def erase_user(workspace: Workspace, user: str, who: str, why: str, dry_run: bool) -> None:
    """Erase a user: their traces, the cases made from them, the copies runs and builds hold, what they said of other
    people's traces, and what of theirs waits in the spool.

    What remains is a tombstone with a hash of the user id and the counts. This cannot be undone.
    """
    if dry_run:
        counted = workspace.retention.would_erase(user)
        counts = {"traces": counted.traces, "cases": counted.cases, "archived": counted.archived}
    else:
        counts = workspace.retention.erase(user, who=who, why=why).counts()
    text = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())
    done = "would erase" if dry_run else "erased"
    print_result(counts | ({"dry_run": True} if dry_run else {}), f"{done} {text}")


def _start_text(trace: Trace) -> str:
    """Write when a trace began, for a table: in UTC, to the second."""
    return trace.started_at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") if trace.started_at else ""


def _order_spans(trace: Trace) -> list[tuple[int, Span]]:
    """Order the steps under their parents, by time; one whose parent never came stands at the top."""
    known = {span.id for span in trace.spans}
    below: dict[str | None, list[Span]] = {}
    # A parent may be missing because its span was dropped, sampled out or has not arrived yet.
    for span in trace.spans:
        below.setdefault(span.parent_id if span.parent_id in known else None, []).append(span)
    lines: list[tuple[int, Span]] = []
    # A stack instead of recursion: agents nest spans deeper than Python's limit.
    waiting = [(0, span) for span in reversed(below.get(None, []))]
    while waiting:
        depth, span = waiting.pop()
        lines.append((depth, span))
        # `pop` also ends a cycle of parents, which a broken exporter may send.
        waiting += [(depth + 1, child) for child in reversed(below.pop(span.id, []))]
    return lines


def _span_line(depth: int, span: Span) -> str:
    took = ""
    if span.started_at and span.ended_at:
        took = f"  {(span.ended_at - span.started_at).total_seconds():.3f} s"
    model = f"  {span.metadata['model']}" if span.metadata.get("model") else ""
    failed = "  FAILED" if span.status == "failed" else ""
    line = f"{'  ' * depth}- {span.kind} {span.name}{model}{took}{failed}"
    return one_line(line) if depth == 0 else "  " * depth + one_line(line)
