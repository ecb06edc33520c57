"""The default redactor: secrets, e-mail addresses, card, account, telephone and identity numbers become typed placeholders.

Nearly every text that is stored holds nothing private. So all patterns look at it in one pass first, which says in which
groups of them anything matches; only there each kind is sought. IP addresses are sought only where the setting
`redact.ip_addresses` asks for it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address
from typing import Any, NamedTuple

from evergold.redact import emails, identity, numbers, secrets
from evergold.redact.spans import (
    Folded,
    PrivateSpan,
    byte_pattern,
    byte_patterns,
    fold_digits,
    holds,
    matches,
    replace_spans,
    without_overlaps,
)

BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
V4 = byte_pattern(rb"\b" + BYTE + rb"(?:\." + BYTE + rb"){3}\b")
V6 = byte_pattern(rb"[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:]{0,40}:[0-9A-Fa-f.:]{0,20}")
WORD = frozenset(byte for byte in range(128) if chr(byte).isalnum())
PLAIN_BEFORE = frozenset(b" ,;([")


def ip_addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses of hosts other than this one (`127.0.0.1`, `::1`, `0.0.0.0`)."""
    data = folded.data
    if b":" in data:
        for ((start, last),) in matches(V6, data):
            end = start + len(data[start:last].rstrip(b"."))
            host = _stands_apart(data, start, end) and not _is_slice(data, start, end)
            if host and _is_other_host(data[start:end].decode("ascii")):
                yield PrivateSpan("IP", start, end)
    for ((start, end),) in matches(V4, data):
        written = data[start:end]
        if not written.startswith(b"127.") and written != b"0.0.0.0" and _stands_apart(data, start, end):
            yield PrivateSpan("IP", start, end)


def _stands_apart(data: bytes, start: int, end: int) -> bool:
    """Whether it is no part of a longer number, name or version."""
    after = data[end : end + 2]
    if after and (after[0] in WORD or (after[0] in b".-_" and after[1:].isalnum())):
        return False
    before = data[max(0, start - 9) : start]
    if not before or before[-1] in PLAIN_BEFORE:
        return not before.lower().endswith((b"version ", b"snmp "))
    if before[-1] in WORD or before[-1] in b"._-" or before.endswith(b"=="):
        return False
    # `//10.0.0.1` is a URL; `1/10.0.0.1` and `lib/10.0.0.1` are parts of a path or a version.
    return before[-1:] != b"/" or before[-2:-1] == b"/"


def _is_slice(data: bytes, start: int, end: int) -> bool:
    """Whether it is a slice of a sequence, such as `x[1::2]`."""
    numbers = data[start:end].replace(b":", b"")
    return numbers.isdigit() and data[start - 1 : start] == b"[" and data[start - 2 : start - 1].isalnum()


def _is_other_host(written: str) -> bool:
    """Whether it is an address of version 6, and not one of this host."""
    try:
        address = ip_address(written)
    except ValueError:
        return False
    # `a::1` and `::2` may be a slice or a name in code: a host has at least two digits.
    return not (address.is_loopback or address.is_unspecified) and sum(map(str.isdigit, written)) > 1


Find = Callable[[Folded], Iterable[PrivateSpan]]


class Group(NamedTuple):
    """Kinds that are sought together: `hint` matches in every text that holds one of them."""

    hint: Any
    kinds: tuple[Find, ...]


def _join(patterns: Iterable[Any]) -> Any:
    return byte_pattern(b"|".join(b"(?:" + pattern.pattern + b")" for pattern in patterns))


GROUPS = (  # in order of priority: of two spans that overlap the earlier one is kept
    Group(_join(secrets.SHAPES), (secrets.private_keys_in, secrets.tokens_in)),
    Group(_join(secrets.NAMES_AND_SIGNS), (secrets.headers_in, secrets.cookies_in, secrets.assigned_in)),
    Group(
        _join((secrets.URL_LOGIN, emails.PLAIN, *emails.DISGUISES)),
        (secrets.logins_in, emails.addresses_in, emails.disguised_in),
    ),
    Group(_join(identity.PATTERNS), (identity.ibans_in, identity.identities_in)),
)
IP_ADDRESSES = Group(_join((V4, V6)), (ip_addresses_in,))
HINTS = byte_patterns(group.hint.pattern for group in GROUPS)


class DefaultRedactor:
    """Finds what has a shape, not names or addresses of people. Takes time linear in the text, whatever the text."""

    def __init__(self, *, ip_addresses: bool = False) -> None:
        self._ip_addresses = ip_addresses

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Replace what is private by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]` and so on, and count the kinds."""
        spans = self._spans(fold_digits(text))
        return replace_spans(text, spans) if spans else (text, Counter())

    def suspicious(self, text: str) -> Iterator[int]:
        """Where something private stands, so that many texts can be searched as one."""
        return (span.start for span in self._spans(fold_digits(text)))

    def _spans(self, one: Folded) -> list[PrivateSpan]:
        # `Match` gives None, not an empty list, when nothing matches; sorting restores the order of priority.
        groups = [GROUPS[number] for number in sorted(HINTS.Match(one.data) or ())]
        if self._ip_addresses and holds(IP_ADDRESSES.hint, one.data):
            groups.append(IP_ADDRESSES)
        kinds = [find for group in groups for find in group.kinds]
        known = without_overlaps(find(one) for find in kinds) if kinds else []
        # Numbers come last: digits inside a token, an address or an IBAN belong to that.
        digits = list(numbers.numbers_in(one, known))
        return without_overlaps((known, digits)) if digits else known
