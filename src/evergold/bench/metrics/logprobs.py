"""A grade as a mean over what the judge nearly said.

A judge that says 8 with probability 0.55 and 7 with 0.45 means 7.55; taking the sampled token throws that away. The
grade's token is found by its position in the JSON text, because digits also stand in the reason before it.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

# Alternatives below one per cent are noise of the tokenizer and shift a mean more than they mean.
LEAST_PROBABILITY = 0.01
DIGITS = 9  # of a grade; Python refuses to read thousands of them


def weighted_score(text: str, tokens: Sequence[dict[str, Any]], top: int, key: str = "score") -> float | None:
    """Σ value·p / Σ p over the whole numbers from 0 to `top` among the alternatives of the grade's token.

    None where that cannot be done: no log-probabilities, or a grade that is not exactly one token.
    """
    position = value_position(text, key)
    # The tokens must spell the text exactly; else positions in one say nothing about the other.
    if position is None or "".join(token["token"] for token in tokens) != text:
        return None
    start, end = position
    at = 0
    for token in tokens:
        stop = at + len(token["token"])
        if at <= start < stop:
            # A grade of 10 is two tokens for some models: its alternatives cannot be read from one of them.
            whole = token["token"].strip() == text[start:end] and stop >= end
            return _mean(token["top"], top) if whole else None
        at = stop
    return None


def _mean(alternatives: Sequence[Sequence[Any]], top: int) -> float | None:
    mass = total = 0.0
    for word, logprob in alternatives:
        plain, p = word.strip(), math.exp(logprob)
        if (
            plain.isascii()
            and plain.isdigit()
            and len(plain) <= DIGITS
            and int(plain) <= top
            and p >= LEAST_PROBABILITY
        ):
            mass += p
            total += p * int(plain)
    return total / mass if mass else None


def value_position(text: str, key: str) -> tuple[int, int] | None:
    """Where the value of a top-level key starts and ends in a JSON object's text."""
    decoder = json.JSONDecoder()
    at = text.find("{") + 1
    try:
        while at:
            at = _skip(text, at, " \t\r\n,")
            name, at = decoder.raw_decode(text, at)
            start = _skip(text, at, " \t\r\n:")
            _, at = decoder.raw_decode(text, start)
            if name == key:
                return start, at
    except (ValueError, IndexError):
        return None
    return None


def _skip(text: str, at: int, these: str) -> int:
    while text[at] in these:
        at += 1
    return at
