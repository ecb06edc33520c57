"""`evergold extract`: cases for context retrieval, from merged agent work, session logs or git history."""

from pathlib import Path
from typing import Any

import click

from evergold.cli.extract_agents import VERBS
from evergold.cli.extracting import destination, report, shared_options
from evergold.cli.opening import without_database
from evergold.cli.output import cluster_option, progress
from evergold.cli.paths import A_PATH
from evergold.extract.filters import HistoryRules
from evergold.extract.flow_cases import Rules
from evergold.extract.run import HistoryQuery
from evergold.extract.spans import HunkContext, Side
from evergold.workspace.flows import SidekickQuery


@click.group()
def command() -> None:
    """Write datasets A (file paths) and B (line ranges) from work that was really merged.

    Runs again at any time: known cases are skipped, half-written ones completed, rows that lacked something tried
    again, edited rows left alone.
    """


@command.command()
@click.option("--workspace-id", required=True, help="Workspace to extract from.")
@click.option("--repo-dir", type=A_PATH, help="Repository for base commits (default: the workspace's).")
@click.option("--sidekick-db", type=A_PATH, help="Database (default: where the app keeps it).")
@click.option("--skip-archived", is_flag=True, help="Leave archived tasks out.")
@click.option("--all-approvals", is_flag=True, help="A case per merge request, approved or not.")
@click.option(
    "--range-side", type=click.Choice(["base", "head"]), default="base", show_default=True, help="Whose line numbers."
)
@click.option(
    "--hunk-context",
    type=click.Choice(["trim", "keep"]),
    default="trim",
    show_default=True,
    help="Unchanged lines of hunks.",
)
@shared_options
@click.pass_context
def sidekick(ctx: click.Context, /, as_json: bool, **given: Any) -> int:
    """Completed tasks of the Sidekick app that worked in a git worktree."""
    query = SidekickQuery(given["workspace_id"], given["sidekick_db"], given["skip_archived"], given["repo_dir"])
    sides = Side(given["range_side"]), HunkContext(given["hunk_context"])
    rules = Rules(given["all_approvals"], *sides, evidence=given["into_store"])
    with without_database(ctx) as workspace:
        return report(workspace.flows.sidekick(query, destination(given), rules, progress), as_json)


@command.command()
@click.option("--repo", type=A_PATH, default=Path(), help="The repository (default: here).")
@click.option("--revision", default="HEAD", show_default=True, help="Branch, tag or commit to start from.")
@click.option("--since", default="", metavar="DATE|COMMIT", help="Only what is newer.")
@click.option("--first-parent", is_flag=True, help="The main line only: a merge is one case.")
@click.option(
    "--max-files", type=click.IntRange(1), default=20, show_default=True, help="More files than that is a bulk change."
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Further files that do not count.")
@click.option("--no-default-excludes", is_flag=True, help="Count vendored, generated and lock files too.")
@click.option("--keep-reverts", is_flag=True, help="Make cases of reverts too.")
@click.option("--limit", type=click.IntRange(1), help="Stop after so many cases.")
@cluster_option
@shared_options
@click.pass_context
def git(ctx: click.Context, /, as_json: bool, **given: Any) -> int:
    """Every commit of a repository: its message is the task, its diff the answer, its first parent the base."""
    defaults = () if given["no_default_excludes"] else HistoryRules().exclude
    rules = HistoryRules(
        max_files=given["max_files"],
        exclude=(*defaults, *given["exclude"]),
        keep_reverts=given["keep_reverts"],
    )
    query = HistoryQuery(given["repo"], given["revision"], given["since"], given["first_parent"], given["limit"])
    with without_database(ctx) as workspace:
        return report(workspace.flows.history(query, destination(given), rules, progress, given["cluster"]), as_json)


for _verb in VERBS:
    command.add_command(_verb)
