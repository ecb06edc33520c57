"""`evergold run`: a dataset against a model, here and now; with --replay, recorded conversations played again."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from evergold.cli.options import PathOrUrl, candidates_option, cluster_option, combine_options, report_verb
from evergold.cli.output import answer_in_json, echo, print_result, progress, table
from evergold.errors import BadInput
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.model.run import Plan, Run, RunSpec

CONTEXT = "context"
RETRIEVER = "retriever:"
CASES_OF_HISTORY = 100
TURNS = ("last", "each", "all", "simulated")
ON_UNRECORDED = ("stop", "error", "model")

coverage_option = click.option(
    "--min-coverage",
    type=click.FloatRange(0, 1),
    default=0.95,
    help="Exit code 3 where a smaller share of the attempts has a value.",
)
errors_option = click.option(
    "--errors",
    type=click.Choice(["count", "exclude"]),
    default="count",
    help="Attempts that got no reply count as the worst value, or are left out, which passes no gate.",
)
replay_options = combine_options(
    click.option(
        "--replay", is_flag=True, help="Play the recorded conversation again; its tools answer from the record."
    ),
    click.option(
        "--turns",
        type=click.Choice(TURNS),
        help="With --replay: the last turn (default), each turn with the true history, all user turns in order, or a "
        "simulated user.",
    ),
    click.option(
        "--on-unrecorded",
        type=click.Choice(ON_UNRECORDED),
        help="With --replay: what a call that was never recorded gets.  [default: stop]",
    ),
    click.option("--max-steps", type=click.IntRange(1, 1000), help="With --replay: per trajectory.  [default: 50]"),
    click.option(
        "--max-turns", type=click.IntRange(1, 1000), help="With --turns simulated: messages of the user.  [default: 20]"
    ),
    click.option("--max-tokens", type=click.IntRange(1), help="With --replay: tokens of one trajectory."),
    click.option(
        "--max-cost", type=click.FloatRange(0, min_open=True), metavar="$", help="With --replay: of one trajectory."
    ),
    click.option(
        "--max-seconds",
        type=click.FloatRange(0, min_open=True),
        help="With --replay: time of the model in one trajectory.",
    ),
    click.option("--user-model", metavar="NAME", help="Plays the simulated user.  [default: the model under test]"),
    click.option(
        "--tool-model",
        metavar="NAME",
        help="Invents results with --on-unrecorded model.  [default: the model under test]",
    ),
)


@click.command()
@click.argument("dataset", required=False)
@click.option(
    "--model",
    "--target",
    "model",
    metavar="NAME",
    help="openai/gpt-4o, local/smollm2, recorded, http:URL, command:…, python:M:F, retriever:bm25; "
    "'retriever:bm25|grep|embedding' runs all three and compares them.",
)
@click.option(
    "--metric",
    "--metrics",
    "metrics",
    multiple=True,
    metavar="NAME",
    help="Repeat for several, or a,b; NAME:param=value sets one. A retriever is measured by lines and files if none is given.",
)
@click.option("--judge", metavar="NAME", help="Who judges: offline (default) or a model's name.")
@click.option("--trials", type=click.IntRange(1, 1000), default=1, help="Attempts per case.")
@click.option("--concurrency", type=click.IntRange(1, 1000), default=20, help="Most calls at once.")
@click.option("--budget", metavar="TOKENS|$MONEY", help="Hard limit, of target and judge: 50000, or $2.50.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N cases.")
@candidates_option
@click.option("--seed", type=int, help="Sent with every call; trial k gets seed + k.")
@click.option("--param", "params", multiple=True, metavar="KEY=VALUE", help="Sent to the model (temperature=0).")
@click.option("--repo", type=click.Path(file_okay=False), help="Repository a retriever looks into.")
@click.option("--no-cache", is_flag=True, help="Ask again also what was asked before.")
@click.option(
    "--dataset-type", metavar="NAME", help="DATASET is a split file or a manifest: qa, summaries or your own."
)
@click.option("--log", type=PathOrUrl(dir_okay=False), help="Append every attempt to this JSONL file.")
@replay_options
@click.option("--resume", metavar="RUN", help="Go on with a run that ended early, or with one whose process died.")
@click.option("--retry-errors", is_flag=True, help="With --resume: send failed calls again.")
@click.option("--weighted", is_flag=True, help="Count each question once in the means, however many cases ask it.")
@click.option("--plan", is_flag=True, help="Only say what it would take and what it could show.")
@click.option("--fail-under", multiple=True, metavar="METRIC=VALUE", help="Exit code 1 when the mean is below.")
@coverage_option
@errors_option
@cluster_option
@report_verb
def run_command(workspace: Workspace, **options: Any) -> int:
    """Run DATASET (a name from `evergold datasets list`, NAME@VERSION, or a YAML file) against a model.

    Every attempt is on disk before the next begins: after a crash, --resume repeats no finished call.
    """
    _find_cases(workspace, options)
    if options["plan"]:
        plan = workspace.bench.plan(_read_spec(options), local=True, dataset_type=options["dataset_type"])
        print_result(plan, lambda: _print_plan(plan))
        return 0
    if (options["model"] or "").startswith(RETRIEVER) and "|" in options["model"]:
        return _run_baselines(workspace, options)
    _check_thresholds(workspace, options)
    return _print_run(workspace, _run(workspace, options), options)


def _print_plan(plan: Plan) -> None:
    from evergold.model.case import candidates_left_out

    echo(f"{plan.dataset} {plan.version}: {plan.cases} cases against {plan.model}")
    if plan.candidates_left_out:
        echo(f"           {candidates_left_out(plan.candidates_left_out)}")
    echo(f"  calls    {plan.calls} of the model, {plan.judge_calls} of the judge")
    echo(f"  tokens   about {plan.input_tokens:,} in, {plan.output_tokens:,} out ({_price(plan.cost)})")
    if plan.judge is not None:
        tokens = f"about {plan.judge_input_tokens:,} tokens in, {plan.judge_output_tokens:,} out"
        echo(f"  judging  {plan.judge}: {tokens} ({_price(plan.judge_cost)})")
    echo(f"  visible  {visible_text(plan)}")
    if plan.derived_tools:
        echo(f"  tools    derived from the expected calls for {plan.derived_tools} cases that offer none")
    echo(f"  assumes  {plan.assumes}")


def visible_text(plan: Plan) -> str:
    """Say which differences a run of this plan could show."""
    effect = plan.smallest_visible_effect
    return "no difference (too few cases)" if effect is None else f"differences of {effect:.3f} up"


def _run(workspace: Workspace, options: dict[str, Any]) -> Run:
    with workspace.bench.workers(options["cluster"]) as workers:
        if options["resume"]:
            from evergold.model.run import parse_budget

            budgets: dict[str, Any] = parse_budget(options["budget"])
            run = workspace.bench.resume(options["resume"], retry_errors=options["retry_errors"], **budgets)
        else:
            run = workspace.bench.run_here(_read_spec(options), dataset_type=options["dataset_type"])
        # The bar is drawn by a thread that reads the store; the run itself knows nothing of a terminal.
        with _follow_run(workspace, run):
            ended = workspace.bench.work_on(run.id, workers)
    if options["log"]:
        workspace.bench.results.append_log(ended.id, options["log"])
    return ended


def _run_baselines(workspace: Workspace, options: dict[str, Any]) -> int:
    """Run several retrievers on the same cases, and compare each with the first."""
    from evergold.cli.runs import print_comparisons

    if options["fail_under"] or options["resume"]:
        raise BadInput("--fail-under and --resume go with one model; name a single retriever")
    names = list(dict.fromkeys(name for name in options["model"].removeprefix(RETRIEVER).split("|") if name))
    runs: list[Run] = []
    for name in names:
        runs.append(_run(workspace, options | {"model": f"{RETRIEVER}{name}"}))
        if runs[-1].error:
            raise BadInput(runs[-1].error)
    means = [workspace.bench.results.means(run) for run in runs]
    compared = [workspace.bench.results.compare(runs[0].id, run.id) for run in runs[1:]]
    sides = [{"run": run, "means": figures} for run, figures in zip(runs, means, strict=True)]
    if not answer_in_json({"runs": sides, "comparisons": compared}):
        rows = [(same[0].metric, *same) for same in zip(*means, strict=True)]
        table(f"retrievers on {options['dataset']}", ("metric", *names), rows)
        if compared:
            print_comparisons(workspace, compared)
    return int(any(run.status != "completed" for run in runs))


def _find_cases(workspace: Workspace, options: dict[str, Any]) -> None:
    """Extract the newest cases of a repository's history where a retriever is tried and no cases are at hand."""
    asked = options["dataset"] == CONTEXT and options["repo"] and (options["model"] or "").startswith(RETRIEVER)
    if not asked or workspace.cases.ids(CONTEXT):
        return
    with progress("commits", None) as advance:
        result = workspace.flows.fill_from_history(Path(options["repo"]), CASES_OF_HISTORY, advance)
    echo(
        f"dataset {CONTEXT!r} was empty: {result} cases were extracted from the newest commits of {options['repo']} "
        "(evergold extract git --into-store takes all)",
        err=True,
    )


