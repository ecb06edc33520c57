"""Redaction takes time linear in the text: looked for on repeated fragments of every pattern.

The time of four times the text is compared with that of the text, in CPU time and with a generous factor; what looks worse is
measured again, so that a busy machine is no failure. The fragments are derived from the patterns: their literals, their parts,
and examples that nearly match.
"""

import re
import time
from re import _parser
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.redact import default as ip_addresses
from evergold.redact import emails, identity, secrets
from evergold.redact import emails as disguised
from evergold.redact import phones as phone_words
from evergold.redact import secrets as assigned
from evergold.redact.default import DefaultRedactor
from tests.rows import each_row

PIECES = (
    *(
        "a@",
        "sk-",
        "eyJ-",
        "a@b.c ",
        "a@b.cc,",
        "12345678,",
        "12345678 ",
        "+34 612 345 678 ",
        "4111 1111 1111 1111 ",
        "1.1",
    ),
    *(
        "password=",
        "password is a1 ",
        "-----",
        "git@github.com:a/b ",
        "://a:b@",
        "bearer ",
        "cookie: a=b; ",
        'secret="',
        "\\",
    ),
    *(
        "\\u00e9@",
        "\\\\u00e9@a.de ",
        "a at b dot com ",
        "a [at] ",
        "&#64;a.com",
        "a%40b.com ",
        "密码：abc12345",
        "用户@例子.公司 ",
    ),
    *(
        "tel 12345678 ",
        "0171/1234567 ",
        "(030) 123",
        "GB82",
        "id 4111111111111111 ",
        "9",
        "1-",
        "(1",
        "+1",
        "pin: 1234 ",
    ),
    *(
        "key=aaaaaaaaaaaaaaaaaaaa1",
        "a.",
        '"a"@b.co ',
        "@a.1",
        "eyJhbGciOiJIUzI1NiJ9-ghp_aaaaaaaaaaaaaaaaaaaa-",
        "1.1.1.1 ",
        "::",
    ),
    *("DNI 12345678Z ", "DE89 3704 0044 0532 0130 00 ", "é", "😀", "\u00a0", "１２"),
)
SIZE, FACTOR, TRIES = 8_000, 9.0, 4
REDACT = DefaultRedactor(ip_addresses=True).redact


def fragments() -> list[str]:
    """Examples of every pattern: one whole, one without its last character, one doubled at each repeat."""
    found = dict.fromkeys(PIECES)
    modules = (assigned, disguised, emails, identity, ip_addresses, phone_words, secrets)
    patterns = [value for module in modules for value in vars(module).values() if type(value).__name__ == "_Regexp"]
    texts = [pattern.pattern for pattern in patterns if len(pattern.pattern) < 20_000]
    texts += [rule["pattern"].encode() for rule in secrets.token_rules().values()]
    for text in texts:
        for example in _examples(text.decode("latin-1").replace(r"\z", r"\Z")):
            found.setdefault(example)
            found.setdefault(example[:-1] or example)
    return [fragment for fragment in found if fragment]


def _examples(pattern: str) -> list[str]:
    try:
        tree = _parser.parse(re.sub(r"\(\?i\)", "", pattern))
    except re.error:
        return []
    return ["".join(_walk(tree, repeats)) for repeats in (0, 1)]


def _walk(tree: Any, extra: int) -> list[str]:
    """Write one text that a parse tree matches: the first of every choice, the fewest of every repeat and `extra`."""
    parts: list[str] = []
    for operation, argument in tree:
        name = str(operation)
        if name == "LITERAL":
            parts.append(chr(argument))
        elif name in ("NOT_LITERAL", "ANY"):
            parts.append("a")
        elif name == "IN":
            parts.append(_member(argument))
        elif name == "BRANCH":
            parts += _walk(argument[1][-1 if extra else 0], extra)
        elif name == "SUBPATTERN":
            parts += _walk(argument[3], extra)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            parts += _walk(argument[2], extra) * min(argument[0] + extra, 40)
    return parts


def _member(choices: list[tuple[object, Any]]) -> str:
    for operation, argument in choices:
        if str(operation) == "LITERAL":
            return chr(argument)
        if str(operation) == "RANGE":
            return chr(argument[0])
        if str(operation) == "CATEGORY":
            return {"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " "}.get(str(argument), "a")
    return "a"


def cpu(text: str) -> float:
    before = time.process_time()
    REDACT(text)
    return time.process_time() - before


def grows_faster_than_linear(fragment: str) -> bool:
    """Four times the text takes four times as long; sixteen times would be quadratic."""
    for _ in range(TRIES):
        small, large = cpu(repeated(fragment, SIZE)), cpu(repeated(fragment, 4 * SIZE))
        if large < 0.02 or large <= FACTOR * small:
            return False
    return True


def repeated(fragment: str, size: int) -> str:
    return (fragment * (size // len(fragment) + 1))[:size]


FRAGMENTS = fragments()


def test_no_pattern_takes_longer_than_linear_on_its_own_pieces() -> None:
    assert len(FRAGMENTS) > 100
    assert [fragment for fragment in FRAGMENTS if grows_faster_than_linear(fragment)] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), min_size=1, max_size=4).map("".join).filter(bool))
def test_no_mixture_of_pieces_takes_longer_than_linear(fragment: str) -> None:
    assert not grows_faster_than_linear(fragment)


@each_row("fragment", ["a@", "sk-", "eyJ-", "-----BEGIN PRIVATE KEY-----", "git@github.com:a/b.git\n"])
def test_what_was_quadratic_before(fragment: str) -> None:
    assert cpu(repeated(fragment, 100_000)) < 5.0


def test_fragments_come_from_the_patterns() -> None:
    joined = " ".join(FRAGMENTS)
    for head in ("password", "ghp_", "bearer", "://", "@"):
        assert re.search(head, joined, re.IGNORECASE), head
