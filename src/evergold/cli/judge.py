"""`evergold judge`: how far a judge can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evergold.cli.options import A_PATH, combine_options, json_flag, report_verb
from evergold.cli.output import answer_in_json, echo, print_result, table
from evergold.errors import BadInput
from evergold.workspace import Workspace

if TYPE_CHECKING:
    from evergold.bench.calibrate import Label
    from evergold.model.judge import Calibration


@click.group()
def judge_command() -> None:
    """Try a judge, or calibrate it against human labels."""


label_options = combine_options(
    click.option("--labels", type=A_PATH, help="JSONL: input, output, expected, contexts, label (0 to 1)."),
    click.option("--from-review", metavar="DATASET", help="People's verdicts on a stored dataset instead of a file."),
    click.option("--metric", default="correctness", help="What a judge is asked."),
    click.option("--passing", type=click.FloatRange(0, 1), default=0.5, help="From here it is a pass."),
)


@judge_command.command("calibrate")
@click.argument("name", required=False)
@click.option("--judge", metavar="NAME", help="offline, openai/gpt-4o, panel:openai/a,offline, …")
@label_options
@report_verb
def calibrate_judge(workspace: Workspace, **options: Any) -> None:
    """Measure JUDGE against people: agreement, kappa, false passes and false fails, with 95 % intervals.

    `evergold judge calibrate offline` without labels prints the offline judge's agreement on public data.
    """
    judge = options["judge"] or options["name"]
    if judge is None:
        raise BadInput("which judge? for example: evergold judge calibrate --judge offline --labels labels.jsonl")
    if options["labels"] is None and options["from_review"] is None:
        # Shipped figures exist for the offline judge alone.
        if judge != "offline":
            raise BadInput(f"calibrating {judge!r} needs --labels FILE or --from-review DATASET")
        _print_shipped()
        return
    labels = _read_labels(workspace, options)
    result = workspace.judging.calibrate(judge, options["metric"], labels, options["passing"])
    print_result(result, lambda: _print_calibration(result))


@judge_command.command("try")
@click.option("--metric", required=True, type=click.Choice(["correctness", "faithfulness", "answer_relevancy"]))
@click.option("--question", default="", show_default=False, help="What was asked.")
@click.option("--answer", required=True, help="The answer to judge.")
@click.option("--reference", default="", show_default=False, help="The right answer, for correctness.")
@click.option(
    "--context", "contexts", multiple=True, help="A passage the answer rests on, for faithfulness; repeatable."
)
@json_flag
def try_judge(metric: str, question: str, answer: str, reference: str, contexts: tuple[str, ...]) -> None:
    """Judge one answer offline and show each claim with its verdict, probability and evidence."""
    from evergold.workspace.judges import is_uncertain, try_offline

    result = try_offline(metric, question, answer, reference, contexts)
    if answer_in_json(result):
        return
    value = "unscored" if result["value"] is None else f"{result['value']:.2f}"
    outside = "; outside the measured languages, by words alone" if result["outside"] else ""
    rows = [
        (
            each["verdict"],
            f"{each['p']:.2f}{' (uncertain)' * is_uncertain(metric, each['p'])}",
            each["text"],
            each["evidence"],
        )
        for each in result["claims"]
    ]
    # A table of output that is piped has no title, so the value stands on a line of its own.
    echo(f"{metric} {value} ({result['verdict']}{outside}), by {result['version']}")
    table("claims", ("verdict", "p", "claim", "evidence"), rows)
    for reason in [claim["reason"] for claim in result["claims"] if "reason" in claim]:
        echo(reason)


@judge_command.command("compare")
@click.argument("first")
@click.argument("second")
@label_options
@report_verb
def compare_judges(workspace: Workspace, first: str, second: str, **options: Any) -> None:
    """Measure two judges on the same labels and say which one to use, with intervals."""
    if options["labels"] is None and options["from_review"] is None:
        raise BadInput("comparing judges needs --labels FILE or --from-review DATASET")
    labels = _read_labels(workspace, options)
    result = workspace.judging.compare(first, second, options["metric"], labels, options["passing"])
    if answer_in_json(result):
        return
    for calibration in (result.first, result.second):
        _print_calibration(calibration)
    if result.difference is not None:
        bounds = "" if result.low is None else f" ({result.low:+.3f} … {result.high:+.3f})"
        echo(f"agreement with people, second minus first: {result.difference:+.3f}{bounds}, n={result.n}")
    echo(result.advice)


def _read_labels(workspace: Workspace, options: dict[str, Any]) -> list[Label]:
    """Read the labels of a file, or else those that review gave."""
    if options["labels"] is not None:
        return workspace.judging.labels_from_file(options["labels"])
    return workspace.judging.labels_from_review(options["from_review"])


def _print_calibration(result: Calibration) -> None:
    names = ("agreement", "kappa", "spearman", "false_pass", "false_fail")
    rows = []
    for name in names:
        figure = getattr(result, name)
        cells = ("–", "not defined on these labels", "0")
        if figure is not None:
            bounds = "–" if figure.low is None else f"{figure.low:.3f} … {figure.high:.3f}"
            cells = (f"{figure.value:.3f}", bounds, str(figure.n))
        rows.append((name.replace("_", " "), *cells))
    table(f"{result.judge} on {result.metric}: {result.labels} labels", ("", "value", "95 % interval", "n"), rows)
    if result.missing:
        echo(f"not calibrated yet: {result.missing}", err=True)
    for reason, count in result.unscored.items():
        echo(f"{count} unscored: {reason}", err=True)


def _print_shipped() -> None:
    from evergold.workspace.judges import offline_figures

    shipped = offline_figures()
    if answer_in_json(shipped):
        return
    for basis, figures in shipped["figures"].items():
        rows = [
            (name, f"{result['value']:.3f}", f"{result['low']:.3f} … {result['high']:.3f}", result["n"])
            for name, result in figures.items()
        ]
        title = "words alone" if basis == "lexical" else "with its model"
        table(
            f"offline judge, {title} (measured {shipped['measured'][basis]})",
            ("against people", "value", "95 % interval", "n"),
            rows,
        )
