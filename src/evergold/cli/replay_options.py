"""Options of `evergold run --replay`, and the rules that they make."""

from collections.abc import Callable
from typing import Any

import click

from evergold.errors import BadInput
from evergold.model.replay import OnUnrecorded, Replay, Turns

_OPTIONS = (
    click.option(
        "--replay", is_flag=True, help="Play the recorded conversation again; its tools answer from the record."
    ),
    click.option(
        "--turns",
        type=click.Choice([turns.value for turns in Turns]),
        help="With --replay: the last turn (default), each turn with the true history, all user turns in order, or a "
        "simulated user.",
    ),
    click.option(
        "--on-unrecorded",
        type=click.Choice([way.value for way in OnUnrecorded]),
        help="With --replay: what a call that was never recorded gets.  [default: stop]",
    ),
    click.option("--max-steps", type=click.IntRange(1, 1000), help="With --replay: per trajectory.  [default: 50]"),
    click.option(
        "--max-turns",
        type=click.IntRange(1, 1000),
        help="With --turns simulated: messages of the user.  [default: 20]",
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


def replay_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a replay to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def replay_of(options: dict[str, Any]) -> Replay | None:
    """The replay that the options ask for; None without --replay."""
    given = {name: options[name] for name in Replay.model_fields if options[name] is not None}
    if not options["replay"]:
        if given:
            name = next(iter(given)).replace("_", "-")
            raise BadInput(f"--{name} says how to replay; add --replay")
        return None
    return Replay.model_validate(given)
