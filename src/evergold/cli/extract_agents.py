"""`evergold extract claude-code|codex|atif`: cases from the session logs of coding agents."""

from pathlib import Path
from typing import Any

import click

from evergold.cli.extracting import destination, report, shared_options
from evergold.cli.opening import without_database
from evergold.cli.output import cluster_option, progress
from evergold.cli.paths import A_PATH
from evergold.extract.agents.boundaries import TRAILERS
from evergold.storage import matching
from evergold.workspace.flows import SessionQuery


def _agent_options(function: Any) -> Any:
    options = [
        click.option(
            "--repo-dir",
            type=A_PATH,
            help="The repository of all sessions (default: the one each session worked in).",
        ),
        click.option(
            "--trailer",
            "trailers",
            multiple=True,
            metavar="NAME",
            help=f"Commit trailer that names a session or checkpoint (default: {', '.join(TRAILERS)}).",
        ),
        cluster_option,
        shared_options,
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.command(name="claude-code")
@click.option(
    "--project",
    type=A_PATH,
    help="A repository whose sessions are wanted, or a folder of log files (default: all projects).",
)
@_agent_options
@click.pass_context
def claude_code(ctx: click.Context, /, project: Path | None, **given: Any) -> int:
    """Sessions of Claude Code that led to commits."""
    return _extract(ctx, "claude-code", (project,) if project else (), given)


@click.command()
@click.option("--sessions", type=A_PATH, help="A folder of log files (default: where Codex keeps them).")
@_agent_options
@click.pass_context
def codex(ctx: click.Context, /, sessions: Path | None, **given: Any) -> int:
    """Sessions of the Codex CLI that led to commits."""
    return _extract(ctx, "codex", (sessions,) if sessions else (), given)


@click.command()
@click.argument("files", nargs=-1, required=True, type=A_PATH)
@_agent_options
@click.pass_context
def atif(ctx: click.Context, /, files: tuple[Path, ...], **given: Any) -> int:
    """Trajectories in ATIF (Harbor) that led to commits: FILES, or folders that hold some."""
    return _extract(ctx, "atif", tuple(one for name in files for one in matching(name)), given)


def _extract(ctx: click.Context, agent: str, paths: tuple[Path, ...], given: dict[str, Any]) -> int:
    query = SessionQuery(agent, paths, given["repo_dir"], given["trailers"] or TRAILERS)
    with without_database(ctx) as workspace:
        summary = workspace.flows.sessions(query, destination(given), progress, given["cluster"])
        return report(summary, given["as_json"], "times")


VERBS = (claude_code, codex, atif)
