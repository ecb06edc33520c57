"""`evergold runs`, `report` and `compare`: what was run, what it found, and whether the second run is better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evergold.cli.options import PathOrUrl, report_verb, with_workspace
from evergold.cli.output import answer_in_json, echo, one_line, print_result, table, wants_json
from evergold.cli.run import coverage_option, errors_option, summary_line
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.model.case import Case
    from evergold.model.report import RunComparison
    from evergold.model.run import Attempt, Run
    from evergold.report.summary import RunReport

STATUSES = ("queued", "running", "completed", "failed", "cancelled")
FORMATS = ("markdown", "html", "json", "junit")


@click.group()
def runs_command() -> None:
    """List, show, cancel, delete and re-score benchmark runs; the leaderboard."""


@runs_command.command("list")
@click.option("--dataset", help="Only runs of this dataset.")
@click.option("--model", help="Only runs of this model.")
@click.option("--status", type=click.Choice(STATUSES))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, help="How many at most.")
@report_verb
def list_runs(workspace: Workspace, **filters: Any) -> None:
    """List runs, newest first."""
    result, total = workspace.bench.page(**filters)
    rows = [(run, workspace.bench.results.means(run)) for run in result]
    if answer_in_json({"total": total, "runs": result}):
        return
    lines = []
    for run, means in rows:
        done, spec = f"{run.done}/{run.total}", run.spec
        lines.append((run.id, spec.dataset, spec.model, run.status, done, "; ".join(map(_mean_text, means))))
    table(f"{total} runs", ("run", "dataset", "model", "status", "done", "means"), lines)


@runs_command.command("show")
@click.argument("run_id")
@click.option("--case", "case_id", help="One case whole: question, expected, answer, every measurement.")
@click.option("--failures", is_flag=True, help="Only attempts that failed or scored below 0.5.")
@click.option("--limit", type=click.IntRange(1), default=50, help="How many at most.")
@report_verb
def show_run(workspace: Workspace, run_id: str, case_id: str | None, failures: bool, limit: int) -> None:
    """Show a run: its means and its attempts, or one case of it."""
    run = workspace.bench.get(run_id)
    means, cached = workspace.bench.results.means(run), workspace.bench.results.count_cached(run_id)
    case = workspace.bench.case(run_id, case_id) if case_id else None
    wanted = (a for a in workspace.bench.attempts(run_id, case_id) if not failures or run.is_failure(a))
    # zip ends the iterator after the limit, so the attempts behind it are never read.
    attempts = [attempt for attempt, _ in zip(wanted, range(limit), strict=False)]
    trials = workspace.bench.results.trials(run)
    if answer_in_json({"run": run, "means": means, "trials": trials, "case": case, "attempts": attempts}):
        return
    if case is not None:
        _print_case(case)
        for attempt in attempts:
            _print_attempt(workspace, case, attempt)
        echo(summary_line(run, cached))
        return
    rows = [(a.case_id, a.trial, a.error or a.output, "; ".join(_score_texts(a))) for a in attempts]
    table(f"{run.spec.model} on {run.spec.dataset}", ("case", "trial", "answer", "measurements"), rows)
    for mean in means:
        echo(f"{mean.metric}: {mean}")
    echo(summary_line(run, cached) + (f"\n{run.error}" if run.error else ""))


@runs_command.command("cancel")
@click.argument("run_id")
@with_workspace
def cancel_run(workspace: Workspace, run_id: str) -> None:
    """Stop a run, wherever it is being worked on."""
    run = workspace.bench.cancel(run_id)
    echo(f"{run.id}: {run.status}" + ("" if run.status.ended else ", stopping"))


@runs_command.command("delete")
@click.argument("run_id")
@with_workspace
def delete_run(workspace: Workspace, run_id: str) -> None:
    """Delete a run with its attempts."""
    workspace.bench.delete(run_id)
    echo(f"deleted {run_id}")


@runs_command.command("retry")
@click.argument("run_id")
@report_verb
def retry_run(workspace: Workspace, run_id: str) -> int:
    """Send the calls of a run again that got no reply; answers stay."""
    workspace.bench.resume(run_id, retry_errors=True)
    run = _print_means(workspace, run_id)
    if not wants_json():
        echo(summary_line(run))
    return 0 if run.status == "completed" else 1


def _print_means(workspace: Workspace, run_id: str) -> Run:
    """Work on a run to its end and print its means."""
    run = workspace.bench.work_on(run_id)
    means = workspace.bench.results.means(run)
    rows = [(mean.metric, mean) for mean in means]
    print_result({"run": run, "means": means}, lambda: table(run.id, ("metric", "mean"), rows))
    return run


@runs_command.command("rescore")
@click.argument("run_id")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Default: the run's own, measured again.")
@click.option("--judge", metavar="NAME", help="Another judge than the run's.")
@click.option("--no-cache", is_flag=True, help="Ask the judge again also what it was asked before.")
@report_verb
def rescore_run(workspace: Workspace, run_id: str, metrics: tuple[str, ...], judge: str | None, no_cache: bool) -> None:
    """Measure stored answers again, or with more metrics. The model is not called."""
    workspace.bench.rescore(run_id, metrics, judge, cache=not no_cache)
    _print_means(workspace, run_id)


@runs_command.command("leaderboard")
@click.option("--dataset", help="Only this dataset.")
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Count each question once in the means, or each case.  [default: by question where all runs were started so]",
)
@report_verb
def show_leaderboard(workspace: Workspace, dataset: str | None, weighted: bool | None) -> None:
    """Rank models by the newest run of each, per version of a dataset."""
    boards = workspace.bench.results.leaderboard(dataset, weighted=weighted)
    if answer_in_json(boards):
        return
    for board in boards:
        name = f"{board.dataset} {board.version}"
        if board.weighted:
            echo(f"{name}: each question counts once", err=True)
        for left_out in board.excluded:
            echo(f"{name}: {left_out.model} ({left_out.run_id}) is not ranked: {left_out.why}", err=True)
        rows = [
            (name, rank, entry.model, *entry.means, entry.failed, entry.judge or "none")
            for rank, entry in enumerate(board.entries, start=1)
        ]
        table(name, ("dataset", "", "model", *board.metrics, "failed", "judge"), rows)


@runs_command.command("to-review")
@click.argument("run_id")
@click.argument("case_id")
@click.option("--trial", type=click.IntRange(0), default=0, help="Which attempt, from 0.")
@click.option("--dataset", default="failures", help="Dataset the case goes into.")
@click.option("--who", default="cli", help="Recorded as the author.")
@with_workspace
def send_to_review(workspace: Workspace, run_id: str, case_id: str, trial: int, dataset: str, who: str) -> None:
    """Turn an attempt into a case to review."""
    case = workspace.bench.results.to_review(run_id, case_id, trial, dataset=dataset, who=who)
    echo(f"{case.dataset}/{case.id} waits for review")


LONGEST_CONTEXT = 400


def _print_case(case: Case) -> None:
    reference = case.reference()
    _print_block(f"case {case.id}", case.name or "")
    _print_block("question", case.input)
    if reference is not None:
        _print_block(f"reference ({reference.origin})", reference.text)
    for number, context in enumerate(case.contexts, start=1):
        text = context.text or "(its text was not recorded)"
        more = len(text) - LONGEST_CONTEXT
        shown = f"{text[:LONGEST_CONTEXT]}… ({more:,} characters more)" if more > 0 else text
        _print_block(f"context {number}" + (f" ({context.source})" if context.source else ""), shown)


def _print_attempt(workspace: Workspace, case: Case, attempt: Attempt) -> None:
    """Print an attempt one can understand: answer, calls beside the expected ones, error, and each measurement's reason."""
    took = "" if attempt.latency_ms is None else f", {attempt.latency_ms:,.0f} ms"
    cut = ", truncated" if attempt.is_truncated else ""
    echo(f"── trial {attempt.trial}: {attempt.outcome}{cut}{took} ──")
    _print_block("answer", attempt.output)
    _print_block(f"error ({attempt.error_class or attempt.outcome})" if attempt.error else "", attempt.error)
    lines = [line for row in workspace.bench.results.align_calls(case, attempt) for line in _call_lines(*row)]
    _print_block("calls (expected, then made)" if lines else "", "\n".join(lines))
    for name, made in attempt.measurements.items():
        value = made.state.value.replace("_", " ") if made.value is None else f"{made.value:.3f}"
        _print_block(f"{name} {value}", made.reason or "", always=True)


