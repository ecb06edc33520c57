"""`evergold curate` and `check-traces`: traces into the living dataset by policy, and the checks run by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evergold.cli.options import A_PATH, report_verb
from evergold.cli.output import answer_in_json, echo, print_result, progress, table
from evergold.errors import BadInput
from evergold.workspace import Workspace

if TYPE_CHECKING:
    # Loading these takes as long as a small curation.
    from evergold.checks.stage import CheckReport
    from evergold.model.check import Checked
    from evergold.model.policy import Explanation, PolicyTrial, Proportion
    from evergold.store.verdict.curation import Changes

NOTHING_NEW = "no new scores, corrections or turns of a session; --backfill judges all of history again"
SHOWN_DIFFERENCES = 10
SHOWN_GAPS = 5
STAYS_BACK = (
    "this revision will not make those changes again unless a new score comes; another revision of the policy may"
)


@click.command()
@click.option("--policy", "policy_files", multiple=True, type=A_PATH, help="Policy file (TOML).")
@click.option("--backfill", is_flag=True, help="Judge all of history again, not only what is new.")
@click.option(
    "--refresh", is_flag=True, help="Complete earlier cases from their traces: conversation, tools, contexts."
)
@click.option("--dry-run", is_flag=True, help="Show what would change over all of history; change nothing.")
@click.option("--explain", "trace_id", metavar="TRACE", help="Why a trace has its verdict, and what would change it.")
@click.option("--undo", "label", metavar="POLICY@REV", help="Take back what a policy revision did.")
@click.option(
    "--against",
    metavar="FILE",
    type=A_PATH,
    help="Measure the policies on people's labels (JSONL: trace_id, label); change nothing.",
)
@click.option("--policies", "list_policies", is_flag=True, help="List policy revisions.")
@report_verb
def curate_command(
    workspace: Workspace, policy_files: tuple[Path, ...], backfill: bool, dry_run: bool, **asked: object
) -> None:
    """Apply the policies to everything new: golden, failure and correction entries, each change a revision.

    The policies in force are the built-in `default` and those of the setting `curation.policies`; --policy names others
    for this call, and what waits goes on waiting for those in force. Curating twice changes nothing.
    """
    trace_id, label, listed, against = (asked[name] for name in ("trace_id", "label", "list_policies", "against"))
    if sum(map(bool, (backfill, dry_run, trace_id, label, listed, against, asked["refresh"]))) > 1:
        raise BadInput(
            "--against, --backfill, --refresh, --dry-run, --explain, --undo and --policies exclude each other; give one"
        )
    if trace_id:
        _print_explanations(workspace.live.with_policy_files(policy_files).explain(str(trace_id)))
    elif label:
        done = workspace.live.undo(str(label))
        left = f"; {done.left} were changed by somebody since and stand" if done.left else ""
        text = f"took back what {done.policy} did to {done.undone} entries{left}\n{STAYS_BACK}"
        print_result(vars(done), text)
    elif isinstance(against, Path):
        _print_trials(workspace.live.try_policies(against, policy_files))
    elif listed:
        known = workspace.live.policies()
        rows = [(item.label, "yes" if item.in_force else "no", item.first_used or "never") for item in known]
        columns = ("policy", "in force", "first used")
        print_result([vars(one) for one in known], lambda: table("policy revisions", columns, rows))
    elif asked["refresh"]:
        with progress("completing cases", None) as advance:
            seen, changed = workspace.live.refresh(advance)
        text = f"completed {changed} of {seen} cases that cite a stored trace"
        print_result({"cases": seen, "refreshed": changed}, text)
    elif dry_run:
        _dry_run(workspace, policy_files)
    else:
        _curate(workspace, policy_files, backfill)


def _curate(workspace: Workspace, policy_files: tuple[Path, ...], backfill: bool) -> None:
    curation = workspace.live.with_policy_files(policy_files)
    workspace.live.checks.queue_missing()
    if backfill:
        with progress("curating", workspace.live.trace_count()) as advance:
            changes = curation.backfill(advance)
        with progress("writing contents", None) as advance:
            workspace.live.fill_contents(progress=advance)
    else:
        changes = curation.drain()
        workspace.live.fill_contents()
    hint = "" if changes.traces else f" ({NOTHING_NEW})"
    incomplete = workspace.live.incomplete()
    lines = [f"curated {changes.traces} traces: {_changes_text(changes)}{hint}"]
    lines += [
        f"incomplete: {each.gap.value}, {each.traces} traces sent by {each.exporter}: {each.change}"
        for each in incomplete[:SHOWN_GAPS]
    ]
    if len(incomplete) > SHOWN_GAPS:
        lines.append(f"incomplete: {len(incomplete) - SHOWN_GAPS} more reasons and senders (--json lists them)")
    counts = _counts(changes) | {"incomplete": incomplete}
    print_result(counts, "\n".join(lines))


def _dry_run(workspace: Workspace, policy_files: tuple[Path, ...]) -> None:
    shown = workspace.live.with_policy_files(policy_files).dry_run()
    if answer_in_json({"dry_run": True, "policies": {label: _counts(changes) for label, changes in shown.items()}}):
        return
    for label, changes in shown.items():
        echo(f"{label}: of {changes.traces} traces {_changes_text(changes)}")
        for kind, examples in changes.examples.items():
            echo(f"  would be {kind}, for example: {', '.join(examples)}")


def _print_explanations(explanations: list[Explanation]) -> None:
    if answer_in_json(explanations):
        return
    for shown in explanations:
        resting = f" by {shown.evidence.value}" if shown.evidence is not None else ""
        echo(f"{shown.policy}: {shown.tier.value}{resting}, because {shown.reason}")
        for score in shown.deciding:
            why = f": {score.comment}" if score.comment else ""
            echo(f"  decided by  {score.name} = {score.value:g} ({score.source.value}){why}")
        for score in shown.left_out:
            echo(f"  left out    {score.name} = {score.value:g} ({score.source.value})")
        for lack in shown.incomplete:
            echo(f"  incomplete  {lack.gap.value} (sent by {shown.exporter}): {lack.change}")
        for remark in shown.remarks:
            words = "; ".join(remark.evidence) or "no words of its own"
            what = f"{remark.kind.value} with probability {remark.probability:.2f}: {remark.message_id}"
            echo(f'  remark      {what} on {remark.target_id}, "{remark.message}" ({words})')
        for change in shown.counterfactuals:
            echo(f"  if {change.when}, it would be {change.result.value}")


def _became(changes: Changes) -> dict[str, int]:
    """Count the entries by what they became."""
    tiers, kinds = changes.by_tier, changes.by_kind
    counts = {"golden (confirmed)": tiers.get("confirmed", 0), "golden (unconfirmed)": tiers.get("unconfirmed", 0)}
    counts |= {name: tiers.get(name, 0) for name in ("candidate", "failure")}
    return counts | {"correction": kinds.get("corrected", 0), "withdrawn": kinds.get("withdrawn", 0)}


def _counts(changes: Changes) -> dict[str, object]:
    counts = {name.replace(" (", "_").rstrip(")"): count for name, count in _became(changes).items()}
    unchanged = max(0, changes.traces - sum(changes.by_tier.values()))
    more = {"unchanged": unchanged, "changes": changes.by_kind, "examples": changes.examples}
    return {"examined": changes.traces, **counts, **more}


def _changes_text(changes: Changes) -> str:
    return ", ".join(f"{count} {name}" for name, count in _became(changes).items() if count) or "nothing changed"


def _print_trials(trials: Sequence[PolicyTrial]) -> None:
    """Print precision and recall with their intervals, then the first traces on which people and policy differ."""
    if answer_in_json({"trials": list(trials)}):
        return
    for trial in trials:
        rows = [
            (name, _share_text(part.precision), _share_text(part.recall))
            for name, part in (("golden", trial.golden), ("failure", trial.failure))
        ]
        table(f"{trial.policy} on {trial.labelled} labelled traces", ("class", "precision", "recall"), rows)
        if trial.missing:
            named = ", ".join(trial.missing_examples)
            echo(f"{trial.missing} labels are of traces that are not here, for example: {named}", err=True)
        for each in trial.differences[:SHOWN_DIFFERENCES]:
            echo(f"  {each.trace_id}: people say {each.label}, the policy {each.verdict}: {each.reason}")


def _share_text(share: Proportion) -> str:
    # Without a hit or a label of the class there is no share to show.
    if share.value is None or share.low is None or share.high is None:
        return "nothing to measure"
    return f"{share.value:.3f} ({share.low:.3f} … {share.high:.3f}; {share.hits} of {share.of})"


@click.command()
@click.option("--backfill", is_flag=True, help="Check all of history again, also what was checked before.")
@click.option("--dry-run", is_flag=True, help="Show what the checks find in all of history; keep nothing.")
@click.option("--explain", "trace_id", metavar="TRACE", help="What each check finds in one trace, and why.")
@report_verb
def check_traces_command(workspace: Workspace, backfill: bool, dry_run: bool, trace_id: str | None) -> None:
    """Run the checks over the traces that no check has seen yet. The entries follow with the next `evergold curate`."""
    if sum(map(bool, (backfill, dry_run, trace_id))) > 1:
        raise BadInput("--backfill, --dry-run and --explain exclude each other; give one")
    checks = workspace.live.checks
    if trace_id:
        # An unknown trace is an error here; the checks would only find nothing to say.
        workspace.intake.get(trace_id)
        _print_checks(checks.stage.explain(trace_id))
        return
    work = checks.stage.dry_run if dry_run else partial(checks.backfill, everything=backfill)
    with progress("checking", workspace.live.trace_count()) as advance:
        report = work(advance)
    hint = checks.state()["hint"]
    if answer_in_json(vars(report) | {"dry_run": dry_run, "hint": hint}):
        return
    _print_check_report(report, dry_run)
    if hint:
        echo(str(hint))


def _print_checks(outcomes: list[Checked]) -> None:
    listed: list[dict[str, object]] = []
    rows = []
    for each in outcomes:
        result, named = each.result, {"check": each.check, "version": each.version, "source": each.source.value}
        shown = {
            "reason": result.reason if result else each.error or "does not apply",
            "evidence": result.evidence if result else "",
        }
        listed.append({**named, "value": result and result.value, **shown, "error": each.error})
        rows.append((each.check, f"{result.value:g}" if result else "error" if each.error else "-", *shown.values()))
    print_result(listed, lambda: table("checks", ("check", "value", "reason", "evidence"), rows))


def _print_check_report(report: CheckReport, dry_run: bool) -> None:
    echo(f"looked at {report.traces} traces" + ("" if dry_run else f"; {report.changed} scores changed"))
    rows = [
        (name, value, number) for name, by_value in report.values.items() for value, number in sorted(by_value.items())
    ]
    if rows:
        table("results", ("check", "value", "traces"), rows, numbers=("traces",))
    for name, number in report.errors.items():
        echo(f"{name} could not be run on {number} traces")
    for what, examples in report.examples.items():
        echo(f"{what} (for example {', '.join(examples[:3])})")
