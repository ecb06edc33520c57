"""Which parts of a record are redacted, and how much was found: counted, never logged."""

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from evergold.errors import BadInput, unknown

if TYPE_CHECKING:
    from evergold.seams import Redactor

FIELDS = ("input", "output", "metadata", "attributes", "comments", "corrections")
SHORTEST = 6  # nothing private is shorter
BETWEEN = "\n\x00\n"


class FieldRedactor:
    """Applies a redactor to the fields that are switched on, and keeps count of what it found."""

    def __init__(self, redactor: "Redactor | None", fields: Iterable[str]) -> None:
        self._redactor = redactor
        self._fields = frozenset(fields) if redactor is not None else frozenset()
        for name in self._fields:
            if name not in FIELDS:
                raise BadInput(f"redact.fields: {unknown('field', name, FIELDS)}")
        self.found: Counter[str] = Counter()

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
        together = _together(values)
        return len(together) >= SHORTEST and bool(self._redactor.redact(together)[1])

    def suspected(self, records: Sequence[Any]) -> set[int]:
        """The numbers of the records in which there is anything to redact."""
        look = getattr(self._redactor, "suspicious", None)
        if look is None or not self._fields:
            return {number for number, record in enumerate(records) if self.suspects([record])}
        texts: list[str] = []
        ends = []
        for record in records:
            _gather(record, texts)
            ends.append(len(texts))
        places = list(look(BETWEEN.join(texts)))
        if not places:
            return set()
        starts = [0, *accumulate(len(text) + len(BETWEEN) for text in texts)]
        return {bisect(ends, bisect(starts, place) - 1) for place in places}

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            assert self._redactor is not None
            clean, found = self._redactor.redact(value)
            self.found.update(found)
            return clean
        if isinstance(value, dict):
            return {key: self._redacted(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._redacted(item) for item in value]
        return value


def _together(value: Any) -> str:
    texts: list[str] = []
    _gather(value, texts)
    return BETWEEN.join(texts)


def _gather(value: Any, texts: list[str]) -> None:
    """Every text in `value` that is long enough to hold anything."""
    if isinstance(value, str):
        if len(value) >= SHORTEST:
            texts.append(value)
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            kind = type(item)
            if kind is str:
                if len(item) >= SHORTEST:
                    texts.append(item)
            elif item and kind is not int and kind is not float:
                _gather(item, texts)
