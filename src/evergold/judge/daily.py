"""Questions to a judge from stages that run by themselves: asked one batch at a time, no more a day than a budget allows."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from evergold.calls.caller import close_all
from evergold.model.judge import JudgeAnswer, Question
from evergold.seams import Judge


def today() -> str:
    """Give the date in UTC, as budgets count days."""
    return datetime.now(UTC).date().isoformat()


class DailyBudget:
    """Counts questions by name since midnight (UTC); `asked` is what earlier processes asked today."""

    def __init__(self, asked: Mapping[str, int] | None = None, day: Callable[[], str] = today) -> None:
        self._today = day
        self._day = day()
        self._asked = Counter(asked or {})

    def take(self, name: str, most: int) -> bool:
        """Count one more question of a name, if that is not more than `most` today."""
        # Budgets are per day: the first question after midnight begins a new count.
        if (day := self._today()) != self._day:
            self._day = day
            self._asked.clear()
        if self._asked[name] >= most:
            return False
        self._asked[name] += 1
        return True


def ask_now(judge: Judge, questions: Sequence[Question], seconds: float | None = None) -> list[JudgeAnswer]:
    """Ask some questions at the same time and wait for all; one without an answer after so many seconds has none."""

    async def ask(question: Question) -> JudgeAnswer:
        try:
            return await asyncio.wait_for(judge.ask(question), seconds)
        except TimeoutError:
            return JudgeAnswer(reason=f"no answer within {seconds:g} s")

    async def ask_all() -> list[JudgeAnswer]:
        try:
            return await asyncio.gather(*map(ask, questions))
        finally:  # connections belong to the event loop of these questions
            await close_all(judge)

    return asyncio.run(ask_all())
