"""A redactor of another package, under a deadline: one that hangs refuses texts, it never lets one through unredacted."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from evergold.errors import Unavailable
from evergold.overdue import PLUGIN_SECONDS, Overdue, call_within

if TYPE_CHECKING:
    from evergold.seams import Redactor

T = TypeVar("T")


class BoundedRedactor:
    """Calls a redactor; `Unavailable` when a call does not return in time, and for every call after it."""

    def __init__(self, redactor: "Redactor", name: str) -> None:
        self._redactor = redactor
        self._name = f"redactor {name}"
        # `suspicious` is optional in the seam: the attribute exists only where the redactor has it, as callers probe
        # for it.
        look: Callable[[str], Iterable[int]] | None = getattr(redactor, "suspicious", None)
        if look is not None:
            # `list` runs a lazy search inside the deadline; a returned generator would run outside it.
            self.suspicious = lambda text: self._within(lambda: list(look(text)))

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        return self._within(partial(self._redactor.redact, text))

    def _within(self, call: Callable[[], T]) -> T:
        try:
            return call_within(PLUGIN_SECONDS, self._name, call)
        except Overdue as problem:
            raise Unavailable(f"nothing was stored, because it cannot be redacted: {problem}") from problem
