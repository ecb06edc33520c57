"""Cues of remarks: words and turns of phrase in English and Spanish, read from `phrases/`, one file a language.

A cue says only that some words are there; what they weigh is fitted. A further language is a further file.
"""

import re
import tomllib
from collections import defaultdict
from functools import cache
from importlib.resources import files

LANGUAGES = ("english", "spanish")
# What follows one of these, up to the end of the clause, is not said of the answer ("if that is wrong, tell me").
_SUPPOSED = re.compile(
    r"\b(?:if|whether|in case|unless|suppose|por si|si (?:algo|esta|hay|es|lo|la|te|entre))\b[^,.;!?\n]*"
)


def cues_in(text: str) -> dict[str, str]:
    """Find the cues of a folded text, each with the words that are it."""
    # A supposition ("if that is wrong") is no statement about the answer.
    certain = _SUPPOSED.sub(" ", text)
    spoken = _compiled()["harmless"].sub(" ", certain)
    cues = {}
    for name, pattern in _compiled().items():
        # Cues of whole situations need the text as it is, harmless and supposed parts included.
        match = pattern.search(text if name in ("harmless", "condition", "gives_up") else spoken)
        if match is not None and match[0].strip():
            cues[name] = match[0].strip(" ,.!")
    return cues


def cue_names() -> tuple[str, ...]:
    """Name every cue, in the order of the files."""
    return tuple(_compiled())


@cache
def _compiled() -> dict[str, re.Pattern[str]]:
    gathered: dict[str, list[str]] = defaultdict(list)
    for language in LANGUAGES:
        table = tomllib.loads(files("evergold.curate").joinpath("phrases", f"{language}.toml").read_text("utf-8"))
        for name, patterns in table["cues"].items():
            gathered[name] += [_filled(pattern, table["words"]) for pattern in patterns]
    return {name: re.compile("|".join(f"(?:{one})" for one in patterns)) for name, patterns in gathered.items()}


def _filled(pattern: str, words: dict[str, str]) -> str:
    for name, group in words.items():
        pattern = pattern.replace("{" + name + "}", group)
    return pattern
