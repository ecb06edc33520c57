"""The factories of the built-in checks, as `pyproject.toml` names them: each takes the settings and returns a check."""

from collections.abc import Callable
from typing import TypeVar

from evergold import plugins
from evergold.checks.answered import Answered
from evergold.checks.builtin import Finished, Grounded, LanguageMatch, NoSecret, ToolOk, ValidJson
from evergold.checks.signals import NotGivenUp, NotHandedOver, NotRepeated, Substance
from evergold.settings import Settings

T = TypeVar("T")


def _without_settings(make: Callable[[], T]) -> Callable[[Settings], T]:
    """Make a factory of a check that no setting concerns."""
    return lambda settings: make()


def make_answered(settings: Settings) -> Answered:
    return Answered(settings.curation_fallback_texts)


def make_no_secret(settings: Settings) -> NoSecret:
    return NoSecret(plugins.load("redactors", settings.redact_redactor or "default"))


make_finished = _without_settings(Finished)
make_grounded = _without_settings(Grounded)
make_language_match = _without_settings(LanguageMatch)
make_not_given_up = _without_settings(NotGivenUp)
make_not_handed_over = _without_settings(NotHandedOver)
make_not_repeated = _without_settings(NotRepeated)
make_substance = _without_settings(Substance)
make_tool_ok = _without_settings(ToolOk)
make_valid_json = _without_settings(ValidJson)
