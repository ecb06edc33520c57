"""Secrets that are known by their own shape: tokens with a prefix, web tokens, private keys, logins in URLs, headers.

Every pattern is RE2's: no search takes longer than the text is long. A match is taken to the end of its run, so a search that
goes on behind it never reads the same characters again. What RE2 cannot state (nothing but an escape before it, digits
somewhere in it) is asked of the match afterwards.

The patterns are safe on a text that is itself JSON: they match no quote and no backslash, and a match may begin right after an
escape such as `\\n`, so the document stays readable.
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.placeholders import is_placeholder
from evergold.redact.spans import PrivateSpan

SECRET = "SECRET"
ESCAPES = b"nrtbfu"
WORD_START = rb"(?:\b|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
JSON_WEB_TOKEN = byte_pattern(
    WORD_START + rb"(eyJ[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]{8,}){0,2})"
)
BEARER = byte_pattern(rb"(?i)bearer\s{1,8}([A-Za-z0-9._~+/-]{16,}=*)")
BASIC = byte_pattern(rb"(?i)authorization\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?basic\s{1,8}([A-Za-z0-9+/]{8,}=*)")
URL_LOGIN = byte_pattern(rb"://[^\s/:@\"'\\]{0,64}:([^\s/@\"'\\]{1,128})@")
KEY_BEGIN = byte_pattern(rb"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
KEY_END = byte_pattern(rb"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
KEY_BODY = byte_pattern(rb"(?:[A-Za-z0-9+/=\s\\:,.]|-)*")
CUT_OFF_KEY = byte_pattern(rb"(?:(?:\\{1,4}[nr]|\s)*[A-Za-z0-9+/=]{24,})+(?:(?:\\{1,4}n|\n)[A-Za-z0-9+/=]+)?")
DASHES = b"-----"
DIGITS = b"0123456789"


@cache
def token_rules() -> dict[str, dict[str, Any]]:
    """Read the rules of tokens with a prefix, by name."""
    rules = tomllib.loads(files("evergold.redact").joinpath("secret_rules.toml").read_text(encoding="utf-8"))
    return {**rules["own"], **rules["gitleaks"]}


def _tokens() -> tuple[Any, list[int]]:
    """Join the rules into one pattern with a group for the token and one for each rule that asks for digits."""
    # Rules with groups come first, so that group numbers match `FEWEST_DIGITS`; the others have no group of their own.
    rules = sorted(token_rules().values(), key=lambda rule: rule.get("digits", 0), reverse=True)
    parts = [f"({rule['pattern']})" if rule.get("digits") else rule["pattern"] for rule in rules]
    fewest = [rule["digits"] for rule in rules if rule.get("digits")]
    return byte_pattern(WORD_START + b"(" + "|".join(parts).encode("ascii") + b")"), fewest


TOKENS, FEWEST_DIGITS = _tokens()
SHAPES = (TOKENS, JSON_WEB_TOKEN, KEY_BEGIN)


def tokens_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find tokens that a prefix gives away, and JSON web tokens."""
    data = folded.data
    for _, (start, end), *asking in matches(TOKENS, data):
        asked = [digits for (at, _), digits in zip(asking, FEWEST_DIGITS, strict=True) if at >= 0]
        if (not asked or _digits(data[start:end]) >= max(asked)) and not is_in_escape(data, start):
            yield PrivateSpan(SECRET, start, end)
    # Every JSON web token begins with `{"` in base64. The search for bytes is far cheaper than the pattern.
    if b"eyJ" in data:
        for _, (start, end) in matches(JSON_WEB_TOKEN, data):
            yield PrivateSpan(SECRET, start, end)


def headers_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find what stands behind `Bearer` and `Authorization: Basic`."""
    for _, (start, end) in matches(BEARER, folded.data):
        # "bearer of responsibilities" is prose; tokens hold a digit.
        if _digits(folded.data[start:end]):
            yield PrivateSpan(SECRET, start, end)
    for _, (start, end) in matches(BASIC, folded.data):
        yield PrivateSpan(SECRET, start, end)


def logins_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find passwords in URLs such as `postgres://app:pa55@db`."""
    if b"://" in folded.data:
        for _, (start, end) in matches(URL_LOGIN, folded.data):
            if not is_placeholder(folded.data[start:end]):
                yield PrivateSpan(SECRET, start, end)


def private_keys_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find private keys in PEM armour, also one whose end was cut off."""
    data, done = folded.data, 0
    if b"PRIVATE KEY" not in data:
        return
    for ((start, body),) in matches(KEY_BEGIN, data):
        # A second BEGIN inside a key that was taken already belongs to it.
        if start < done:
            continue
        dashes = data.find(DASHES, body)
        end = KEY_END.match(data, dashes) if dashes >= 0 else None
        if end and KEY_BODY.fullmatch(data, body, dashes):
            done = end.end()
        elif cut := CUT_OFF_KEY.match(data, body, dashes if dashes >= 0 else len(data)):
            done = cut.end()
        else:
            continue
        yield PrivateSpan(SECRET, start, done)


def is_in_escape(data: bytes, start: int) -> bool:
    """Say whether the character at `start` may be the letter of an escape, as the n of `\\npm_`."""
    return data[start - 1 : start] == b"\\" and data[start] in ESCAPES and data[start - 2 : start - 1] != b"\\"


def _digits(data: bytes) -> int:
    return len(data) - len(data.translate(None, DIGITS))
