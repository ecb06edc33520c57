"""`evergold traces`: what came in, and forgetting it."""

import click

from evergold.cli.archive import archive_command, restore_command, verify_command
from evergold.cli.forgetting import erase_command, prune_command
from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, one_line, table
from evergold.model.trace import Span, Trace, TraceStatus
from evergold.store.trace_filter import TraceFilter

WIDTH = 100


@click.group()
def command() -> None:
    """List and show traces; archive them by day; forget them by age, or everything of one user."""


command.add_command(prune_command)
command.add_command(erase_command)
command.add_command(archive_command)
command.add_command(restore_command)
command.add_command(verify_command)


@command.command("list")
@click.option("--session", "session_id", help="Only traces of this session.")
@click.option("--user", "user_id", help="Only traces of this user.")
@click.option("--status", type=click.Choice([status.value for status in TraceStatus]))
@click.option("--name", help="Only traces of this name.")
@click.option("--model", help="Only traces that used this model.")
@click.option("--since", metavar="TIME", help="Only traces begun at or after this time (UTC).")
@click.option("--until", metavar="TIME", help="Only traces begun before this time (UTC).")
@click.option("--search", help="Words of the question or answer, the last one as a beginning; or an id's beginning.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--before", metavar="CURSOR", help="The page after: `next` of the page before, as --json prints it.")
@json_flag
@click.pass_context
def list_command(ctx: click.Context, /, limit: int, before: str | None, as_json: bool, **filters: object) -> None:
    """List traces, newest first."""
    wanted = TraceFilter.model_validate(filters)
    with opened(ctx) as workspace:
        result, cursor = workspace.intake.page(wanted, limit=limit, before=before)
        total = workspace.intake.count(wanted)
    if as_json:
        emit_json({"total": total, "next": cursor, "traces": [trace.model_dump(mode="json") for trace in result]})
        return
    rows = [(_started(trace), trace.id, trace.status, trace.name, trace.input, trace.output) for trace in result]
    table(f"{total} traces", ("started", "id", "status", "name", "input", "output"), rows)


@command.command("show")
@click.argument("trace_id")
@json_flag
@click.pass_context
def show_command(ctx: click.Context, trace_id: str, as_json: bool) -> None:
    """Show one trace: its steps as a tree, and its scores."""
    with opened(ctx) as workspace:
        trace = workspace.intake.get(trace_id)
    if as_json:
        emit_json(trace)
        return
    for name, value in (
        ("trace", f"{trace.id}  {trace.status}  {_started(trace)}"),
        ("session", trace.session_id),
        ("user", trace.user_id),
        ("tags", ", ".join(trace.tags)),
        ("input", trace.input),
        ("output", trace.output),
    ):
        if value:
            echo(f"{name + ':':9}{value}")
    for depth, span in _tree(trace):
        echo(_step(depth, span))
    for score in trace.scores:
        comment = f"  {score.comment}" if score.comment else ""
        number = f"#{score.id} " if score.id is not None else ""
        echo(f"score:   {number}{score.name} = {score.value:g} ({score.source}){comment}")


@command.command("unscore")
@click.argument("score_id", type=click.IntRange(min=1))
@json_flag
@click.pass_context
def unscore_command(ctx: click.Context, score_id: int, as_json: bool) -> None:
    """Take a score back, with what followed from it; `traces show` prints the ids."""
    with opened(ctx) as workspace:
        trace_id = workspace.live.unscore(score_id)
        workspace.live.curate(trace_id)
    if as_json:
        emit_json({"id": score_id, "trace_id": trace_id})
    else:
        echo(f"took score {score_id} of trace {trace_id} back")


def _started(trace: Trace) -> str:
    """When a trace began, for a table: in UTC, to the second."""
    return trace.started_at.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") if trace.started_at else ""


def _tree(trace: Trace) -> list[tuple[int, Span]]:
    """Steps under their parents, in order of time; one whose parent never came stands at the top."""
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


def _step(depth: int, span: Span) -> str:
    took = ""
    if span.started_at and span.ended_at:
        took = f"  {(span.ended_at - span.started_at).total_seconds():.3f} s"
    model = f"  {span.metadata['model']}" if span.metadata.get("model") else ""
    failed = "  FAILED" if span.status is TraceStatus.FAILED else ""
    line = f"{'  ' * depth}- {span.kind} {span.name}{model}{took}{failed}"
    return one_line(line) if depth == 0 else "  " * depth + one_line(line)
