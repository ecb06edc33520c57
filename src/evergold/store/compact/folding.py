"""A text is stored once: an attribute that holds the input or output of its span keeps only what stands around it.

Instrumentation sends the question inside a list of messages, and the question is what we store as the span's input: written
twice, it would make up most of the database and of the time that intake takes. The text inside an attribute may be spelled
as JSON spells it, with or without escapes for what is not ASCII; which of these it was is kept, so that what was sent comes
back to the letter.
"""

import json
from collections.abc import Callable
from typing import Any

import orjson

SHORTEST = 64  # a shorter text is not worth the trouble
HEAD = 32  # characters by which a text is looked for
FOLDED = "around"
Around = tuple[str, str, str, str]  # which text, how it is spelled, what stands before it and what after


def _as_json(text: str) -> str:
    return orjson.dumps(text)[1:-1].decode()


def _as_ascii_json(text: str) -> str:
    return json.dumps(text)[1:-1]


SPELLINGS: dict[str, Callable[[str], str]] = {"plain": str, "json": _as_json, "ascii": _as_ascii_json}


def fold(raw: dict[str, Any], question: str | None, answer: str | None) -> list[tuple[str, str]]:
    """Take the texts that are stored beside what a span carried out of its attributes; returns its long attributes."""
    attributes = raw.get("attributes")
    if not isinstance(attributes, dict):
        return []
    long = [(name, value) for name, value in attributes.items() if type(value) is str and len(value) >= SHORTEST]
    around: dict[str, Around] = {}
    # The output first: what holds it, as a rule the longest of all, is then not searched for the input.
    for side, text in (("output", answer), ("input", question)) if long else ():
        if text is not None and len(text) >= SHORTEST:
            _find(text, side, long, around)
    if around:
        attributes.update(dict.fromkeys(around))
        raw[FOLDED] = around
    return long


def _find(text: str, side: str, long: list[tuple[str, str]], around: dict[str, Around]) -> None:
    """The attributes that hold the text, in the first spelling that any of them has: what stands before it and after.

    One of which a text is taken already is left alone.
    """
    before = len(around)
    for spelling, spell in SPELLINGS.items():
        spelled = spell(text)
        head, size = spelled[:HEAD], len(spelled)
        for name, value in long:
            if len(value) >= size and name not in around:
                # The head is found quickly; the whole text is compared only there.
                start = value.find(head)
                if start >= 0 and value.startswith(spelled, start):
                    around[name] = (side, spelling, value[:start], value[start + size :])
        if len(around) > before:
            return


def unfolded(raw: dict[str, Any], question: str | None, answer: str | None) -> dict[str, Any]:
    """What the span carried, as it came."""
    around = raw.pop(FOLDED, None)
    if around:
        texts = {"input": question or "", "output": answer or ""}
        for name, (side, spelling, before, after) in around.items():
            raw["attributes"][name] = f"{before}{SPELLINGS[spelling](texts[side])}{after}"
    return raw