def _call_lines(expected: Any, made: Any, wrong: tuple[str, ...]) -> list[str]:
    mark = "=" if not wrong else "-" if made is None else "+" if expected is None else "~"
    note = f"    <- {'; '.join(wrong)}" if wrong else ""
    calls = [call for call in (expected, made) if call is not None]
    texts = [f"{call.name}({', '.join(f'{key}={value!r}' for key, value in call.args.items())})" for call in calls]
    first, *second = dict.fromkeys(texts)
    return [f"{mark} {first}", f"  {second[0]}{note}"] if second else [f"{mark} {first}{note}"]


def _print_block(title: str, text: str | None, *, always: bool = False) -> None:
    """Print a title and below it a text with its own lines and indentation."""
    if text or always or title.startswith("case "):
        echo(title)
    for line in (text or "").rstrip().splitlines():
        echo(f"  {line}".rstrip())


def _score_texts(attempt: Attempt) -> list[str]:
    return [
        f"{name} {'–' if m.value is None else f'{m.value:.3f}'}" + (f" ({m.reason})" if m.reason else "")
        for name, m in attempt.measurements.items()
    ]


def _mean_text(mean: Any) -> str:
    lost = mean.errors + mean.failed
    beside = f" ({lost} without an answer)" if lost else ""
    return f"{mean.metric} {'–' if mean.value is None else f'{mean.value:.3f}'}{beside}"


