"""Commands for operators: tokens, alerts, stats, db, backup, restore, settings, redact, doctor, plugins, mcp."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evergold.cli.options import PathOrUrl, json_flag, open_workspace, report_verb, settings_of
from evergold.cli.output import answer_in_json, echo, emit_json, print_result, progress, table, wants_json
from evergold.errors import BadInput
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.model.operations import Alert, DatabaseStatus
    from evergold.upkeep.backups import BackupReport

ROLES = ("owner", "editor", "reviewer", "ingest", "reader")
STEPS = 1000  # what the progress of a backup or restore adds up to


@click.group()
def tokens_command() -> None:
    """Add, list and revoke tokens of the server. Once one was made, every caller needs a token."""


@tokens_command.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(ROLES),
    required=True,
    help="owner: all; editor: all but tokens, erasure, settings; reviewer: read, decide; ingest: send; reader: read.",
)
@report_verb
def add_token(workspace: Workspace, name: str, role: str) -> None:
    """Make a token for NAME and print it; it is stored nowhere and cannot be shown again."""
    from evergold.model.access import Role

    made = workspace.access.add(name, Role(role))
    print_result(made, made.token)
    if not wants_json():
        echo(f"{made.id}: {made.name}, {made.role}; keep the token, it is not shown again", err=True)


@tokens_command.command("list")
@report_verb
def list_tokens(workspace: Workspace) -> None:
    """List tokens, oldest first, revoked ones too."""
    tokens = workspace.access.list()
    rows = [(t.id, t.name, t.role, f"{t.created_at:%Y-%m-%d %H:%M}", "revoked" if t.revoked_at else "") for t in tokens]
    columns = ("token", "name", "role", "made", "")
    print_result({"tokens": tokens}, lambda: table(f"{len(tokens)} tokens", columns, rows))


@tokens_command.command("revoke")
@click.argument("token_id")
@report_verb
def revoke_token(workspace: Workspace, token_id: str) -> None:
    """Make the token with the id TOKEN_ID invalid. A running server notices within two seconds."""
    revoked = workspace.access.revoke(token_id)
    print_result(revoked, f"{revoked.id} ({revoked.name}) is revoked")


@tokens_command.command("forget-revoked")
@report_verb
def forget_revoked_tokens(workspace: Workspace) -> None:
    """Delete revoked tokens from the list. Where no token is left, the server asks for none again."""
    forgotten = workspace.access.forget_revoked()
    left = len(workspace.access.list())
    print_result({"forgotten": forgotten, "left": left}, f"forgot {forgotten} revoked tokens; {left} are left")


@click.group()
def alerts_command() -> None:
    """Add, mute and remove rules, list alerts, test where they go. A server looks at the rules while it runs."""


@alerts_command.command("list")
@click.option("--firing", is_flag=True, help="Only those that fire now.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, help="How many at most.")
@report_verb
def list_alerts(workspace: Workspace, firing: bool, limit: int) -> None:
    """List alerts, those that fire first, with how far their notification is."""
    state = workspace.alerts.state(firing_only=firing, limit=limit)
    if answer_in_json(state):
        return
    rows = []
    for one in state.alerts:
        since, notified = one.opened_at[:16].replace("T", " "), _delivery_text(one)
        rows.append((one.id, "firing" if one.firing else "over", one.rule, since, notified, one.text))
    table(f"{len(rows)} alerts", ("alert", "state", "rule", "since", "notified", "what"), rows)
    if state.hint:
        echo(state.hint, err=True)


@alerts_command.command("add")
@click.argument("kind")
@click.argument("limits", nargs=-1, metavar="[KEY=VALUE]…")
@report_verb
def add_alert_rule(workspace: Workspace, kind: str, limits: tuple[str, ...]) -> None:
    """Add a rule of KIND to this workspace: `failing_rate check=answered above=0.1`. The same name again changes it.

    Kinds and keys are those of [[alerts.rules]]. A running server watches it from the next look on.
    """
    pairs = [limit.partition("=") for limit in limits]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise BadInput(f"write KEY=VALUE, not {wrong[0]!r}")
    state = workspace.alerts.add_rule({"kind": kind, **{name: value for name, _, value in pairs}})
    print_result(state, f"{len(state.rules)} rules: {', '.join(rule.name for rule in state.rules)}")


@alerts_command.command("remove")
@click.argument("name")
@report_verb
def remove_alert_rule(workspace: Workspace, name: str) -> None:
    """Remove a rule that was added here."""
    print_result(workspace.alerts.remove_rule(name), f"{name} is removed")


@alerts_command.command("mute")
@click.argument("name")
@click.option("--hours", type=click.FloatRange(0, 24 * 90), default=24.0, help="0: no longer muted.")
@report_verb
def mute_alert_rule(workspace: Workspace, name: str, hours: float) -> None:
    """Send no notification of a rule for some hours; its alerts are still listed."""
    done = f"{name} is muted for {hours:g} hours" if hours else f"{name} is no longer muted"
    print_result(workspace.alerts.mute(name, hours), done)


@alerts_command.command("test")
@report_verb
def test_alerts(workspace: Workspace) -> int:
    """Read every rule now, and send one test message to the webhook. Exit code 1: it did not arrive."""
    tested = workspace.alerts.test()
    if answer_in_json(tested):
        return int(tested.sent is False)
    for reading in tested.readings:
        echo(f"{'fires' if reading.firing else 'calm '}  {reading.rule}: {reading.text}")
    if tested.sent is None:
        echo("alerts.webhook is not set: alerts go to the log of the server and to the Overview")
    elif tested.sent:
        echo(f"{tested.webhook} took the test message in {tested.seconds:g} s")
    else:
        echo(f"the test message did not arrive: {tested.error}", err=True)
    return int(tested.sent is False)


def _delivery_text(alert: Alert) -> str:
    if not alert.deliveries:
        return "log only"
    last = alert.deliveries[0]
    if last.status == "sent":
        return f"{last.event.value} sent"
    tries = f"{last.tries} {'try' if last.tries == 1 else 'tries'}{': ' + last.error if last.error else ''}"
    return f"{last.event.value} {last.status.value.replace('_', ' ')} ({tries})"


@click.command()
@click.option("--dataset", default="live", help="Which dataset.")
@click.option("--days", type=click.IntRange(1, 3660), default=30, help="How many days back.")
@report_verb
def stats_command(workspace: Workspace, dataset: str, days: int) -> None:
    """Totals per type, golden and candidates apart, per tag and per day."""
    repeats = workspace.repeats.of(dataset).counts
    stats = workspace.live.stats(dataset, days=days).model_copy(update={"repeats": repeats})
    if answer_in_json(stats):
        return
    covered = "no traces yet" if stats.coverage is None else f"{stats.coverage:.1%} of {stats.traces} traces"
    totals = [
        ("golden, confirmed", stats.confirmed),
        ("golden, unconfirmed", stats.unconfirmed),
        ("candidates, which nobody has confirmed", stats.candidate),
        ("failure", stats.failure),
        ("correction", stats.correction),
        ("withdrawn", stats.withdrawn),
        ("traces curated", stats.curated_traces),
        ("traces that wait for curation", stats.waiting),
        ("questions that more than one case asks", repeats.questions),
        ("cases that ask them", repeats.repeating),
    ]
    waiting = f" and {stats.candidate} candidates" if stats.candidate else ""
    entries = f"{stats.total - stats.candidate} entries{waiting}"
    table(f"{dataset}: {entries}, from {covered}", ("entries", "count"), totals, numbers=("count",))
    if repeats.looked_at < repeats.cases:
        echo(f"note: repeats are counted among the newest {repeats.looked_at} cases", err=True)
    if stats.tags:
        table("by tag", ("tag", "count"), list(stats.tags.items()), numbers=("count",))
    if stats.days:
        rows = [(day.day, day.traces, day.golden, day.candidate, day.failure, day.correction) for day in stats.days]
        columns = ("day", "traces", "golden", "candidate", "failure", "correction")
        table("by day", columns, rows, numbers=columns[1:])


LARGE = 1_000_000  # bytes; a smaller table without rows is left out


@click.group()
def db_command() -> None:
    """Look at the database: sizes, growth, age."""


@db_command.command("status")
@report_verb
def show_status(workspace: Workspace) -> None:
    """Show sizes, growth, the oldest trace, work under way; on PostgreSQL connections, locks and slow queries."""
    status = workspace.operations.status()
    if answer_in_json(status):
        return
    # PostgreSQL only estimates rows, and may not have counted those of a large table yet.
    shown = [one for one in status.tables if one.rows or one.bytes >= LARGE]
    rows = [(one.name, _megabytes(one.bytes) if one.bytes else "", f"{one.rows:,}") for one in shown]
    table(f"{status.engine}, {_megabytes(status.bytes)}", ("table", "size", "rows"), rows)
    for line in _status_lines(status):
        echo(line)


def _status_lines(status: DatabaseStatus) -> list[str]:
    """Traces and their growth, slow queries, work under way, locks and connections."""
    # Sizes per trace would divide by zero.
    lines = ["no traces yet"]
    if status.traces:
        lines = [
            f"{status.traces:,} traces from {(status.oldest or '')[:10]} to {(status.newest or '')[:10]}; "
            f"{status.traces_last_day:,} in the last day, {status.traces_last_week:,} in the last week",
            f"{status.bytes_per_trace:,.0f} bytes a trace with everything about it; "
            f"grows by {_megabytes(status.bytes_per_day or 0)} a day at last week's rate",
        ]
        lines += [f"{query.mean_ms:.1f} ms × {query.calls:,}: {query.query}" for query in status.slow_queries or ()]
        if status.engine == "postgresql" and status.slow_queries is None:
            lines.append(
                "slow queries are not recorded: that takes pg_stat_statements in shared_preload_libraries, a restart, and "
                "CREATE EXTENSION pg_stat_statements"
            )
    lines += [f"{one.name} is held by {one.owner} since {one.since}, until {one.until}" for one in status.work]
    lines += [
        f"{one.name} is locked by session {one.session} ({one.program or 'without a name'}), whose transaction is "
        f"{one.seconds:.0f} s old: its rows can be neither read nor written; SELECT pg_terminate_backend({one.session}) ends it"
        for one in status.locked
    ]
    if (now := status.connections) is not None:
        lines.append(
            f"{now.open} of {now.most} connections: {now.active} active, {now.waiting_for_locks} wait for locks, "
            f"{now.idle_in_transaction} idle in a transaction; the longest transaction is "
            f"{now.longest_transaction_seconds:.0f} s old"
        )
    return lines


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


@click.command()
@click.argument("file", type=PathOrUrl(dir_okay=False))
@report_verb
def backup_command(workspace: Workspace, file: Path) -> None:
    """Write database, builds and settings of the workspace into FILE, verified by hash. Servers may go on meanwhile.

    FILE holds all that the workspace holds and can be read by its owner alone. An earlier backup of that name is replaced
    when the new one is whole.
    """
    with progress("backing up", STEPS) as advance:
        report = workspace.backups.write(file, advance)
    _print_backup(report, "backed up")


def _print_backup(report: BackupReport, done: str) -> None:
    if answer_in_json(report):
        return
    rows = report.rows
    echo(
        f"{done}: {report.file}, {report.bytes / 1e6:.1f} MB; {rows['traces']} traces, {rows['eval_dataset']} cases, "
        f"{rows['runs']} runs, {len(report.builds)} builds; {report.hash}"
    )
    for one in report.missing:
        echo(f"files of a build are not in it: {one}", err=True)


@click.command()
@click.argument("file", type=PathOrUrl(dir_okay=False))
@click.option("--replace", is_flag=True, help="Replace a workspace that holds data.")
@click.option("--check", is_flag=True, help="Compare every part of FILE with its hash; restore nothing.")
@report_verb
def restore_command(workspace: Workspace, file: Path, replace: bool, check: bool) -> None:
    """Make this workspace what it was when FILE was written. SQLite and PostgreSQL take each other's backups.

    FILE is read and verified as a whole before anything changes; then the database changes in one transaction. Refused while
    a server uses the workspace. Settings of the backup are put into `restored-settings` of the workspace, unused.
    """
    with progress("checking" if check else "restoring", STEPS) as advance:
        if check:
            report = workspace.backups.check(file, advance)
        else:
            report = workspace.backups.restore(file, replace=replace, progress=advance)
    _print_backup(report, "whole" if check else "restored")


@click.command()
@report_verb
def settings_command(workspace: Workspace) -> None:
    """Print every setting, its value, where the value comes from, and what it does."""
    from evergold.settings import describe

    rows = describe(workspace.settings)
    columns = ("name", "value", "origin", "env", "doc")
    lines = [[row[name] for name in columns] for row in rows]
    print_result(rows, lambda: table("settings", columns, lines))


@click.command()
@click.argument("text", required=False)
@report_verb
def redact_command(workspace: Workspace, text: str | None) -> None:
    """Show what redaction makes of TEXT (or of standard input); nothing is stored."""
    tried = workspace.configuration.try_redaction(sys.stdin.read() if text is None else text)
    print_result(tried, tried.text)


@click.command()
@json_flag
@click.pass_context
def doctor_command(ctx: click.Context) -> int:
    """Look at installation, settings, database, disk, plug-ins, judge, model endpoints and exporters, and say what to do.

    Exit code 0: nothing is to be done, 1: something is, 2: something must be mended before the rest can be looked at.
    """
    from evergold.workspace.doctor import diagnose

    diagnosis = diagnose(ctx.find_root().obj)
    lines = [
        f"{one.level:8}{one.area}: {one.message}" + (f"\n{'':8}→ {one.todo}" if one.todo else "")
        for one in diagnosis.findings
    ]
    print_result(diagnosis, "\n".join([*lines, diagnosis.table()[0]]))
    return 2 if any(one.level == "error" for one in diagnosis.findings) else int(not diagnosis.ok)


@click.command()
@click.option(
    "--print-config",
    "client",
    type=click.Choice(["claude", "codex", "cursor"]),
    help="Print what to put where, so that this agent uses the workspace.",
)
@click.option("--print-skill", is_flag=True, help="Print the skill that says how to use the tools.")
@click.option(
    "--url", help="With --print-config: of a server, whose /mcp the agent calls with the token in EVERGOLD_TOKEN."
)
@click.pass_context
def mcp_command(ctx: click.Context, client: str | None, print_skill: bool, url: str | None) -> None:
    """Offer the workspace to a coding agent over stdio: it reads, explains, proposes cases, starts runs and compares.

    What it proposes waits in review, marked with its name. A server offers the same at /mcp.
    """
    from evergold import mcp

    if print_skill:
        echo(mcp.read_skill(), nl=False)
    elif client:
        home = str(settings_of(ctx).home.absolute())
        words = [str(Path(sys.executable).parent / "evergold"), "--home", home, "mcp"]
        file, skills = mcp.CONFIG_FILES[client]
        echo(f"into {file}; the skill: evergold mcp --print-skill > {skills}/evergold/SKILL.md", err=True)
        echo(mcp.print_config(client, words, url and url.rstrip("/")), nl=False)
    elif url:
        raise BadInput("--url goes with --print-config: an agent calls a server's /mcp by itself")
    else:
        import anyio

        with open_workspace(ctx) as workspace:
            anyio.run(mcp.make_server(workspace, works_here=True).run_stdio_async)


@click.command()
@json_flag
def plugins_command() -> None:
    """List the plug-ins of every seam, the built-in ones included."""
    from evergold import plugins

    results = {group: plugins.names(group) for group in plugins.GROUPS}
    rows = [(group, ", ".join(names) or "none") for group, names in results.items()]
    print_result(results, lambda: table("plug-ins", ("seam", "names"), rows))


@click.command()
def openapi_command() -> None:
    """Print the REST interface as OpenAPI JSON."""
    emit_json(import_module("evergold.api.app").interface())
