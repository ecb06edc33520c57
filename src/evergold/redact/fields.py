"""Redact the chosen fields of a record, and count the replacements by kind; nothing is logged.

Keys of metadata and attributes may hold something private, or say that their value is. The same few keys come with every span, so
what is known of a key is remembered, and a key that is known costs one look into a set. A redactor of another package runs
under a deadline: one that hangs refuses texts, it never lets one through unredacted.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from evergold.errors import BadInput, Unavailable, describe_unknown
from evergold.plugins import PLUGIN_SECONDS, PluginTimeout, call_within, note_fault

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
            # Generated keys would fill memory for ever. All is forgotten: what is in use is learnt again at the next span.
            self._plain, self._private = set(), {}
        self._learn([key for key in keys - self._plain - self._private.keys() if isinstance(key, str)])
        return not keys.isdisjoint(self._private)

    def redacted_value(self, key: Any, value: Any) -> tuple[str, Counter[str]] | None:
        """The value as it is kept because of what its key says, and what was found; None when that says nothing."""
        self.any_private({key})
        known = self._private.get(key)
        if known is None or not isinstance(value, str) or len(value) < SHORTEST:
            return None
        if known.secret:
            return self._redact_value(key, SECRET_VALUE)
        clean, counts = self._redact_value(key, value)
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
            secret, number = (bool(self._redact_value(key, value)[1]) for value in (SECRET_VALUE, NUMBER_VALUE))
            known = _Key(bool(self._redactor.redact(key)[1]), secret, number)
            if any(known):
                self._private[key] = known
            else:
                self._plain.add(key)

    def _redact_value(self, key: str, value: str) -> tuple[str, Counter[str]]:
        """The value redacted as it stands behind its key."""
        assert self._redactor is not None
        before, alone = self._redactor.redact(f"{key}=")
        clean, counts = self._redactor.redact(f"{key}={value}")
        # A private key is redacted in `before` too; its own placeholder is neither part of the value nor counted with it.
        return clean.removeprefix(before), Counter(counts) - Counter(alone)


def name_apart(name: str, taken: "Collection[Any]") -> str:
    """A key that became the same as another gets a number: `[EMAIL]`, `[EMAIL]#2`."""
    number, apart = 1, name
    while apart in taken:
        number += 1
        apart = f"{name}#{number}"
    return apart


FIELDS = ("input", "output", "metadata", "attributes", "comments", "corrections")
# A NUL between line breaks: no pattern crosses it, so texts joined are searched as if each stood alone.
BETWEEN = "\n\x00\n"


class FieldRedactor:
    """Applies a redactor to the fields that are switched on, and keeps count of what it found."""

    def __init__(self, redactor: "Redactor | None", fields: Iterable[str], keys: Keys | None = None) -> None:
        self._redactor = redactor
        self._fields = frozenset(fields) if redactor is not None else frozenset()
        for name in self._fields:
            if name not in FIELDS:
                raise BadInput(f"redact.fields: {describe_unknown('field', name, FIELDS)}")
        self._keys = keys or Keys(redactor)
        self.counts: Counter[str] = Counter()

    def clean(self, values: dict[str, Any]) -> dict[str, Any]:
        """`values` by field name, redacted where the field is on.

        All texts are looked at together first: nearly always there is nothing, and one look is cheaper than many.
        """
        on = {field: value for field, value in values.items() if field in self._fields and value}
        if not on or not self.suspects(list(on.values())):
            return values
        return values | {field: self._redact(value) for field, value in on.items()}

    def suspects(self, values: list[Any]) -> bool:
        """Whether there is anything to redact in any of these."""
        if not self._fields:
            return False
        assert self._redactor is not None
        texts, keys = _gather_texts(values)
        together = BETWEEN.join(texts)
        private = len(together) >= SHORTEST and bool(self._redactor.redact(together)[1])
        return private or self._keys.any_private(keys)

    def find_suspected(self, records: Sequence[Any]) -> set[int]:
        """The numbers of the records in which there is anything to redact."""
        look = getattr(self._redactor, "suspicious", None)
        if look is None or not self._fields:
            return {number for number, record in enumerate(records) if self.suspects([record])}
        texts: list[str] = []
        keys: set[str] = set()
        ends = []
        for record in records:
            _gather(record, texts, keys)
            ends.append(len(texts))
        numbers: set[int] = set()
        if offsets := list(look(BETWEEN.join(texts))):
            starts = [0, *accumulate(len(text) + len(BETWEEN) for text in texts)]
            # Offset → text → record: `starts` gives the text an offset lies in, `ends` the record that the text belongs to.
            numbers = {bisect(ends, bisect(starts, offset) - 1) for offset in offsets}
        if self._keys.any_private(keys):
            keys_of = (_gather_texts(record)[1] for record in records)
            numbers |= {number for number, own in enumerate(keys_of) if self._keys.any_private(own)}
        return numbers

    def _redact(self, value: Any) -> Any:
        if isinstance(value, str):
            assert self._redactor is not None
            clean, counts = self._redactor.redact(value)
            self.counts.update(counts)
            return clean
        if isinstance(value, dict):
            return self._redacted_items(value)
        return [self._redact(item) for item in value] if isinstance(value, (list, tuple)) else value

    def _redacted_items(self, items: dict[Any, Any]) -> dict[Any, Any]:
        """Keys are texts too, and one such as `password` tells what its value is."""
        clean: dict[Any, Any] = {}
        for key, item in items.items():
            name = self._redact(key)
            if name != key:
                # Two keys that redact to the same placeholder must both survive; keys yet to come count as taken as well.
                name = name_apart(name, clean.keys() | items.keys())
            by_key = self._keys.redacted_value(key, item)
            if by_key is None:
                clean[name] = self._redact(item)
            else:
                clean[name], counts = by_key
                self.counts.update(counts)
        return clean


def _gather_texts(value: Any) -> tuple[list[str], set[str]]:
    texts: list[str] = []
    keys: set[str] = set()
    _gather(value, texts, keys)
    return texts, keys


def _gather(value: Any, texts: list[str], keys: set[str]) -> None:
    """Every text in `value` that is long enough to hold anything, and every key."""
    if isinstance(value, str):
        if len(value) >= SHORTEST:
            texts.append(value)
    elif isinstance(value, (dict, list, tuple)):
        if isinstance(value, dict):
            keys.update(value)
            value = value.values()
        for item in value:
            kind = type(item)
            if kind is str:
                if len(item) >= SHORTEST:
                    texts.append(item)
            # Numbers and empty values are most of all items of attributes; the test spares a call for each.
            elif item and kind is not int and kind is not float:
                _gather(item, texts, keys)


T = TypeVar("T")


class BoundedRedactor:
    """Calls a redactor; `Unavailable` when a call does not return in time, and for every call after it."""

    def __init__(self, redactor: "Redactor", name: str) -> None:
        self._redactor = redactor
        self._name = f"redactor {name}"
        # `suspicious` is optional in the seam: the attribute exists only where the redactor has it, as callers probe for it.
        look: Callable[[str], Iterable[int]] | None = getattr(redactor, "suspicious", None)
        if look is not None:
            # `list` runs a lazy search inside the deadline; a returned generator would run outside it.
            self.suspicious = lambda text: self._call_within(lambda: list(look(text)))

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        return self._call_within(partial(self._redact, text))

    def _redact(self, text: str) -> tuple[str, dict[str, int]]:
        clean, counts = self._redactor.redact(text)
        if not isinstance(clean, str):
            raise TypeError(f"redact() gave {type(clean).__name__} instead of text")
        return clean, dict(counts)

    def _call_within(self, call: Callable[[], T]) -> T:
        try:
            return call_within(PLUGIN_SECONDS, self._name, call)
        except PluginTimeout as problem:
            reason = f"nothing was stored, because it cannot be redacted: {problem}"
        except Exception as problem:  # a plug-in may raise anything, and its words may hold the text
            reason = f"nothing was stored, because it cannot be redacted: {self._name} raised {type(problem).__name__}"
            note_fault("redactors", self._name.partition(" ")[2], f"it raised {type(problem).__name__}")
        # Raised apart from the timeout: its words are ours, and a caller is told them.
        raise Unavailable(reason)
