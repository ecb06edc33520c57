"""A megabyte of each fragment of every redaction pattern: CPU seconds, which may not exceed one, and growth from a quarter.

The fragments are derived from the patterns: their literals, their parts, and examples that nearly match.
"""

import argparse
import re
import time
from re import _parser
from typing import Any

from evergold.redact import assigned, disguised, emails, identity, ip_addresses, phone_words, secrets
from evergold.redact.default import DefaultRedactor

MEGABYTE = 1_000_000
LIMIT = 1.0
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shown", type=int, default=15, help="how many of the slowest are printed")
    options = parser.parse_args()
    redact = DefaultRedactor(ip_addresses=True).redact
    rows = []
    for fragment in fragments():
        times = []
        for size in (MEGABYTE // 4, MEGABYTE):
            text = (fragment * (size // len(fragment) + 1))[:size]
            before = time.process_time()
            redact(text)
            times.append(time.process_time() - before)
        rows.append((times[1], times[1] / times[0], fragment))
    rows.sort(reverse=True)
    for seconds, growth, fragment in rows[: options.shown]:
        print(f"  {seconds:6.2f} s/MB   x{growth:4.1f} for x4   {fragment[:60]!r}")
    print(f"  {len(rows)} fragments; {sum(seconds > LIMIT for seconds, _, _ in rows)} over {LIMIT} s of CPU a megabyte")


if __name__ == "__main__":
    main()
