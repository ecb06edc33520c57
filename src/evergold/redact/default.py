"""The default redactor: secrets, e-mail addresses, phone numbers and card numbers become typed placeholders."""

import re
from collections import Counter
from collections.abc import Iterator

from evergold.redact.emails import addresses_replaced
from evergold.redact.looking import suspicious
from evergold.redact.numbers import numbers_replaced
from evergold.redact.patterns import PATTERNS, Pattern


class DefaultRedactor:
    """Patterns only: it finds what has a shape, not names or addresses of people."""

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """The text with what was found replaced by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]`, and how many of each."""
        found: Counter[str] = Counter()
        if next(suspicious(text), None) is None:
            return text, found
        for pattern in PATTERNS:
            if any(map(text.__contains__, pattern.signs)):
                text = _replaced(text, pattern, found)
        text, found["EMAIL"] = addresses_replaced(text, "[EMAIL]")
        text, numbers = numbers_replaced(text)
        return text, found + numbers

    def suspicious(self, text: str) -> Iterator[int]:
        """Where something private is: so many texts can be looked at as one, and only those that hold any be redacted."""
        return suspicious(text)


def _replaced(text: str, pattern: Pattern, found: Counter[str]) -> str:
    placeholder = f"[{pattern.kind}]"

    def replace(match: re.Match[str]) -> str:
        if match[pattern.group] == placeholder or not pattern.told(match):
            return match[0]
        found[pattern.kind] += 1
        start, end = match.start(pattern.group) - match.start(), match.end(pattern.group) - match.start()
        return match[0][:start] + placeholder + match[0][end:]

    return pattern.regex.sub(replace, text)
