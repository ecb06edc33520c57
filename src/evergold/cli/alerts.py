"""`evergold alerts`: what fires, and whether a message arrives."""

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.model.alert import Alert, DeliveryStatus


@click.group()
def command() -> None:
    """List alerts and test where they go. A server looks at the rules of the setting `alerts.rules` while it runs."""


@command.command("list")
@click.option("--firing", is_flag=True, help="Only those that fire now.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="How many at most.")
@json_flag
@click.pass_context
def list_command(ctx: click.Context, firing: bool, limit: int, as_json: bool) -> None:
    """List alerts, those that fire first, with how far their notification is."""
    with opened(ctx) as workspace:
        state = workspace.alerts.state(firing_only=firing, limit=limit)
    if as_json:
        emit_json(state)
        return
    rows = [
        (alert.id, "firing" if alert.firing else "over", alert.rule, _when(alert), _notified(alert), alert.text)
        for alert in state.alerts
    ]
    table(f"{len(rows)} alerts", ("alert", "state", "rule", "since", "notified", "what"), rows)
    if state.hint:
        echo(state.hint, err=True)


@command.command("test")
@json_flag
@click.pass_context
def test_command(ctx: click.Context, as_json: bool) -> int:
    """Read every rule now, and send one test message to the webhook. Exit code 1: it did not arrive."""
    with opened(ctx) as workspace:
        tested = workspace.alerts.test()
    if as_json:
        emit_json(tested)
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


def _when(alert: Alert) -> str:
    return alert.opened_at[:16].replace("T", " ")


def _notified(alert: Alert) -> str:
    if not alert.deliveries:
        return "log only"
    last = alert.deliveries[0]
    if last.status is DeliveryStatus.SENT:
        return f"{last.event.value} sent"
    tries = f"{last.tries} {'try' if last.tries == 1 else 'tries'}"
    return (
        f"{last.event.value} {last.status.value.replace('_', ' ')} ({tries}{': ' + last.error if last.error else ''})"
    )
