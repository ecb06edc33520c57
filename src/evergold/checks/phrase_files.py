"""Phrase files: the clauses of answers that are none, one TOML file a language, compiled to one expression a set.

A further language is a further file in `phrases/`.
"""

import re
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from evergold.errors import BadInput

LANGUAGES = ("english", "spanish")


@dataclass(frozen=True)
class Phrases:
    """Compiled sets.

    `opening`, `courtesy` and `self_named` ("as an AI") are stripped; `technical` matches whole replies; `error`, `apology` and
    `filler` match whole clauses, `refusal` their beginning. `inability` matches the beginning of a clause after an apology or
    `self_named`, `excuse` whole clauses after an inability. Those of signals: `gives_up` matches whole clauses, the others are
    looked for in a whole message.
    """

    opening: re.Pattern[str]
    courtesy: re.Pattern[str]
    self_named: re.Pattern[str]
    refusal: re.Pattern[str]
    inability: re.Pattern[str]
    excuse: re.Pattern[str]
    apology: re.Pattern[str]
    technical: re.Pattern[str]
    error: re.Pattern[str]
    filler: re.Pattern[str]
    gives_up: re.Pattern[str]
    settled: re.Pattern[str]
    wants_person: re.Pattern[str]
    hands_over: re.Pattern[str]


@cache
def phrases() -> Phrases:
    """Compile the sets of all languages together."""
    gathered: dict[str, list[str]] = defaultdict(list)
    for language in LANGUAGES:
        for name, patterns in read(language).items():
            gathered[name] += patterns
    compiled = {name: re.compile("|".join(f"(?:{one})" for one in patterns)) for name, patterns in gathered.items()}
    return Phrases(**compiled)


def read(language: str) -> dict[str, list[str]]:
    """Read one language's file and put its words into its patterns."""
    path = files("evergold.checks").joinpath("phrases", f"{language}.toml")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"phrase file {language}.toml cannot be read as UTF-8 TOML: {problem}") from problem
    words: dict[str, str] = table.get("words", {})
    return {name: [_filled(pattern, words) for pattern in patterns] for name, patterns in table["sets"].items()}


def _filled(pattern: str, words: dict[str, str]) -> str:
    for name, group in words.items():
        pattern = pattern.replace("{" + name + "}", group)
    return pattern
