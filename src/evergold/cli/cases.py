"""`evergold cases`: what the datasets hold."""

import click

from evergold.cli.case_view import lines_of
from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.model.case import Case, CaseKind, CaseStatus, EntryType, ReviewState
from evergold.store.cases import CaseFilter


@click.group()
def command() -> None:
    """List, show and tag cases."""


@command.command("list")
@click.option("--dataset", help="Only this dataset.")
@click.option("--kind", type=click.Choice([kind.value for kind in CaseKind]))
@click.option("--type", "entry_type", type=click.Choice([kind.value for kind in EntryType]))
@click.option(
    "--confirmed/--candidate", "confirmed", default=None, help="Golden cases with, or without, a person's word."
)
@click.option("--review", type=click.Choice([state.value for state in ReviewState]))
@click.option("--status", type=click.Choice([state.value for state in CaseStatus]), default="active", show_default=True)
@click.option("--tag", help="Only cases with this tag.")
@click.option("--trace", "trace_id", help="Only cases of this trace.")
@click.option("--since", metavar="TIME", help="Only cases made at or after this time (UTC).")
@click.option("--search", help="Only cases whose texts contain this.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@json_flag
@click.pass_context
def list_command(ctx: click.Context, /, limit: int, as_json: bool, **filters: object) -> None:
    """List cases, newest first."""
    wanted = CaseFilter.model_validate(filters)
    with opened(ctx) as workspace:
        result, _ = workspace.cases.page(wanted, limit=limit)
        total = workspace.cases.count(wanted)
    if as_json:
        emit_json({"total": total, "cases": [case.model_dump(mode="json") for case in result]})
        return
    rows = [(case.dataset, case.id, case.kind, case.entry_type, _mark(case), case.input) for case in result]
    table(f"{total} cases", ("dataset", "id", "kind", "type", "state", "input"), rows)


@command.command("show")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--history", is_flag=True, help="Also every revision: who, when, why.")
@json_flag
@click.pass_context
def show_command(ctx: click.Context, dataset: str, case_id: str, history: bool, as_json: bool) -> None:
    """Show one case whole."""
    with opened(ctx) as workspace:
        case = workspace.cases.get(dataset, case_id)
        revisions = workspace.cases.history(dataset, case_id) if history else []
    if as_json:
        emit_json(case.model_dump(mode="json") | ({"history": revisions} if history else {}))
        return
    for line in lines_of(case):
        echo(line)
    for revision in revisions:
        echo(f"v{revision.version} {revision.created_at} {revision.who}: {revision.action} {revision.why}".rstrip())


@command.command("tag")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--add", multiple=True)
@click.option("--remove", multiple=True)
@click.option("--who", default="cli", show_default=True)
@click.pass_context
def tag_command(
    ctx: click.Context, dataset: str, case_id: str, add: tuple[str, ...], remove: tuple[str, ...], who: str
) -> None:
    """Add or remove tags of a case."""
    with opened(ctx) as workspace:
        case = workspace.cases.tag(dataset, case_id, add=add, remove=remove, who=who)
    echo(f"{case.dataset}/{case.id}: {', '.join(case.tags) or 'no tags'}")


def _mark(case: Case) -> str:
    """How far a case can be trusted; only golden cases are candidates."""
    if case.review is ReviewState.VALIDATED:
        return "validated"
    if case.entry_type is not EntryType.GOLDEN:
        return "unvalidated"
    return "confirmed" if case.confirmed else "candidate"
