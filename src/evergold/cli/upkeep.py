"""`evergold topics`, `evergold coverage`, `evergold problems`: what the set covers, what it lacks, what keeps failing."""

from collections.abc import Callable
from typing import Any

import click

from evergold.cli.options import combine_options, json_flag, open_workspace, report_verb
from evergold.cli.output import answer_in_json, echo, print_result, table
from evergold.workspace import Workspace

FIGURES = ("traces", "failures", "golden", "candidates")
who_option = click.option("--who", default="cli", help="Who decides.")


@click.group(invoke_without_command=True)
@click.option("--members", is_flag=True, help="With the newest traces of each topic.")
@json_flag
@click.pass_context
def topics_command(ctx: click.Context, members: bool) -> None:
    """List topics of traces and cases. What waits is sorted first; nothing leaves the machine."""
    if ctx.invoked_subcommand is not None:
        return
    with open_workspace(ctx) as workspace:
        topics = workspace.topics.all()
        lists = {topic.id: workspace.topics.members(topic.id) for topic in topics} if members else {}
    if answer_in_json([topic.model_dump() | ({"members": lists[topic.id]} if members else {}) for topic in topics]):
        return
    rows = [
        (topic.id, topic.name, *(getattr(topic, name) for name in FIGURES), "yes" if topic.covered else "no")
        + ((" ".join(lists[topic.id]),) if members else ())
        for topic in topics
    ]
    columns = ("topic", "name", *FIGURES, "covered", *(["members"] if members else []))
    table(f"{len(topics)} topics", columns, rows, numbers=("topic", *FIGURES))


@topics_command.command("rename")
@click.argument("topic", type=int)
@click.argument("name")
@who_option
@report_verb
def rename_topic(workspace: Workspace, topic: int, name: str, who: str) -> None:
    """Give TOPIC a name that no machine changes."""
    workspace.topics.rename(topic, name, who)
    print_result({"topic": topic, "name": name}, f"topic {topic}: {name}")


@topics_command.command("merge")
@click.argument("topic", type=int)
@click.argument("others", type=int, nargs=-1, required=True)
@who_option
@report_verb
def merge_topics(workspace: Workspace, topic: int, others: tuple[int, ...], who: str) -> None:
    """Make OTHERS part of TOPIC for good."""
    workspace.topics.merge(others, topic, who)
    merged = ", ".join(map(str, others))
    print_result({"topic": topic, "merged": others}, f"topic {topic} holds what {merged} held")


@topics_command.command("split")
@click.argument("topic", type=int)
@click.option("--parts", type=click.IntRange(2, 20), default=2, help="How many topics to make of it.")
@who_option
@report_verb
def split_topic(workspace: Workspace, topic: int, parts: int, who: str) -> None:
    """Part TOPIC for good by what its questions have in common; the largest part keeps its id."""
    made = workspace.topics.split(topic, parts, who)
    print_result({"topic": topic, "made": made}, f"topic {topic} was parted; new: {', '.join(map(str, made))}")


@click.command("coverage")
@report_verb
def coverage_command(workspace: Workspace) -> None:
    """Show the share of the last 28 days of traffic in topics with three golden cases, drift, and the gaps."""
    measured = workspace.coverage.measure()
    if answer_in_json(measured):
        return
    if measured.share is None:
        echo("not known: topics are learnt from thirty different questions; send traces, or `evergold ingest FILE`")
        return
    echo(f"{measured.share:.1%} of the traffic is covered ({measured.low:.1%} to {measured.high:.1%})")
    drift = measured.drift
    if drift.value is not None and drift.threshold is not None:
        changed = "the traffic has changed" if drift.alarm else "no change beyond chance"
        echo(f"drift {drift.value:.3f}, by chance at most {drift.threshold:.3f}: {changed}")
    if measured.distance is not None:
        echo(f"distance of the golden cases from the traffic {measured.distance:.3f}")
    columns = ("topic", "name", "traces", "failing", "why")
    rows = [(gap.topic, gap.name, gap.traces, f"{gap.failure_share:.0%}", gap.why) for gap in measured.gaps]
    table(f"{len(rows)} gaps", columns, rows, numbers=("topic", "traces", "failing"))


@click.group(invoke_without_command=True)
@json_flag
@click.pass_context
def problems_command(ctx: click.Context) -> None:
    """List failures of one reason that recur in a topic, open ones first."""
    if ctx.invoked_subcommand is not None:
        return
    with open_workspace(ctx) as workspace:
        problems = workspace.problems.all()
    columns = ("problem", "state", "reason", "topic", "count", "last 4 weeks", "first", "last")
    rows = [
        (p.id, p.state, p.reason, p.name, p.count, " ".join(map(str, p.trend)), p.first_seen[:10], p.last_seen[:10])
        for p in problems
    ]
    title = f"{len(rows)} problems"
    print_result(problems, lambda: table(title, columns, rows, numbers=("problem", "count")))


@problems_command.command("fixed")
@click.argument("problem", type=int)
@who_option
@report_verb
def fix_problem(workspace: Workspace, problem: int, who: str) -> None:
    """Mark PROBLEM as fixed; it opens itself again when it comes back."""
    fixed = workspace.problems.fix(problem, who)
    print_result(fixed, f"problem {problem} ({fixed.reason} in {fixed.name}) is fixed")


@problems_command.command("cases")
@click.argument("problem", type=int)
@who_option
@report_verb
def make_cases(workspace: Workspace, problem: int, who: str) -> None:
    """Make regression cases of PROBLEM's newest traces; a run that passes them all marks it as fixed."""
    made = workspace.make_problem_cases(problem, who)
    text = f"{made.added} cases added to {made.dataset}; after review: evergold run {made.dataset} --model MODEL"
    print_result(made, text)


@click.group(invoke_without_command=True)
@json_flag
@click.pass_context
def stale_command(ctx: click.Context) -> None:
    """List references that may no longer hold: what they rest on changed, or a confirmed answer differs."""
    if ctx.invoked_subcommand is not None:
        return
    with open_workspace(ctx) as workspace:
        reasons = workspace.staleness.all()
    rows = [(one.dataset, one.id, one.because, one.was or "(deleted)", one.now or "(deleted)") for one in reasons]
    title = f"{len({row[:2] for row in rows})} stale references"
    print_result(reasons, lambda: table(title, ("dataset", "id", "because", "was", "now"), rows))


def _add_decision(action: str, text: str, *options: Callable[[Any], Any]) -> None:
    """Add the verb of a decision on a stale reference."""

    @stale_command.command(action, help=text)
    @click.argument("dataset")
    @click.argument("case_id")
    @combine_options(*options, who_option)
    @report_verb
    def settle(workspace: Workspace, dataset: str, case_id: str, who: str, answer: str | None = None) -> None:
        from evergold.model.review import CaseKey
        from evergold.model.upkeep import StaleAction, StaleDecision

        decision = StaleDecision(action=StaleAction(action), answer=answer)
        case = workspace.settle_stale(CaseKey(dataset=dataset, id=case_id), decision, who)
        settled = f"{case.dataset}/{case.id}: {case.review.value}, {case.status.value}, version {case.version}"
        print_result(case, settled)


_add_decision("keep", "Confirm that the reference still holds; only another change asks again.")
_add_decision(
    "replace",
    "Replace the reference by the answer that holds now; the history keeps both.",
    click.option("--answer", required=True, help="The answer that holds now."),
)
_add_decision("retire", "Dismiss the case: nobody asks that any more.")