@click.command()
@click.argument("run_id")
@click.option("--format", "form", type=click.Choice(["terminal", *FORMATS]), default="terminal")
@click.option("--out", "--output", "output", type=PathOrUrl(dir_okay=False), help="Write to a file, not the terminal.")
@click.option("--reducer", default="mean", help="Trials → one value: mean, median, mode, max, pass@K, pass^K.")
@click.option("--passing", type=click.FloatRange(0, 1), default=0.5, help="Below it is a failure.")
@click.option("--failures", type=click.IntRange(0, 1000), default=20, help="How many are shown.")
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Count each question once in the means, or each case.  [default: as the run was started]",
)
@errors_option
@report_verb
def report_command(workspace: Workspace, run_id: str, form: str, output: Path | None, **options: object) -> None:
    """Report on a run: means with intervals and coverage, slices, failures first, cost, provenance."""
    from evergold.report.summary import Options

    chosen = Options.model_validate(options)
    # Tables of a terminal are drawn here; every other form is made by the report itself.
    form = "json" if wants_json() else _choose_format(form, output)
    if form == "terminal":
        _print_report(workspace, workspace.judging.report(run_id, chosen))
        return
    if output is None:
        echo(workspace.judging.render(run_id, form, chosen), nl=False)
        return
    workspace.judging.write_report(run_id, form, chosen, output)
    echo(f"wrote {output}", err=True)


def _choose_format(form: str, output: Path | None) -> str:
    """Choose the format asked for, else the one that the file's name says."""
    if form != "terminal" or output is None:
        return form
    return {".html": "html", ".json": "json", ".xml": "junit"}.get(output.suffix, "markdown")


def _print_report(workspace: Workspace, report: RunReport) -> None:
    run = report.run
    metrics = [
        (m.spec.name, m.mean, m.unscored, m.errors, m.mean.failed, m.not_applicable, "; ".join(m.reasons))
        for m in report.metrics
    ]
    columns = ("metric", "mean", "unscored", "errors", "failed", "not applicable", "why")
    table(f"{run.spec.model} on {run.spec.dataset}", columns, metrics)
    if report.failures:
        rows = [
            (f.case_id, f.trial, f.metric or "failed", "–" if f.value is None else f"{f.value:.2f}", f.reason, f.output)
            for f in report.failures
        ]
        table(f"{report.failing} failures", ("case", "trial", "metric", "value", "reason", "output"), rows)
    for title, names, lines in workspace.judging.tables(report):
        table(title, names, lines)
    for warning in report.warnings:
        echo(f"note: {one_line(warning)}", err=True)


