"""The factories of the built-in checks, as `pyproject.toml` names them: each takes the settings and returns a check."""

from evergold import plugins
from evergold.checks.answered import Answered
from evergold.checks.builtin import Finished, Grounded, LanguageMatch, NoSecret, ToolOk, ValidJson
from evergold.checks.signals import NotGivenUp, NotHandedOver, NotRepeated, Substance
from evergold.settings import Settings


def make_answered(settings: Settings) -> Answered:
    return Answered(settings.curation_fallback_texts)


def make_finished(settings: Settings) -> Finished:
    return Finished()


def make_grounded(settings: Settings) -> Grounded:
    return Grounded()


def make_language_match(settings: Settings) -> LanguageMatch:
    return LanguageMatch()


def make_no_secret(settings: Settings) -> NoSecret:
    name = settings.redact_redactor or "default"
    return NoSecret(plugins.load("redactors", name))


def make_not_given_up(settings: Settings) -> NotGivenUp:
    return NotGivenUp()


def make_not_handed_over(settings: Settings) -> NotHandedOver:
    return NotHandedOver()


def make_not_repeated(settings: Settings) -> NotRepeated:
    return NotRepeated()


def make_substance(settings: Settings) -> Substance:
    return Substance()


def make_tool_ok(settings: Settings) -> ToolOk:
    return ToolOk()


def make_valid_json(settings: Settings) -> ValidJson:
    return ValidJson()
