"""Redact the chosen parts of a record, and count the replacements by kind; nothing is logged."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from evergold.errors import BadInput, unknown
from evergold.redact.keys import Keys, kept_apart

if TYPE_CHECKING:
    from evergold.seams import Redactor

FIELDS = ("input", "output", "metadata", "attributes", "comments", "corrections")
SHORTEST = 6  # nothing private is shorter
# A NUL between line breaks: no pattern crosses it, so texts joined are searched as if each stood alone.
BETWEEN = "\n\x00\n"


class FieldRedactor:
    """Applies a redactor to the fields that are switched on, and keeps count of what it found."""

    def __init__(self, redactor: "Redactor | None", fields: Iterable[str], keys: Keys | None = None) -> None:
        self._redactor = redactor
        self._fields = frozenset(fields) if redactor is not None else frozenset()
        for name in self._fields:
            if name not in FIELDS:
                raise BadInput(f"redact.fields: {unknown('field', name, FIELDS)}")
        self._keys = keys or Keys(redactor)
        self.counts: Counter[str] = Counter()

    def clean(self, values: dict[str, Any]) -> dict[str, Any]:
        """`values` by field name, redacted where the field is on.

        All texts are looked at together first: nearly always there is nothing, and one look is cheaper than many.
        """
        on = {field: value for field, value in values.items() if field in self._fields and value}
        if not on or not self.suspects(list(on.values())):
            return values
        return values | {field: self._redacted(value) for field, value in on.items()}

    def suspects(self, values: list[Any]) -> bool:
        """Whether there is anything to redact in any of these."""
        if not self._fields:
            return False
        assert self._redactor is not None
        texts, keys = _gathered(values)
        together = BETWEEN.join(texts)
        private = len(together) >= SHORTEST and bool(self._redactor.redact(together)[1])
        return private or self._keys.any_private(keys)

    def suspected(self, records: Sequence[Any]) -> set[int]:
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
            # Offset → text → record: `starts` gives the text an offset lies in, `ends` the record that the text belongs
            # to.
            numbers = {bisect(ends, bisect(starts, offset) - 1) for offset in offsets}
        if self._keys.any_private(keys):
            numbers |= {number for number, record in enumerate(records) if self._keys.any_private(_gathered(record)[1])}
        return numbers

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            assert self._redactor is not None
            clean, counts = self._redactor.redact(value)
            self.counts.update(counts)
            return clean
        if isinstance(value, dict):
            return self._redacted_items(value)
        if isinstance(value, (list, tuple)):
            return [self._redacted(item) for item in value]
        return value

    def _redacted_items(self, items: dict[Any, Any]) -> dict[Any, Any]:
        """Keys are texts too, and one such as `password` tells what its value is."""
        clean: dict[Any, Any] = {}
        for key, item in items.items():
            name = self._redacted(key)
            if name != key:
                # Two keys that redact to the same placeholder must both survive; keys yet to come count as taken as
                # well.
                name = kept_apart(name, clean.keys() | items.keys())
            by_key = self._keys.redacted_value(key, item)
            if by_key is None:
                clean[name] = self._redacted(item)
            else:
                clean[name], counts = by_key
                self.counts.update(counts)
        return clean


def _gathered(value: Any) -> tuple[list[str], set[str]]:
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
