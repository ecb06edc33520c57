"""`evergold extract`: cases for context retrieval, from merged agent work or from git history."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from evergold.cli.opening import opened
from evergold.cli.output import emit_json, json_flag, progress, table
from evergold.extract.extract import Rules
from evergold.extract.filters import HistoryRules
from evergold.extract.spans import HunkContext, Side
from evergold.model.case import Case
from evergold.sources.sidekick import SidekickSource
from evergold.store.case_writes import Author
from evergold.workspace.flows import Extraction, HistoryWish, Summary, extract_history, extract_sidekick

BATCH = 200
SHOWN = 10


@click.group()
def command() -> None:
    """Write datasets A (file paths) and B (line ranges) from work that was really merged.

    Runs again at any time: known cases are skipped, half-written ones completed, rows that lacked something tried
    again, edited rows left alone.
    """


def _shared(function: Any) -> Any:
    options = [
        click.option(
            "--out-dir",
            type=click.Path(path_type=Path, file_okay=False),
            default=Path(),
            help="Where the two files go.",
        ),
        click.option("--full", is_flag=True, help="Extract everything again and overwrite."),
        click.option(
            "--into-store", is_flag=True, help="Also put the cases, with their evidence, into dataset 'context'."
        ),
        json_flag,
    ]
    for option in reversed(options):
        function = option(function)
    return function


@command.command()
@click.option("--workspace-id", required=True, help="Workspace to extract from.")
@click.option(
    "--repo-dir", type=click.Path(path_type=Path), help="Repository for base commits (default: the workspace's)."
)
@click.option("--sidekick-db", type=click.Path(path_type=Path), help="Database (default: where the app keeps it).")
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
@_shared
@click.pass_context
def sidekick(ctx: click.Context, /, out_dir: Path, full: bool, into_store: bool, as_json: bool, **given: Any) -> int:
    """Completed tasks of the Sidekick app that worked in a git worktree."""
    source = SidekickSource(given["workspace_id"], given["sidekick_db"], given["skip_archived"])
    rules = Rules(
        given["all_approvals"], Side(given["range_side"]), HunkContext(given["hunk_context"]), evidence=into_store
    )
    with _destination(ctx, out_dir, full, into_store) as into, progress("flows", source.count()) as advance:
        summary = extract_sidekick(source, into, given["repo_dir"], rules, advance)
    return _report(summary, as_json)


@command.command()
@click.option("--repo", type=click.Path(path_type=Path), default=Path(), help="The repository (default: here).")
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
@_shared
@click.pass_context
def git(ctx: click.Context, /, out_dir: Path, full: bool, into_store: bool, as_json: bool, **given: Any) -> int:
    """Every commit of a repository: its message is the task, its diff the answer, its first parent the base."""
    defaults = () if given["no_default_excludes"] else HistoryRules().exclude
    rules = HistoryRules(
        max_files=given["max_files"],
        exclude=(*defaults, *given["exclude"]),
        keep_reverts=given["keep_reverts"],
        repository=given["repo"].resolve().name.removesuffix(".git"),
    )
    wish = HistoryWish(given["repo"], given["revision"], given["since"], given["first_parent"], given["limit"])
    with _destination(ctx, out_dir, full, into_store) as into, progress("commits", None) as advance:
        summary = extract_history(wish, into, rules, advance)
    return _report(summary, as_json)


@contextmanager
def _destination(ctx: click.Context, out_dir: Path, full: bool, into_store: bool) -> Iterator[Extraction]:
    """The folder, and the store where it is wanted too: cases go there in batches."""
    if not into_store:
        yield Extraction(out_dir, full)
        return
    with opened(ctx) as workspace:
        batch: list[Case] = []

        def keep(case: Case) -> None:
            batch.append(case)
            if len(batch) >= BATCH:
                workspace.cases.put(batch, Author(action="extracted"))
                batch.clear()

        yield Extraction(out_dir, full, keep)
        workspace.cases.put(batch, Author(action="extracted"))


def _report(summary: Summary, as_json: bool) -> int:
    if as_json:
        emit_json(summary.as_dict())
        return int(bool(summary.rejected))
    counts = summary.counts
    click.echo(
        f"{counts['new']} new, {counts['known']} known, {counts['completed']} completed, {counts['resolved']} resolved, "
        f"{counts['unchanged']} still open as before"
    )
    _tell("cases need a query", summary.needs_query)
    _tell("cases need a base commit", summary.needs_base_commit)
    if summary.skipped:
        table("left out", ("commits", "reason"), [(count, name) for name, count in summary.skipped.most_common()])
    for remark in summary.remarks[:SHOWN]:
        click.echo(f"note: {remark}", err=True)
    for item in summary.rejected:
        click.echo(f"rejected: {item}", err=True)
    for name in summary.files:
        click.echo(name)
    return int(bool(summary.rejected))


def _tell(what: str, reasons: dict[str, str]) -> None:
    """How many cases are open, and for which reasons; single cases are in the rows and in --json."""
    if not reasons:
        return
    click.echo(f"{len(reasons)} {what}:")
    for reason, count in Counter(reasons.values()).most_common(SHOWN):
        click.echo(f"  {count}  {reason}")
