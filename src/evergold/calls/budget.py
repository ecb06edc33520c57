"""A hard limit on tokens and money, of target and judge together.

A call is only started when what is spent, what the calls under way may still spend and what this one may spend fit.
What a call may spend is the dearest call seen so far; the first ones, of which nothing is known, go one by one.
"""

import asyncio
from dataclasses import dataclass, field

from evergold.errors import EvergoldError
from evergold.model.run import Usage


class BudgetReached(EvergoldError):
    """The run stops here; what is done stays, and a resumed run with a larger budget goes on."""


@dataclass
class Budget:
    tokens: int | None = None
    money: float | None = None
    spent_tokens: int = 0
    spent_money: float = 0.0
    _dearest_tokens: int = 0
    _dearest_money: float = 0.0
    _under_way: int = 0
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def reserve(self) -> None:
        """Wait until one more call is sure to fit, or raise `BudgetReached` when none ever will."""
        while not self._fits():
            if self._under_way == 0:
                raise BudgetReached(self._sentence())
            # The event stays set after an earlier call ended; cleared, the wait ends with the next one.
            self._changed.clear()
            await self._changed.wait()
        self._under_way += 1

    def settle(self, usage: Usage) -> None:
        """A call ended and cost this much."""
        tokens = usage.input_tokens + usage.output_tokens
        self._under_way -= 1
        self.charge(usage)
        self._dearest_tokens = max(self._dearest_tokens, tokens)
        self._dearest_money = max(self._dearest_money, usage.cost or 0.0)
        # Everybody who waits is woken and tests again: a cheap call may leave room for several.
        self._changed.set()

    def charge(self, usage: Usage) -> None:
        """Count what was spent outside of a reservation: an earlier part of the run, or a judge."""
        self.spent_tokens += usage.input_tokens + usage.output_tokens
        self.spent_money += usage.cost or 0.0

    def _fits(self) -> bool:
        if self.tokens is None and self.money is None:
            return True
        calls = self._under_way + 1
        # Nothing is known of the price yet: two calls at once could both be dear.
        if self._dearest_tokens == 0 and self._under_way > 0:
            return False
        tokens = self.spent_tokens + calls * self._dearest_tokens
        money = self.spent_money + calls * self._dearest_money
        # With no price known yet (0) the first test also holds when nothing is left; the second does not.
        enough_tokens = self.tokens is None or (tokens <= self.tokens and self.spent_tokens < self.tokens)
        return enough_tokens and (self.money is None or (money <= self.money and self.spent_money < self.money))

    def _sentence(self) -> str:
        parts = []
        if self.tokens is not None:
            parts.append(f"{self.spent_tokens:,} of {self.tokens:,} tokens")
        if self.money is not None:
            parts.append(f"${self.spent_money:.4f} of ${self.money:.4f}")
        return f"budget reached: {' and '.join(parts)} spent and the next call may not fit; resume with a larger budget"
