"""Keys of metadata and attributes: they may hold something private, or say that their value is.

The same few keys come with every span, so what is known of a key is remembered, and a key that is known costs one look
into a set.
"""

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from evergold.seams import Redactor

SECRET_VALUE, NUMBER_VALUE = "hidden99", "4155552671"  # private behind a key that says so, and nowhere else
SHORTEST = 6  # no shorter text is private
MOST_REMEMBERED = 10_000


class _Key(NamedTuple):
    """What the redactor makes of a key and of values behind it: its own text, any text, a number."""

    private: bool
    secret: bool
    number: bool


class Keys:
    """What is known of keys by asking a redactor. Best kept as long as that is used."""

    def __init__(self, redactor: "Redactor | None") -> None:
        self._redactor = redactor
        self._plain: set[Any] = set()
        self._private: dict[Any, _Key] = {}

    def any_private(self, keys: set[Any]) -> bool:
        """Whether any of these is private, or its value may be by what it says."""
        if keys <= self._plain:
            return False
        if len(self._plain) + len(self._private) + len(keys) > MOST_REMEMBERED:
            # Generated keys would fill memory for ever. All is forgotten at once: what is in use is learnt again at the
            # next span.
            self._plain, self._private = set(), {}
        new = keys - self._plain - self._private.keys()
        self._learn([key for key in new if isinstance(key, str)])
        return not keys.isdisjoint(self._private)

    def redacted_value(self, key: Any, value: Any) -> tuple[str, Counter[str]] | None:
        """The value as it is kept because of what its key says, and what was found; None when that says nothing."""
        self.any_private({key})
        known = self._private.get(key)
        if known is None or not isinstance(value, str) or len(value) < SHORTEST:
            return None
        if known.secret:
            return self._behind(key, SECRET_VALUE)
        clean, counts = self._behind(key, value)
        return (clean, counts) if known.number and counts else None

    def _learn(self, keys: list[str]) -> None:
        """All at once, as most say nothing; one by one where any does."""
        if self._redactor is None:
            return
        lines = (line for key in keys for line in (key, f"{key}={SECRET_VALUE}", f"{key}={NUMBER_VALUE}"))
        if not self._redactor.redact("\n".join(lines))[1]:
            self._plain.update(keys)
            return
        for key in keys:
            secret, number = (bool(self._behind(key, value)[1]) for value in (SECRET_VALUE, NUMBER_VALUE))
            known = _Key(bool(self._redactor.redact(key)[1]), secret, number)
            if any(known):
                self._private[key] = known
            else:
                self._plain.add(key)

    def _behind(self, key: str, value: str) -> tuple[str, Counter[str]]:
        """The value redacted as it stands behind its key."""
        assert self._redactor is not None
        before, alone = self._redactor.redact(f"{key}=")
        clean, counts = self._redactor.redact(f"{key}={value}")
        # A private key is redacted in `before` too; its own placeholder is neither part of the value nor counted with
        # it.
        return clean.removeprefix(before), Counter(counts) - Counter(alone)


def kept_apart(name: str, taken: "Collection[Any]") -> str:
    """A key that became the same as another gets a number: `[EMAIL]`, `[EMAIL]#2`."""
    number, apart = 1, name
    while apart in taken:
        number += 1
        apart = f"{name}#{number}"
    return apart
