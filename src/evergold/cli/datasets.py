"""`evergold datasets`, `cases`, `import` and `export`: what the datasets hold, how versions differ, files in and out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from evergold.cli.options import (
    A_PATH,
    CASE_KINDS,
    CASE_STATUSES,
    ENTRY_TYPES,
    REVIEW_STATES,
    PathOrUrl,
    candidates_option,
    cluster_option,
    combine_options,
    evidence_option,
    report_verb,
    with_workspace,
)
from evergold.cli.output import answer_in_json, echo, emit_json, print_result, table
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.model.build import BuildDiff
    from evergold.model.case import Case
    from evergold.model.faults import Rejected


trust_options = combine_options(
    click.option("--type", "entry_type", type=click.Choice(ENTRY_TYPES)),
    click.option(
        "--confirmed/--unconfirmed", "confirmed", default=None, help="Golden cases with, or without, somebody's word."
    ),
    candidates_option,
    evidence_option,
    click.option("--review", type=click.Choice(REVIEW_STATES)),
)


@click.group()
def datasets_command() -> None:
    """List datasets, show their versions, compare two of them, check benchmark files."""


@datasets_command.command("list")
@report_verb
def list_datasets(workspace: Workspace) -> None:
    """List datasets: YAML files of `benchmark.datasets_dir`, the bundled samples, and what the store holds."""
    result = workspace.bench.datasets.list()
    rows = [
        (d.name, d.origin, d.tasks or "", d.candidates or "", d.problems[0] if d.problems else d.description or d.title)
        for d in result
    ]
    columns = ("dataset", "origin", "cases", "candidates", "about")
    print_result(result, lambda: table(f"{len(result)} datasets", columns, rows))


@datasets_command.command("lint")
@click.argument("path", type=PathOrUrl(exists=True))
@report_verb
def lint_files(workspace: Workspace, path: Path) -> int:
    """Check every YAML file below PATH (or the one file). Exit code 1 when anything is wrong."""
    check = workspace.task_files.lint(path)
    counted = f"{check.files} files, {check.tasks} tasks, {len(check.problems)} problems"
    print_result(vars(check), "\n".join([*map(str, check.problems), counted]))
    return int(bool(check.problems))


@datasets_command.command("schema")
@with_workspace
def print_schema(workspace: Workspace) -> None:
    """Print the JSON Schema of a dataset file, for editors."""
    emit_json(workspace.task_files.schema())


@datasets_command.command("show")
@click.argument("dataset")
@click.argument("version", required=False)
@report_verb
def show_dataset(workspace: Workspace, dataset: str, version: str | None) -> None:
    """Show the versions of DATASET, or the manifest of one VERSION."""
    result = [workspace.builds.get(dataset, version)] if version else workspace.builds.versions(dataset)
    if version:
        # A manifest is JSON whichever way it is asked for.
        emit_json(result[0].manifest)
        return
    rows = []
    for one in result:
        splits = ", ".join(f"{name} {split['count']}" for name, split in one.manifest["splits"].items())
        content, built = one.content_hash[:19], f"{one.created_at:%Y-%m-%d %H:%M}"
        rows.append((one.version, splits, one.parent, content, built, one.location))
    columns = ("version", "cases", "parent", "content", "built", "folder")
    print_result({"builds": result}, lambda: table(f"builds of {dataset}", columns, rows))


@datasets_command.command("diff")
@click.argument("before")
@click.argument("after")
@click.option("--dataset", help="The dataset whose versions BEFORE and AFTER are.")
@report_verb
def diff_builds(workspace: Workspace, before: str, after: str, dataset: str | None) -> None:
    """Compare two builds: versions (v1 v2), folders or manifests. Added, removed and changed cases, field by field."""
    result = workspace.builds.diff(before, after, dataset)
    print_result(result.model_dump(mode="json", by_alias=True), lambda: _print_diff(result))


def _print_diff(result: BuildDiff) -> None:
    rows: list[tuple[object, ...]] = [("+", one, "", "", "") for one in result.added]
    rows += [("-", one, "", "", "") for one in result.removed]
    rows += [(">", one, "split", move.from_, move.to) for one, move in result.moved.items()]
    rows += [
        ("~", one, change.field, change.before, change.after) for one, all_ in result.changed.items() for change in all_
    ]
    title = ", ".join(f"{count} {what}" for what, count in result.counts)
    table(f"{result.before} → {result.after}: {title}", ("", "case", "field", "before", "after"), rows)
    if not rows:
        echo(f"no difference between {result.before} and {result.after}", err=True)


SHOWN_REASONS, SHOWN_EXAMPLES = 20, 5
AS_CONVERSATION = ("messages", "turn")
IN_CONVERSATION = frozenset({"messages", "turn", "tool_calls", "approved", "revised"})
INDENT = "  "


@click.group()
def cases_command() -> None:
    """List, show and tag cases."""


@cases_command.command("list")
@click.option("--dataset", help="Only this dataset.")
@click.option("--kind", type=click.Choice(CASE_KINDS))
@trust_options
@click.option("--status", type=click.Choice(CASE_STATUSES), default="active")
@click.option("--tag", help="Only cases with this tag.")
@click.option("--trace", "trace_id", help="Only cases of this trace.")
@click.option("--since", metavar="TIME", help="Only cases made at or after this time (UTC).")
@click.option("--search", help="Only cases whose texts contain this.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, help="How many at most.")
@report_verb
def list_cases(workspace: Workspace, limit: int, **filters: object) -> None:
    """List cases, newest first."""
    from evergold.store.case.cases import CaseFilter

    wanted = CaseFilter.model_validate(filters)
    result, _ = workspace.cases.page(wanted, limit=limit)
    total, waiting = workspace.cases.count(wanted), workspace.cases.candidates_beside(wanted)
    listed = {"total": total, "candidates_left_out": waiting, "cases": [_as_record(case) for case in result]}
    if answer_in_json(listed):
        return
    rows = [
        (case.dataset, case.id, case.kind, case.entry_type, case.evidence, _trust(case), case.input) for case in result
    ]
    table(f"{total} cases", ("dataset", "id", "kind", "type", "evidence", "state", "input"), rows)
    _print_candidates(total, waiting)


@cases_command.command("show")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--history", is_flag=True, help="Also every revision: who, when, why.")
@report_verb
def show_case(workspace: Workspace, dataset: str, case_id: str, history: bool) -> None:
    """Show one case whole."""
    case = workspace.cases.get(dataset, case_id)
    revisions = workspace.cases.history(dataset, case_id) if history else []
    basis = workspace.staleness.basis(dataset, case_id)
    if answer_in_json(_as_record(case) | {"rests_on": basis} | ({"history": revisions} if history else {})):
        return
    for line in case_lines(case):
        echo(line)
    for one in basis:
        by = " ".join(part for part in (one.model, one.prompt_version and f"prompt {one.prompt_version}") if part)
        echo(f"rests on: {one.kind} {one.name or by} {one.hash} of {one.seen_at[:10]}".replace("  ", " "))
    for revision in revisions:
        echo(f"v{revision.version} {revision.created_at} {revision.who}: {revision.action} {revision.why}".rstrip())


@cases_command.command("tag")
@click.argument("dataset")
@click.argument("case_id")
@click.option("--add", multiple=True, metavar="TAG", help="Add this tag; may be repeated.")
@click.option("--remove", multiple=True, metavar="TAG", help="Remove this tag; may be repeated.")
@click.option("--who", default="cli", help="Recorded as the author.")
@with_workspace
def tag_case(
    workspace: Workspace, dataset: str, case_id: str, add: tuple[str, ...], remove: tuple[str, ...], who: str
) -> None:
    """Add or remove tags of a case."""
    case = workspace.cases.tag(dataset, case_id, add=add, remove=remove, who=who)
    echo(f"{case.dataset}/{case.id}: {', '.join(case.tags) or 'no tags'}")


@click.command()
@click.argument("file", type=A_PATH)
@click.option("--format", "format_name", help="Format of the file (default: recognised).")
@click.option("--dataset", help="Put the cases into this dataset (default: what the file says).")
@click.option("--who", default="cli", help="Recorded as the author.")
@click.option("--repo", "repo_dir", type=A_PATH, help="Prove base commits here (default: review.repo_dir).")
@report_verb
def import_command(workspace: Workspace, file: Path, **given: Any) -> int:
    """Read cases from FILE into the store. The same file twice changes nothing; a changed case becomes a revision.

    FILE may be a URL (s3://…) and a glob in quotes; each file that matches is stored in a transaction of its own.
    """
    from evergold.storage import find_matching

    counts: Counter[str] = Counter()
    rejected: list[Rejected] = []
    for one in find_matching(file):
        result, bad = workspace.cases.import_file(one, **given)
        counts.update(vars(result))
        rejected += bad
    for item in rejected:
        echo(str(item), err=True)
    refused = sum(not item.is_note for item in rejected)
    counts_text = ", ".join(f"{count} {name}" for name, count in counts.items())
    text = f"imported {file}: {counts_text}, {refused} rejected"
    print_result({**counts, "rejected": refused}, text)
    return int(bool(refused))


@click.command()
@click.argument("dataset")
@click.option("--format", "format_name", default="live-jsonl", help="`evergold plugins` lists them.")
@click.option("--out", type=A_PATH, help="File or folder (default: DATASET with the usual ending).")
@trust_options
@click.option("--tag", help="Only cases with this tag.")
@click.option("--since", metavar="TIME", help="Only cases made at or after this time (UTC).")
@click.option("--limit", type=click.IntRange(1), help="At most this many, after the filters, newest first.")
@cluster_option
@report_verb
def export_command(
    workspace: Workspace,
    dataset: str,
    format_name: str,
    out: Path | None,
    limit: int | None,
    cluster: str | None,
    **filters: object,
) -> None:
    """Write the cases of DATASET, newest first. The file appears whole or not at all."""
    from evergold.storage import file_name
    from evergold.store.case.cases import CaseFilter

    wanted = CaseFilter.model_validate({"dataset": dataset, **filters})
    workspace.cases.require_dataset(dataset)
    # A name may hold a slash; the file stays in this folder.
    path = out or Path(file_name(dataset) + workspace.cases.suffix_of(format_name))
    unfit: list[Rejected] = []
    unheld: Counter[str] = Counter()
    evidence: Counter[str] = Counter()
    count = workspace.cases.export(
        wanted, format_name, path, limit=limit, cluster=cluster, rejected=unfit, unheld=unheld, evidence=evidence
    )
    reasons = Counter(item.reason for item in unfit)
    for reason, number in (shown := reasons.most_common(SHOWN_REASONS)):
        examples = [item.where for item in unfit if item.reason == reason][:SHOWN_EXAMPLES]
        echo(f"left out {number}: {reason} ({', '.join(examples)}{', …' if number > len(examples) else ''})", err=True)
    if rest := len(unfit) - sum(number for _, number in shown):
        echo(f"left out {rest} for {len(reasons) - len(shown)} other reasons", err=True)
    waiting = workspace.cases.candidates_beside(wanted)
    _print_candidates(count, waiting)
    done = {"path": str(path), "format": format_name, "cases": count, "left_out": len(unfit)}
    if answer_in_json(done | {"candidates_left_out": waiting, "unheld": dict(unheld), "evidence": dict(evidence)}):
        return
    echo(f"exported {count} cases to {path}" + (f"; {len(unfit)} left out" if unfit else ""))
    if evidence:
        echo("they rest on " + ", ".join(f"{name}: {number}" for name, number in evidence.most_common()))
    if unheld:
        fields = ", ".join(f"{name}: {number}" for name, number in unheld.most_common())
        echo(f"{format_name} has no place for {fields}; they travel with the file and are read back", err=True)


def _as_record(case: Case) -> dict[str, Any]:
    """A case as JSON. Its `expected` is the right answer also where it is a correction, whose words are in `correction_text`."""
    answers = case.shown_answers()
    return case.model_dump(mode="json") | {"expected": answers["expected_output"]} | answers


def _trust(case: Case) -> str:
    """Name how far a case can be trusted; only golden cases are candidates."""
    if case.review == "validated":
        return "validated"
    return case.tier if case.entry_type == "golden" else "unvalidated"


def _print_candidates(cases: int, waiting: int) -> None:
    from evergold.model.case import candidates_left_out, ways_to_confirm

    if waiting:
        echo(candidates_left_out(waiting) if cases else ways_to_confirm(waiting), err=True)


def case_lines(case: Case) -> Iterator[str]:
    """Yield the lines that show a case: one for each plain field, and a block for conversation and reference."""
    stored = case.model_dump(mode="json", exclude_defaults=True)
    for name, value in stored.items():
        if name not in IN_CONVERSATION:
            yield f"{name}: {_as_text(value)}"
    for name in AS_CONVERSATION:
        if messages := getattr(case, name):
            yield f"{name}:"
            yield from _conversation_lines(messages)
    reference = case.reference()
    if reference is None:
        yield "reference: none yet"
        return
    yield f"reference ({reference.origin.value}):"
    yield from (f"{INDENT}calls {call.name}({_as_text(call.args)})" for call in reference.tool_calls or ())
    yield from _indent(reference.text or "")


def _conversation_lines(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        role = message.get("role", "unknown")
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            yield f"{INDENT}{role} calls {function.get('name', 'unknown')}({function.get('arguments', '')})"
        if content := message.get("content"):
            first, *rest = _as_text(content).splitlines() or [""]
            yield f"{INDENT}{role}: {first}"
            yield from _indent("\n".join(rest), INDENT * 2)


def _indent(text: str, indent: str = INDENT) -> Iterator[str]:
    yield from (f"{indent}{line}" for line in text.splitlines())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
