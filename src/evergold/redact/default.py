"""The default redactor: secrets, e-mail addresses, card, account, telephone and identity numbers become typed placeholders.

Nearly every text that is stored holds nothing private. So all patterns look at it in one pass first, which says in which
groups of them anything matches; only there each kind is sought. Digits are counted as arrays.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from evergold.redact import emails, identity, ip_addresses, numbers, secrets
from evergold.redact import emails as disguised
from evergold.redact import secrets as assigned
from evergold.redact.folding import Folded, byte_pattern, byte_patterns, folded, holds
from evergold.redact.spans import PrivateSpan, replaced, without_overlaps

Find = Callable[[Folded], Iterable[PrivateSpan]]


class Group(NamedTuple):
    """Kinds that are sought together: `hint` matches in every text that holds one of them."""

    hint: Any
    kinds: tuple[Find, ...]


def _joined(patterns: Iterable[Any]) -> Any:
    return byte_pattern(b"|".join(b"(?:" + pattern.pattern + b")" for pattern in patterns))


GROUPS = (  # in order of priority: of two spans that overlap the earlier one is kept
    Group(_joined(secrets.SHAPES), (secrets.private_keys_in, secrets.tokens_in)),
    Group(_joined(assigned.NAMES_AND_SIGNS), (secrets.headers_in, assigned.cookies_in, assigned.assigned_in)),
    Group(
        _joined((secrets.URL_LOGIN, emails.PLAIN, *disguised.DISGUISES)),
        (secrets.logins_in, emails.addresses_in, disguised.disguised_in),
    ),
    Group(_joined(identity.PATTERNS), (identity.ibans_in, identity.identities_in)),
)
IP_ADDRESSES = Group(_joined((ip_addresses.V4, ip_addresses.V6)), (ip_addresses.ip_addresses_in,))
HINTS = byte_patterns(group.hint.pattern for group in GROUPS)


class DefaultRedactor:
    """Finds what has a shape, not names or addresses of people. Takes time linear in the text, whatever the text."""

    def __init__(self, *, ip_addresses: bool = False) -> None:
        self._ip_addresses = ip_addresses

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """Replace what is private by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]` and so on, and count the kinds."""
        spans = self._spans(folded(text))
        return replaced(text, spans) if spans else (text, Counter())

    def suspicious(self, text: str) -> Iterator[int]:
        """Where something private stands, so that many texts can be searched as one."""
        return (span.start for span in self._spans(folded(text)))

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
