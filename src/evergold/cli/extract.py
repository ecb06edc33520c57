"""`evergold extract` and `score-retrieval`: cases for context retrieval, and the score of a retrieval against them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evergold.cli.options import (
    A_PATH,
    PathOrUrl,
    cluster_option,
    combine_options,
    json_flag,
    report_verb,
    with_workspace,
)
from evergold.cli.output import answer_in_json, echo, print_result, progress, table
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.extract.run import Summary
    from evergold.workspace.retrieval import RetrievalScores

SHOWN = 10


destination_options = combine_options(
    click.option(
        "--out-dir", type=PathOrUrl(file_okay=False), default=Path(), show_default=False, help="Where the two files go."
    ),
    click.option("--full", is_flag=True, help="Extract everything again and overwrite."),
    click.option("--into-store", is_flag=True, help="Also put the cases, with their evidence, into dataset 'context'."),
    json_flag,
)
session_options = combine_options(
    click.option(
        "--repo-dir", type=A_PATH, help="The repository of all sessions (default: the one each session worked in)."
    ),
    click.option(
        "--trailer",
        "trailers",
        multiple=True,
        metavar="NAME",
        help="Commit trailer that names a session or checkpoint (default: Entire-Checkpoint, Entire-Session, Claude-Session, "
        "Codex-Session, Agent-Session).",
    ),
    cluster_option,
    destination_options,
)


@click.group()
def extract_command() -> None:
    """Write datasets A (file paths) and B (line ranges) from work that was really merged.

    Runs again at any time: known cases are skipped, half-written ones completed, rows that lacked something tried
    again, edited rows left alone.
    """


@extract_command.command("sidekick")
@click.option("--workspace-id", required=True, help="Workspace to extract from.")
@click.option("--repo-dir", type=A_PATH, help="Repository for base commits (default: the workspace's).")
@click.option("--sidekick-db", type=A_PATH, help="Database (default: where the app keeps it).")
@click.option("--skip-archived", is_flag=True, help="Leave archived tasks out.")
@click.option("--all-approvals", is_flag=True, help="A case per merge request, approved or not.")
@click.option("--range-side", type=click.Choice(["base", "head"]), default="base", help="Whose line numbers.")
@click.option("--hunk-context", type=click.Choice(["trim", "keep"]), default="trim", help="Unchanged lines of hunks.")
@destination_options
@with_workspace
def extract_sidekick(workspace: Workspace, **given: Any) -> int:
    """Completed tasks of the Sidekick app that worked in a git worktree."""
    return _print_summary(workspace.flows.extract("sidekick", given, progress))


@extract_command.command("git")
@click.option("--repo", type=A_PATH, default=Path(), show_default=False, help="The repository (default: here).")
@click.option("--revision", default="HEAD", help="Branch, tag or commit to start from.")
@click.option("--since", default="", show_default=False, metavar="DATE|COMMIT", help="Only what is newer.")
@click.option("--first-parent", is_flag=True, help="The main line only: a merge is one case.")
@click.option("--max-files", type=click.IntRange(1), default=20, help="More files than that is a bulk change.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Further files that do not count.")
@click.option(
    "--no-default-excludes",
    is_flag=True,
    help="Count vendored, generated and lock files too, and what is no code beside code.",
)
@click.option(
    "--kinds",
    default="feature,fix,refactor",
    metavar="KIND,…",
    help="Kinds of commits: feature, fix, refactor, docs, tests, dependency, ci, release, revert, merge, or all.",
)
@click.option("--limit", type=click.IntRange(1), help="Stop after so many cases.")
@cluster_option
@destination_options
@with_workspace
def extract_git(workspace: Workspace, **given: Any) -> int:
    """Commits of a repository: the message is the task, the diff the answer, the first parent the base.

    Every commit has a kind, by its paths and its message. Features, fixes and refactorings whose message says what was wanted
    become cases; --kinds takes others.
    """
    return _print_summary(workspace.flows.extract("git", given, progress))


FILES = click.argument("files", nargs=-1, required=True, type=A_PATH)
LOGS = "that led to commits: FILES, or folders that hold some."


def _add_agent(agent: str, text: str, source: Callable[[Any], Any] = FILES) -> None:
    """Add the verb of an agent, with the option that says where its logs are, or with files."""

    @extract_command.command(agent, help=text)
    @source
    @session_options
    @with_workspace
    def extract_sessions(workspace: Workspace, **given: Any) -> int:
        return _print_summary(workspace.flows.extract(agent, given, progress), "times")


_add_agent(
    "claude-code",
    "Sessions of Claude Code that led to commits.",
    click.option(
        "--project",
        type=A_PATH,
        help="A repository whose sessions are wanted, or a folder of log files (default: all projects).",
    ),
)
_add_agent(
    "codex",
    "Sessions of the Codex CLI that led to commits.",
    click.option("--sessions", type=A_PATH, help="A folder of log files (default: where Codex keeps them)."),
)
_add_agent("atif", f"Trajectories in ATIF (Harbor) {LOGS}")
_add_agent("openhands", f"Conversations and evaluation output of OpenHands {LOGS}")
_add_agent("swe-agent", f"Trajectories of SWE-agent and mini-swe-agent {LOGS}")
_add_agent("aider", f"Chat histories of aider (.aider.chat.history.md) {LOGS}")


def _print_summary(summary: Summary, left_out: str = "commits") -> int:
    """Print a summary; `left_out` names what the reasons count. The exit code says whether anything was unreadable."""
    if answer_in_json(summary.as_dict()):
        return int(bool(summary.rejected))
    counts = summary.counts
    echo(
        f"{counts['new']} new, {counts['known']} known, {counts['completed']} completed, {counts['resolved']} resolved, "
        f"{counts['unchanged']} still open as before"
    )
    # Single cases are in the rows and in --json.
    for what, reasons in (("a query", summary.needs_query), ("a base commit", summary.needs_base_commit)):
        if reasons:
            echo(f"{len(reasons)} cases need {what}:")
        for reason, count in Counter(reasons.values()).most_common(SHOWN):
            echo(f"  {count}  {reason}")
    if summary.kinds:
        kinds = ", ".join(f"{count} {kind}" for kind, count in summary.kinds.most_common())
        echo(f"kinds of the commits read: {kinds}; {summary.bots} by bots")
    if summary.skipped:
        table("left out", (left_out, "reason"), [(count, name) for name, count in summary.skipped.most_common()])
    for remark in summary.remarks[:SHOWN]:
        echo(f"note: {remark}", err=True)
    for item in summary.rejected:
        echo(f"rejected: {item}", err=True)
    for name in summary.files:
        echo(name)
    return int(bool(summary.rejected))


PROBLEMS_SHOWN = 20
# Six figures fit a screen and answer whether a retrieval got better.
DECIDING = {"line": ("macro precision", "macro recall", "macro f1", "noise rate"), "file": ("macro recall", "mrr")}


@click.command()
@click.argument("golden", type=A_PATH)
@click.argument("predictions", type=A_PATH)
@click.argument("other", type=A_PATH, required=False)
@click.option(
    "--tier", type=click.Choice(["edited", "core", "all"]), default="edited", help="Which gold must be found."
)
@click.option("--per-case", type=A_PATH, metavar="F", help="Write the scores of single cases (JSONL).")
@click.option("--html", type=A_PATH, metavar="F", help="Write a report with the chart of recall against line budget.")
@click.option("--repo", type=A_PATH, help="Adds budgets in tokens, symbols, and ranges outside files.")
@click.option("--all", "every", is_flag=True, help="Show every figure; without it the six that decide.")
@click.option("--seed", default=0, help="Of the bootstrap draws.")
@cluster_option
@report_verb
def score_retrieval_command(
    workspace: Workspace, golden: Path, predictions: Path, other: Path | None, **given: Any
) -> int:
    """Score PREDICTIONS against GOLDEN (a dataset A or B file); a second file of predictions is compared with the first.

    A prediction is {"caseId", "ranges": [{"path", "startLine", "endLine"}]} or {"caseId", "paths": [...]}, best first.
    """
    from evergold.bench.retrieval_run import ScoringQuery

    query = ScoringQuery(given["tier"], given["seed"], given["repo"])
    how = {name: given[name] for name in ("per_case", "html", "cluster")}
    figures = workspace.retrieval.score(golden, predictions, other, query, **how)
    print_result(figures, lambda: _print_figures(workspace.retrieval, figures, given["every"]))
    return 0


def _print_figures(retrieval: RetrievalScores, figures: dict[str, Any], every: bool) -> None:
    counts_text = ", ".join(
        f"{figures[name]} {name.replace('_', ' ')}" for name in ("abstained", "missing", "not_applicable", "extra")
    )
    echo(f"{figures['n']} cases scored ({counts_text}, {len(figures['duplicates'])} duplicate)")
    rows = retrieval.rows(figures)
    shown = rows if every else [row for row in rows if row[1] in DECIDING.get(row[0], ())]
    table("retrieval", ("level", "figure", "value", "95 % interval"), shown, numbers=("value",))
    if len(shown) < len(rows):
        echo(f"{len(rows) - len(shown)} more figures: --all shows them, --json has them all")
    for name, slices in figures["slices"].items():
        if len(slices) > 1:
            rows = [(key, *(_round_text(value) for value in row.values())) for key, row in slices.items()]
            table(f"by {name.replace('_', ' ')}", (name, "n", "line recall", "line precision", "file recall"), rows)
    if "compare" in figures:
        table("second minus first", ("figure", "difference", "95 % interval", "n"), retrieval.comparison_rows(figures))
    echo(figures["note"])
    for problem in figures["problems"][:PROBLEMS_SHOWN]:
        echo(problem, err=True)
    if len(figures["problems"]) > PROBLEMS_SHOWN:
        echo(f"… and {len(figures['problems']) - PROBLEMS_SHOWN} more problems (--json lists all)", err=True)


def _round_text(value: Any) -> Any:
    return f"{value:.3f}" if isinstance(value, float) else value
