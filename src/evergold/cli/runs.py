"""`evergold runs`: what was run, how it went, and what to do with it next."""

from typing import Any

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.cli.run import summary_line
from evergold.model.run import Attempt, RunStatus


@click.group()
def command() -> None:
    """List, show, cancel, delete and re-score benchmark runs; the leaderboard."""


@command.command("list")
@click.option("--dataset", help="Only runs of this dataset.")
@click.option("--model", help="Only runs of this model.")
@click.option("--status", type=click.Choice([status.value for status in RunStatus]))
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@json_flag
@click.pass_context
def list_command(ctx: click.Context, /, as_json: bool, **filters: Any) -> None:
    """List runs, newest first."""
    with opened(ctx) as workspace:
        result, total = workspace.bench.page(**filters)
        rows = [(run, workspace.bench.results.means(run)) for run in result]
    if as_json:
        emit_json({"total": total, "runs": result})
        return
    lines = [
        (run.id, run.spec.dataset, run.spec.model, run.status, f"{run.done}/{run.total}", "; ".join(map(_short, means)))
        for run, means in rows
    ]
    table(f"{total} runs", ("run", "dataset", "model", "status", "done", "means"), lines)


@command.command("show")
@click.argument("run_id")
@click.option("--case", "case_id", help="One case whole: question, expected, answer, every measurement.")
@click.option("--failures", is_flag=True, help="Only attempts that failed or scored below 0.5.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True)
@json_flag
@click.pass_context
def show_command(
    ctx: click.Context, run_id: str, case_id: str | None, failures: bool, limit: int, as_json: bool
) -> None:
    """Show a run: its means and its attempts, or one case of it."""
    with opened(ctx) as workspace:
        run = workspace.bench.get(run_id)
        means, cached = workspace.bench.results.means(run), workspace.bench.results.cached(run_id)
        case = workspace.bench.case(run_id, case_id) if case_id else None
        wanted = (a for a in workspace.bench.attempts(run_id, case_id) if not failures or _failing(a))
        # zip ends the iterator after the limit, so the attempts behind it are never read.
        attempts = [attempt for attempt, _ in zip(wanted, range(limit), strict=False)]
    if as_json:
        emit_json({"run": run, "means": means, "case": case, "attempts": attempts})
        return
    if case is not None:
        for name, value in case.model_dump(mode="json", exclude_defaults=True).items():
            echo(f"{name}: {value}")
    rows = [(a.case_id, a.trial, a.error or a.output, "; ".join(_score_texts(a))) for a in attempts]
    table(f"{run.spec.model} on {run.spec.dataset}", ("case", "trial", "answer", "measurements"), rows)
    for mean in means:
        echo(f"{mean.metric}: {mean}")
    echo(summary_line(run, cached) + (f"\n{run.error}" if run.error else ""))


@command.command("cancel")
@click.argument("run_id")
@click.pass_context
def cancel_command(ctx: click.Context, run_id: str) -> None:
    """Stop a run, wherever it is being worked on."""
    with opened(ctx) as workspace:
        run = workspace.bench.cancel(run_id)
    echo(f"{run.id}: {run.status}" + ("" if run.status.ended else ", stopping"))


@command.command("delete")
@click.argument("run_id")
@click.pass_context
def delete_command(ctx: click.Context, run_id: str) -> None:
    """Delete a run with its attempts."""
    with opened(ctx) as workspace:
        workspace.bench.delete(run_id)
    echo(f"deleted {run_id}")


@command.command("rescore")
@click.argument("run_id")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="Default: the run's own, measured again.")
@click.option("--judge", metavar="NAME", help="Another judge than the run's.")
@json_flag
@click.pass_context
def rescore_command(
    ctx: click.Context, run_id: str, metrics: tuple[str, ...], judge: str | None, as_json: bool
) -> None:
    """Measure stored answers again, or with more metrics. The model is not called."""
    with opened(ctx) as workspace:
        workspace.bench.rescore(run_id, metrics, judge)
        run = workspace.bench.work_on(run_id)
        means = workspace.bench.results.means(run)
    if as_json:
        emit_json({"run": run, "means": means})
        return
    table(run.id, ("metric", "mean"), [(mean.metric, mean) for mean in means])


@command.command("leaderboard")
@click.option("--dataset", help="Only this dataset.")
@click.option(
    "--weighted/--unweighted",
    default=None,
    help="Count each question once in the means, or each case.  [default: by question where all runs were started so]",
)
@json_flag
@click.pass_context
def leaderboard_command(ctx: click.Context, dataset: str | None, weighted: bool | None, as_json: bool) -> None:
    """Rank models by the newest run of each, per version of a dataset."""
    with opened(ctx) as workspace:
        boards = workspace.bench.results.leaderboard(dataset, weighted=weighted)
    if as_json:
        emit_json(boards)
        return
    for board in boards:
        name = f"{board.dataset} {board.version}"
        if board.weighted:
            echo(f"{name}: each question counts once", err=True)
        rows = [
            (name, rank, entry.model, *entry.means, entry.failed, entry.judge or "none")
            for rank, entry in enumerate(board.entries, start=1)
        ]
        table(name, ("dataset", "", "model", *board.metrics, "failed", "judge"), rows)


@command.command("to-review")
@click.argument("run_id")
@click.argument("case_id")
@click.option("--trial", type=click.IntRange(0), default=0, show_default=True)
@click.option("--dataset", default="failures", show_default=True, help="Dataset the case goes into.")
@click.option("--who", default="cli", show_default=True)
@click.pass_context
def to_review_command(ctx: click.Context, run_id: str, case_id: str, trial: int, dataset: str, who: str) -> None:
    """Turn an attempt into a case to review."""
    with opened(ctx) as workspace:
        case = workspace.bench.results.to_review(run_id, case_id, trial, dataset=dataset, who=who)
    echo(f"{case.dataset}/{case.id} waits for review")


def _failing(attempt: Attempt) -> bool:
    values = [m.value for m in attempt.measurements.values()]
    return attempt.error is not None or any(value is not None and value < 0.5 for value in values)


def _score_texts(attempt: Attempt) -> list[str]:
    return [
        f"{name} {'–' if m.value is None else f'{m.value:.3f}'}" + (f" ({m.reason})" if m.reason else "")
        for name, m in attempt.measurements.items()
    ]


def _short(mean: Any) -> str:
    return f"{mean.metric} {'–' if mean.value is None else f'{mean.value:.3f}'}"
