"""`evergold score-retrieval`: precision, recall and rank of what a retrieval found, against golden cases."""

from pathlib import Path
from typing import Any

import click

from evergold.cli.options import A_PATH, cluster_option, json_flag, open_without_database
from evergold.cli.output import echo, emit_json, table
from evergold.workspace.retrieval import Retrieval, ScoringQuery

PROBLEMS_SHOWN = 20
# Six figures fit a screen and answer whether a retrieval got better.
DECIDING = frozenset(
    {
        ("line", "macro precision"),
        ("line", "macro recall"),
        ("line", "macro f1"),
        ("file", "macro recall"),
        ("file", "mrr"),
        ("line", "noise rate"),
    }
)


@click.command()
@click.argument("golden", type=A_PATH)
@click.argument("predictions", type=A_PATH)
@click.argument("other", type=A_PATH, required=False)
@click.option(
    "--tier",
    type=click.Choice(["edited", "core", "all"]),
    default="edited",
    show_default=True,
    help="Which gold must be found.",
)
@click.option("--per-case", type=A_PATH, metavar="F", help="Write the scores of single cases (JSONL).")
@click.option(
    "--html",
    type=A_PATH,
    metavar="F",
    help="Write a report with the chart of recall against line budget.",
)
@click.option("--repo", type=A_PATH, help="Adds budgets in tokens, symbols, and ranges outside files.")
@click.option("--all", "every", is_flag=True, help="Show every figure; without it the six that decide.")
@click.option("--seed", default=0, show_default=True, help="Of the bootstrap draws.")
@cluster_option
@json_flag
@click.pass_context
def score_retrieval_command(
    ctx: click.Context, /, golden: Path, predictions: Path, other: Path | None, as_json: bool, **given: Any
) -> int:
    """Score PREDICTIONS against GOLDEN (a dataset A or B file); a second file of predictions is compared with the first.

    A prediction is {"caseId", "ranges": [{"path", "startLine", "endLine"}]} or {"caseId", "paths": [...]}, best first.
    """
    query = ScoringQuery(given["tier"], given["seed"], given["repo"])
    how = {name: given[name] for name in ("per_case", "html", "cluster")}
    with open_without_database(ctx) as workspace:
        figures = workspace.retrieval.score(golden, predictions, other, query, **how)
        if as_json:
            emit_json(figures)
        else:
            _print_figures(workspace.retrieval, figures, given["every"])
    return 0


def _print_figures(retrieval: Retrieval, figures: dict[str, Any], every: bool) -> None:
    counts_text = ", ".join(
        f"{figures[name]} {name.replace('_', ' ')}" for name in ("abstained", "missing", "not_applicable", "extra")
    )
    echo(f"{figures['n']} cases scored ({counts_text}, {len(figures['duplicates'])} duplicate)")
    rows = retrieval.rows(figures)
    shown = rows if every else [row for row in rows if row[:2] in DECIDING]
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
