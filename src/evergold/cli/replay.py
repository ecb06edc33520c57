"""`evergold replay-set` and `replay-users`: an agent benchmark of recorded conversations, and its simulated users.

A simulated user is drafted by a program and confirmed by a person.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evergold.cli.options import CANDIDATES, CANDIDATES_HELP, parse_filters, report_verb, with_workspace
from evergold.cli.output import answer_in_json, echo, print_result
from evergold.cli.run import visible_text
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.workspace.replays import ReplaySet


@click.command()
@click.argument("dataset")
@click.option("--out", required=True, metavar="NAME[@VERSION]", help="The dataset to freeze, as in agents@v1.")
@click.option(
    "--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this; tag=tool:* is a pattern."
)
@click.option("--candidates", type=click.Choice(CANDIDATES), help=CANDIDATES_HELP)
@click.option("--model", metavar="NAME", help="Estimate the price for this model.")
@report_verb
def replay_set_command(workspace: Workspace, dataset: str, out: str, model: str | None, **flags: Any) -> None:
    """Freeze the cases of DATASET that can be replayed, say which cannot and why, and estimate power and cost."""
    filters = parse_filters(flags["filters"]) | ({"candidates": flags["candidates"]} if flags["candidates"] else {})
    result = workspace.replays.freeze_set(dataset, out, filters, model=model or "recorded")
    print_result(result, lambda: _print_set(result, model))


def _print_set(result: ReplaySet, model: str | None) -> None:
    from evergold.model.case import candidates_left_out

    plan, price = result.plan, "--model NAME gives the price"
    if model is not None:
        cost = plan.cost
        price = f"no price is known for {model}" if cost is None else f"about ${cost:.4f} with {model}"
    echo(f"{result.dataset}@{result.version}: {result.cases} cases can be replayed")
    for reason, count in result.left_out.items():
        echo(f"  left out {count}: {reason}")
    for case_id, reasons in list(result.cases_left_out.items())[:5]:
        echo(f"    {case_id}: {'; '.join(reasons)}", err=True)
    if result.candidates_left_out:
        echo(candidates_left_out(result.candidates_left_out), err=True)
    if result.with_calls < result.cases:
        kept = "--filter tag=tool:* keeps such cases"
        echo(f"  calls    {result.with_calls} of them have tool calls, which `trajectory` measures; {kept}")
    tokens = f"about {plan.input_tokens:,} tokens in, {plan.output_tokens:,} out"
    echo(f"  a run    {result.requests} requests, {tokens} ({price})")
    echo(f"  visible  {visible_text(plan)}")
    name = model or "openai/gpt-4o"
    echo(f"next: evergold run {result.dataset}@{result.version} --model {name} --replay --metric trajectory")


@click.group()
def replay_users_command() -> None:
    """Draft simulated users from recorded conversations, and confirm them."""


@replay_users_command.command("draft")
@click.argument("dataset")
@click.option("--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this.")
@click.option("--model", metavar="NAME", help="The model that writes the drafts; without one a rule does.")
@report_verb
def draft_users(workspace: Workspace, dataset: str, filters: tuple[str, ...], model: str | None) -> None:
    """Draft persona and goal for the cases of DATASET that state none; drafts are marked until a person confirms them."""
    result = workspace.replay_users.draft(dataset, parse_filters(filters), model=model, local=True)
    if answer_in_json(result):
        return
    authors = ", ".join(f"{count} by {author}" for author, count in result.by.items())
    echo(f"{result.drafted} drafted{f' ({authors})' if authors else ''}, {result.had_one} had a user already")
    if result.without_messages:
        echo(f"{result.without_messages} without a message of a user")
    for problem, count in result.problems.items():
        echo(f"  {count} by rule instead: {problem}", err=True)
    if result.drafted:
        echo(f"they wait for a person: evergold cases list --dataset {dataset} --tag user:drafted, or Review")


@replay_users_command.command("confirm")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--goal", help="What the user wants; without it the draft's goal stays.")
@click.option("--persona", help="Who the user is; without it the draft's persona stays.")
@click.option("--who", default="cli", help="Recorded as the author.")
@with_workspace
def confirm_user(
    workspace: Workspace, dataset: str, case_id: str, goal: str | None, persona: str | None, who: str
) -> None:
    """Confirm the simulated user of a case as it is, or as you write it."""
    given = {name: text for name, text in (("goal", goal), ("persona", persona)) if text is not None}
    case = workspace.replay_users.confirm(dataset, case_id, given, who=who)
    echo(f"{case.dataset}/{case.id}: {case.metadata['goal']}")