def _read_spec(options: dict[str, Any]) -> RunSpec:
    from evergold.model.run import RunSpec

    return RunSpec.from_options({**options, "params": dict(_parse_param(text) for text in options["params"])})


def _parse_param(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise BadInput(f"--param {text!r} is not KEY=VALUE, for example temperature=0")
    try:
        # `temperature=0` is a number, `model=gpt` a text: what is JSON is taken as such.
        return key, orjson.loads(value)
    except orjson.JSONDecodeError:
        return key, value


def _parse_thresholds(texts: tuple[str, ...]) -> dict[str, float]:
    results = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            least = float(value)
        except ValueError:
            least = math.nan
        # Nothing is below NaN: a gate with it would always pass.
        if not name or not math.isfinite(least):
            raise BadInput(f"--fail-under {text!r} is not METRIC=VALUE, for example correctness=0.8")
        results[name] = least
    return results


def _check_thresholds(workspace: Workspace, options: dict[str, Any]) -> None:
    """Refuse a threshold that cannot be met or read before anything is called."""
    thresholds = _parse_thresholds(options["fail_under"])
    names = workspace.bench.metric_names(_read_spec(options)) if thresholds and options["metrics"] else []
    for name in thresholds:
        if names and name not in names:
            raise BadInput(f"--fail-under {name}: the run has no such metric; it has {', '.join(names)}")


@contextmanager
def _follow_run(workspace: Workspace, run: Run) -> Iterator[None]:
    """Draw a bar for people: calls and scores, from what is already stored."""
    ended = threading.Event()
    # Each attempt is counted twice: when it is answered and when it is scored.
    with progress(f"{run.spec.model} on {run.spec.dataset}", run.total * 2) as advance:

        def follow() -> None:
            shown = 0
            while not ended.wait(0.2):
                now = workspace.bench.get(run.id)
                reached = now.done + now.scored
                advance(reached - shown)
                shown = reached

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        except KeyboardInterrupt:
            echo(f"{run.id}: what was answered is kept; evergold run --resume {run.id} goes on", err=True)
            raise
        finally:
            ended.set()
            follower.join()


def _price(cost: float | None) -> str:
    return "unknown price" if cost is None else f"about ${cost:.4f}"


def _print_run(workspace: Workspace, run: Run, options: dict[str, Any]) -> int:
    from evergold.model.case import candidates_left_out
    from evergold.model.report import COULD_NOT_RUN, INCONCLUSIVE, decide_minimum

    thresholds = _parse_thresholds(options["fail_under"])
    left_out = options["errors"] == "exclude"
    means = workspace.bench.results.means(run, weighted=options["weighted"] or None, exclude_errors=left_out)
    gate = decide_minimum(means, thresholds, options["min_coverage"])
    code, passes_nothing = gate.code, bool(thresholds) and left_out and gate.code == 0
    # Every call failed: the target is wrong, not its answers.
    if run.done and run.failed == run.done:
        code = COULD_NOT_RUN
    elif run.status != "completed":
        code = gate.code or INCONCLUSIVE
    elif passes_nothing:
        code = INCONCLUSIVE
    trials = workspace.bench.results.trials(run)
    if not answer_in_json({"run": run, "means": means, "trials": trials, "exit_code": code, **gate.as_dict()}):
        table(f"{run.id}: {run.spec.model} on {run.spec.dataset}", ("metric", "mean"), [(m.metric, m) for m in means])
        echo(summary_line(run, workspace.bench.results.count_cached(run.id)))
        if waiting := run.provenance.get("candidates_left_out"):
            echo(candidates_left_out(waiting), err=True)
        for reason in gate.reasons:
            echo(reason, err=True)
        for problem in workspace.bench.results.problems_of(run, means):
            echo(problem, err=True)
    # A threshold that could not be decided neither opens nor closes an alert.
    if thresholds and gate.code in (0, 1):
        known = {mean.metric: mean.value for mean in means}
        why = ", ".join(f"{name} {known[name]:.3f} of at least {least:g}" for name, least in thresholds.items())
        workspace.alerts.gate(run.spec.dataset, run.spec.model, passed=not gate.code, why=f"{why} in {run.id}")
    if run.error:
        echo(f"evergold: {run.error}", err=True)
    if passes_nothing:
        echo("errors are left out; a run without them passes no --fail-under", err=True)
    return code


def summary_line(run: Run, from_cache: tuple[int, int] = (0, 0)) -> str:
    """`run_… completed: 40 of 40 attempts, 2 failed, 1,234 tokens, 12 from the cache`; `from_cache`: answers, and judge's."""
    cached, judgements = from_cache
    tokens, judged = (usage.input_tokens + usage.output_tokens for usage in (run.usage, run.judge_usage))
    money, bill = ("" if spent.cost is None else f" (${spent.cost:.4f})" for spent in (run.usage, run.judge_usage))
    parts = [f"{run.id} {run.status}: {run.done} of {run.total} attempts", f"{run.failed} failed"]
    parts.append(f"{tokens:,} tokens{money}")
    parts += [f"{cached} from the cache"] if cached else []
    parts += [f"{judged:,} tokens of the judge{bill}"] if judged else []
    if judgements:
        parts.append(f"{judgements:,} judge {'reply' if judgements == 1 else 'replies'} from the cache")
    who = run.provenance.get("judge")
    itself = " (the model under test)" if run.provenance.get("self_judged") else ""
    return ", ".join(parts) + (f"; judged by {who}{itself}" if who else "")
