"""`evergold review`: opens the validator; its sub-verbs do what the page does, for scripts."""

import threading
from pathlib import Path
from typing import Any

import click

from evergold.cli.options import A_PATH, CASE_KINDS, REVIEW_STATES, report_verb, settings_of, with_workspace
from evergold.cli.output import answer_in_json, echo, emit_json, print_result, table
from evergold.workspace import Workspace

STANDINGS = ("open", "agreed", "disputed", "second_opinion")
VERDICTS = ("approve", "dismiss", "second_opinion", "skip", "reopen", "withdraw")
PAGES = {"files": "/dev/evaldata", "queue": "/review"}


@click.group(invoke_without_command=True)
@click.option("--page", type=click.Choice(list(PAGES)), default="files", help="Which page to open.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default 8321; 0: any free one).")
@click.option("--repo-dir", type=click.Path(exists=True, file_okay=False), help="Repository that proves base commits.")
@click.option("--sidekick-db", type=click.Path(exists=True, dir_okay=False), help="Sidekick database with the flows.")
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.")
@click.pass_context
def review_command(
    ctx: click.Context, page: str, port: int | None, repo_dir: str | None, sidekick_db: str | None, browser: bool
) -> None:
    """Open the review pages in a browser."""
    if ctx.invoked_subcommand is not None:
        return
    import webbrowser

    from evergold.cli.serve import listen, serve, url_of

    settings = settings_of(ctx, **{"server.port": port, "review.repo_dir": repo_dir, "review.sidekick_db": sidekick_db})
    with listen(settings) as listener:
        url = url_of(listener) + PAGES[page]

        def ready() -> None:
            echo(f"evergold: {url}  (stop with Ctrl-C)")
            if browser:
                # The server begins to listen a moment after this is called.
                threading.Timer(0.8, webbrowser.open, [url]).start()

        serve(settings, listener, ready)


@review_command.command("queue")
@click.option("--dataset", help="Only this dataset.")
@click.option("--kind", type=click.Choice(CASE_KINDS))
@click.option("--review", type=click.Choice(REVIEW_STATES))
@click.option("--standing", type=click.Choice(STANDINGS))
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="How many at most.")
@report_verb
def list_queue(workspace: Workspace, limit: int, **filters: object) -> None:
    """List what waits for a person."""
    from evergold.model.review import QueueQuery

    page = workspace.review.queue(QueueQuery.model_validate(filters), limit=limit)
    columns = ("dataset", "id", "kind", "review", "standing", "title")
    rows = [[getattr(item, name) for name in columns] for item in page.items]
    title = f"{page.counts['waiting']} of {page.total} waiting"
    print_result(page, lambda: table(title, (*columns[:-1], "input"), rows))


@review_command.command("decide")
@click.argument("dataset")
@click.argument("case_id")
@click.argument("verdict", type=click.Choice(VERDICTS))
@click.option("--who", default="cli", help="The reviewer's name.")
@click.option("--answer", help="The right answer, where it is edited.")
@click.option("--comment", default="", show_default=False, help="Why.")
@click.option("--adjudicate", is_flag=True, help="Settle a dispute.")
@click.option("--override-base", is_flag=True, help="Approve although the repository disproves the base commit.")
@with_workspace
def decide_case(
    workspace: Workspace, dataset: str, case_id: str, verdict: str, who: str, answer: str | None, **given: Any
) -> None:
    """Give a verdict on a case as it is now."""
    from evergold.model.review import CaseKey, Decision, ReviewVerdict

    key = CaseKey(dataset=dataset, id=case_id)
    # The verdict is on the version of this moment; a script has seen no other.
    version = workspace.review.case(key).case.version
    changes = {} if answer is None else {"expected": answer}
    decision = Decision(version=version, verdict=ReviewVerdict(verdict), changes=changes, **given)
    case = workspace.review.decide(key, decision, who)
    echo(f"{case.dataset}/{case.id}: {case.review.value}, {case.status.value}, version {case.version}")


