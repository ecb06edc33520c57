"""`evergold replay-users`: who the user of a conversation is, drafted by a program and confirmed by a person."""

import click

from evergold.cli.build import filters_of
from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag


@click.group()
def command() -> None:
    """Draft simulated users from recorded conversations, and confirm them."""


@command.command("draft")
@click.argument("dataset")
@click.option("--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this.")
@click.option("--model", metavar="NAME", help="The model that writes the drafts; without one a rule does.")
@json_flag
@click.pass_context
def draft_command(ctx: click.Context, dataset: str, filters: tuple[str, ...], model: str | None, as_json: bool) -> None:
    """Draft persona and goal for the cases of DATASET that state none; drafts are marked until a person confirms them."""
    with opened(ctx) as workspace:
        result = workspace.replay_users.draft(dataset, filters_of(filters), model=model, local=True)
    if as_json:
        emit_json(result)
        return
    authors = ", ".join(f"{count} by {author}" for author, count in result.by.items())
    echo(f"{result.drafted} drafted{f' ({authors})' if authors else ''}, {result.had_one} had a user already")
    if result.without_messages:
        echo(f"{result.without_messages} without a message of a user")
    for problem, count in result.problems.items():
        echo(f"  {count} by rule instead: {problem}", err=True)
    if result.drafted:
        echo(f"they wait for a person: evergold cases list --dataset {dataset} --tag user:drafted, or Review")


@command.command("confirm")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--goal", help="What the user wants; without it the draft's goal stays.")
@click.option("--persona", help="Who the user is; without it the draft's persona stays.")
@click.option("--who", default="cli", show_default=True)
@click.pass_context
def confirm_command(
    ctx: click.Context, dataset: str, case_id: str, goal: str | None, persona: str | None, who: str
) -> None:
    """Confirm the simulated user of a case as it is, or as you write it."""
    given = {name: text for name, text in (("goal", goal), ("persona", persona)) if text is not None}
    with opened(ctx) as workspace:
        case = workspace.replay_users.confirm(dataset, case_id, given, who=who)
    echo(f"{case.dataset}/{case.id}: {case.metadata['goal']}")