class GateCommand(click.Command):
    """Reads `--gate` and `--gate cases`: an option with a value that may be left out before arguments."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for at, word in enumerate(args):
            if word == "--gate" and args[at + 1 : at + 2] == ["cases"]:
                args = [*args[:at], "--gate-cases", *args[at + 2 :]]
                break
        return super().parse_args(ctx, ["--gate-cases" if word == "--gate=cases" else word for word in args])


@click.command(cls=GateCommand)
@click.argument("baseline")
@click.argument("candidates", metavar="CANDIDATE...", nargs=-1, required=True)
@click.option(
    "--margin",
    type=click.FloatRange(0, 1),
    default=0.03,
    help="The smallest difference that matters, as a share of the metric's scale.",
)
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Only these metrics.")
@click.option(
    "--gate",
    is_flag=True,
    help="Exit code 1 where a metric is worse, 0 where no drop beyond --tolerance is possible, else 3. `--gate cases`, for "
    "small sets: 1 where a case that passed before fails now and in two retries.",
)
@click.option("--gate-cases", is_flag=True, hidden=True)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, 1),
    default=0.05,
    help="With --gate: the drop that passes, as a share of the metric's scale.",
)
@coverage_option
@errors_option
@click.option(
    "--require-calibrated",
    "least",
    type=click.FloatRange(-1, 1),
    metavar="KAPPA",
    help="With --gate: exit 3 unless each judge's kappa with people is at least this at the lower end.",
)
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Compare question by question, or case by case.  [default: by question where both runs were started so]",
)
@click.option("--format", "form", type=click.Choice(["terminal", "markdown"]), default="terminal")
@report_verb
def compare_command(workspace: Workspace, baseline: str, candidates: tuple[str, ...], **options: Any) -> int:
    """Compare runs with a BASELINE run, case by case: which to ship, how sure that is, and what it costs."""
    gated = options["gate"] or options["gate_cases"]
    compared, codes, shown, notes = [], [], [], []
    for candidate in candidates:
        result = workspace.bench.results.compare(
            baseline,
            candidate,
            margin=options["margin"],
            weighted=options["weighted"],
            metrics=options["metrics"],
            exclude_errors=options["errors"] == "exclude",
        )
        doubts = []
        if options["least"] is not None:
            doubts = workspace.judging.require_calibrated(candidate, options["least"])
        if options["gate_cases"]:
            code, why = workspace.bench.decide_cases(result, options["min_coverage"])
        else:
            code, why = result.decide_gate(options["tolerance"], options["min_coverage"])
        if doubts and code == 0:
            code, why = 3, "; ".join(doubts)
        # An inconclusive gate neither opens nor closes an alert.
        if gated and code in (0, 1):
            spec = workspace.bench.get(candidate).spec
            workspace.alerts.gate(spec.dataset, spec.model, passed=code == 0, why=f"{why} against {baseline}")
        compared.append(result)
        codes.append(code if gated else 0)
        shown.append({**result.model_dump(mode="json"), "exit_code": code, "gate": why, "uncalibrated": doubts})
        notes += [f"note: {warning}" for warning in (*result.warnings, *doubts)]
        notes += [f"gate: {why} (exit code {code})"] if gated else []
    if not answer_in_json(shown[0] if len(shown) == 1 else shown):
        print_comparisons(workspace, compared, options["form"])
        for note in dict.fromkeys(notes):
            echo(note, err=True)
    # Worse before cannot tell: one regression closes the gate whatever the others are.
    return next((code for code in (2, 1, 3) if code in codes), 0)


def print_comparisons(workspace: Workspace, compared: list[RunComparison], form: str = "terminal") -> None:
    """Print the decisions, then what they rest on, then the cases that changed most."""
    results = workspace.bench.results
    changed = [
        results.compare_cases(one.first, one.second, metric=one.metrics[0].metric, weighted=one.weighted, limit=10)
        for one in compared
    ]
    if form == "markdown":
        echo(workspace.judging.comparison_markdown(compared, changed))
        return
    for one in compared:
        echo(one.sentence)
    for title, columns, rows in workspace.judging.comparison_tables(compared, changed):
        table(title, columns, rows)
    if compared[0].weighted:
        echo("note: each question counts once, however many cases ask it", err=True)
