"""Arguments → workspace verb → print. A verb's module is loaded when it is used: `--help` imports none of them.

Exit codes: 0 done, 1 done and something did not pass (rejected records, failed checks, a regression),
2 could not run, 3 a comparison that cannot tell. An expected error is one line on stderr; `--debug` shows its traceback.
"""

import sys
from importlib import import_module
from typing import Any

import click

# The module of each verb, and its one-line help.
VERBS = {
    "alerts": ("admin", "Add rules, list alerts, test where they go."),
    "backup": ("admin", "The whole workspace into one file, while it is in use."),
    "build": ("build", "Freeze offline RAG records, or a stored dataset, into splits and a manifest."),
    "cases": ("datasets", "List, show and tag cases."),
    "check": ("build", "Check a build: schema, counts, hashes, drops and drift."),
    "check-traces": ("curate", "Run the checks over stored traces: answered, finished, and those of your own."),
    "compare": ("runs", "Compare two runs over the same cases; --gate for CI."),
    "coverage": ("upkeep", "How much of the traffic the golden cases cover, what they lack, whether it changed."),
    "curate": ("curate", "Turn traces into dataset entries, by policy."),
    "datasets": ("datasets", "List datasets, show versions, compare two of them, check benchmark files."),
    "db": ("admin", "Size and growth of the database."),
    "doctor": ("admin", "Say what is wrong here and what to do: installation, settings, database, exporters …"),
    "demo": ("demo", "The whole loop on sample data, then the dashboard."),
    "export": ("datasets", "Write a dataset in the format of another tool."),
    "extract": ("extract", "Cases for context retrieval, from merged agent work or git history."),
    "generate": ("build", "Make an offline RAG dataset from documents, with a model or without."),
    "import": ("datasets", "Read cases from a file of any known format."),
    "ingest": ("traces", "Take in traces, scores and corrections from files."),
    "judge": ("judge", "Calibrate a judge against human labels."),
    "mcp": ("admin", "Tools for coding agents, by the Model Context Protocol."),
    "openapi": ("admin", "Print the REST interface as OpenAPI JSON."),
    "plugins": ("admin", "List the plug-ins of every seam."),
    "problems": ("upkeep", "Failures that recur: list, mark as fixed, make regression cases."),
    "stale": ("upkeep", "References that may no longer hold: list, keep, replace, retire."),
    "redact": ("admin", "Show what redaction makes of a text."),
    "replay-set": ("replay", "Freeze cases that can be replayed as an agent benchmark."),
    "replay-users": ("replay", "Draft simulated users from conversations, and confirm them."),
    "report": ("runs", "The report of a run: terminal, Markdown, HTML, JSON, JUnit."),
    "restore": ("admin", "A workspace from the file of a backup."),
    "review": ("review", "Open the review pages; queue, verdicts and progress for scripts."),
    "run": ("run", "Run a benchmark: a dataset against a model, with metrics."),
    "runs": ("runs", "List, show, cancel, delete and re-score benchmark runs; the leaderboard."),
    "score-retrieval": ("extract", "Score what a retrieval found against golden cases."),
    "serve": ("serve", "REST, OTLP and the dashboard on http://127.0.0.1:8321."),
    "settings": ("admin", "Print every setting, its value and where it comes from."),
    "stats": ("admin", "Totals of the living dataset: types, tags, days."),
    "tokens": ("admin", "Add, list and revoke tokens of the server, each with a role."),
    "topics": ("upkeep", "What traces and cases ask: list topics, rename, merge, split them."),
    "traces": ("traces", "List, show, prune and erase traces; take scores back."),
    "verify": ("build", "Derive every hash of a build again."),
}


def load_verb(name: str) -> click.Command:
    """Import the module of a verb and return its command (`run_command` for `run`)."""
    module = import_module(f"evergold.cli.{VERBS[name][0]}")
    command: click.Command = getattr(module, f"{name.replace('-', '_')}_command")
    return command


class LazyVerbs(click.Group):
    """Lists the verbs of the table above; a module is loaded only to run one of its verbs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_verb(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in sorted(VERBS.items())])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # The message names the nearest command; click alone would only say that there is none.
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from evergold.errors import describe_unknown

            ctx.fail(describe_unknown("command", args[0], tuple(VERBS)))
        return super().resolve_command(ctx, args)


@click.command(cls=LazyVerbs, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.option("--home", metavar="DIR", help="Workspace folder (default: .evergold here).")
@click.option("--db", metavar="URL", help="PostgreSQL URL or SQLite file.")
@click.option("--debug", is_flag=True, help="Show tracebacks of expected errors.")
@click.version_option(package_name="evergold", message="evergold %(version)s", help=None)
@click.pass_context
def root(ctx: click.Context, home: str | None, db: str | None, debug: bool) -> None:
    """Living golden datasets: from what your LLM app really did to benchmarks one can believe."""
    ctx.obj = {"home": home, "database_url": db}
    ctx.meta["debug"] = debug


def main(args: list[str] | None = None) -> None:
    """The console script: runs a verb and turns every expected error into one line and an exit code."""
    sys.exit(invoke(args))


def invoke(args: list[str] | None = None) -> int:
    """Run a verb and return its exit code. Not called `run`: loading the module of that name would take the name over."""
    given = sys.argv[1:] if args is None else args
    try:
        result: Any = root.main(args=given, prog_name="evergold", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return problem.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return 130
    # The reader of a pipe (`| head`) went away: that is no failure.
    # stderr is closed so that Python's end does not complain.
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except Exception as problem:
        # Looked for in the words, because the error may come before the options are parsed.
        return _explain(problem, "--debug" in given)
    return result if isinstance(result, int) else 0


def _explain(problem: Exception, debug: bool) -> int:
    from evergold.cli.output import echo
    from evergold.credentials import seal
    from evergold.errors import EvergoldError, NotFound

    # A file that was named and cannot be opened is no bug, whichever verb wanted it.
    if isinstance(problem, OSError) and isinstance(problem.filename, str) and problem.strerror and not debug:
        problem = NotFound(f"{problem.filename!r} cannot be opened: {problem.strerror}; give one that can")
    if debug or not isinstance(problem, EvergoldError):
        # A bug keeps its traceback; only expected errors are one line.
        seal(problem)
        raise problem
    # A message may quote a file or a name.
    echo(f"evergold: {problem.message}", err=True)
    for detail in problem.problems:
        echo(f"  {detail}", err=True)
    return problem.exit_code
