"""`evergold replay-set`: cases that can be replayed, frozen as an agent benchmark."""

from typing import Any

import click

from evergold.cli.build import filters_of
from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag
from evergold.workspace.replays import ReplaySet


@click.command()
@click.argument("dataset")
@click.option("--out", required=True, metavar="NAME[@VERSION]", help="The dataset to freeze, as in agents@v1.")
@click.option(
    "--filter", "filters", metavar="FIELD=VALUE", multiple=True, help="Only cases with this; tag=tool:* is a pattern."
)
@click.option("--model", metavar="NAME", help="Estimate the price for this model.")
@json_flag
@click.pass_context
def command(ctx: click.Context, /, dataset: str, out: str, model: str | None, as_json: bool, **flags: Any) -> None:
    """Freeze the cases of DATASET that can be replayed, say which cannot and why, and estimate power and cost."""
    with opened(ctx) as workspace:
        result = workspace.replays.freeze_set(dataset, out, filters_of(flags["filters"]), model=model or "recorded")
    if as_json:
        emit_json(result)
    else:
        _show(result, model)


def _show(result: ReplaySet, model: str | None) -> None:
    plan = result.plan
    echo(f"{result.dataset}@{result.version}: {result.cases} cases can be replayed")
    for reason, count in result.left_out.items():
        echo(f"  left out {count}: {reason}")
    for case_id, reasons in list(result.cases_left_out.items())[:5]:
        echo(f"    {case_id}: {'; '.join(reasons)}", err=True)
    if result.with_calls < result.cases:
        kept = "--filter tag=tool:* keeps such cases"
        echo(f"  calls    {result.with_calls} of them have tool calls, which `trajectory` measures; {kept}")
    effect = plan.smallest_visible_effect
    tokens = f"about {plan.input_tokens:,} tokens in, {plan.output_tokens:,} out"
    echo(f"  a run    {result.requests} requests, {tokens} ({_price(plan.cost, model)})")
    echo(f"  visible  {'no difference (too few cases)' if effect is None else f'differences of {effect:.3f} up'}")
    name = model or "openai/gpt-4o"
    echo(f"next: evergold run {result.dataset}@{result.version} --model {name} --replay --metric trajectory")


def _price(cost: float | None, model: str | None) -> str:
    if model is None:
        return "--model NAME gives the price"
    return f"no price is known for {model}" if cost is None else f"about ${cost:.4f} with {model}"