@review_command.command("assertions")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--must", multiple=True, help='Add what an answer must do: --must "names the deadline".')
@click.option("--must-not", multiple=True, help="Add what an answer must not do.")
@click.option("--accept", is_flag=True, help="Add the drafts.")
@click.option("--who", default="cli", help="Who changes the case.")
@report_verb
def change_assertions(
    workspace: Workspace,
    dataset: str,
    case_id: str,
    must: tuple[str, ...],
    must_not: tuple[str, ...],
    accept: bool,
    who: str,
) -> None:
    """Show the assertions of a case and those drafted from reviewers' comments, or add some."""
    from evergold.model.review import CaseKey, Edit

    key = CaseKey(dataset=dataset, id=case_id)
    drafts, case = workspace.review.draft_assertions(key), workspace.review.case(key).case
    added = [{"must": text} for text in must] + [{"must_not": text} for text in must_not] + (drafts if accept else [])
    if added:
        wanted = [*case.assertions, *(one for one in added if one not in case.assertions)]
        case = workspace.review.edit(key, Edit(version=case.version, changes={"assertions": wanted}), who)
    left = [one for one in drafts if one not in case.assertions]
    lines = [
        f"{kind}{word.replace('_', ' ')} {text}"
        for kind, some in (("", case.assertions), ("draft: ", left))
        for one in some
        for word, text in one.items()
    ]
    print_result({"assertions": case.assertions, "drafts": left}, "\n".join(lines) or "no assertions, no drafts")


@review_command.command("questions")
@click.argument("dataset")
@click.argument("file", required=False, type=A_PATH)
@click.option("--who", default="cli", help="Who changes the questions.")
@with_workspace
def change_questions(workspace: Workspace, dataset: str, file: Path | None, who: str) -> None:
    """Print the questions that reviewers of DATASET answer, or replace them by those of FILE (TOML or YAML)."""
    if file is not None:
        workspace.review.set_questions(dataset, file, who)
    emit_json(workspace.review.questions(dataset))


@review_command.command("next")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, help="How many at most.")
@click.option("--dataset", help="Only this dataset.")
@report_verb
def list_next(workspace: Workspace, limit: int, dataset: str | None) -> None:
    """List the cases whose review is worth most now, each with the reason; each review changes what comes next."""
    listed = workspace.review_order.list_next(limit, dataset)
    rows = [(one.dataset, one.id, f"{one.value:.2f}", one.why, one.title) for one in listed]
    columns = ("dataset", "id", "value", "why", "input")
    print_result(listed, lambda: table(f"{len(rows)} cases", columns, rows, numbers=("value",)))


@review_command.command("fill")
@click.option("--gaps", type=click.IntRange(1, 500), required=True, metavar="N", help="So many traces of the gaps.")
@click.option("--who", default="cli", help="Who fills the queue.")
@report_verb
def fill_queue(workspace: Workspace, gaps: int, who: str) -> None:
    """Queue cases of topics that lack golden cases (`evergold coverage` lists them), the largest gaps first."""
    picked = workspace.fill_review(gaps, who)
    added = sum(not one.problem for one in picked)
    print_result(picked, f"{added} cases wait in the dataset gaps; review them: evergold review --page queue")


@review_command.command("progress")
@report_verb
def show_progress(workspace: Workspace) -> None:
    """Show progress per dataset and per reviewer, and how far reviewers agree."""
    result = workspace.review.progress()
    agreed = workspace.review.agreement()
    if answer_in_json({**result, "agreement": agreed}):
        return
    columns = ("dataset", "cases", "candidates", "validated", "dismissed")
    apart = [{**row, "cases": row["total"] - row["candidates"]} for row in result["datasets"]]
    table("Datasets", columns, [[row[name] for name in columns] for row in apart])
    fields = ("reviewer", "approve", "dismiss", "second_opinion", "skip")
    table("Reviewers", fields, [[dict(row)[name] for name in fields] for row in result["reviewers"]])
    kappa = agreed["fleiss"]
    shown = kappa["reason"] if kappa["value"] is None else f"{kappa['value']:.2f} ({kappa['low']} to {kappa['high']})"
    echo(f"Fleiss' kappa over {agreed['shared']} shared cases: {shown}")
