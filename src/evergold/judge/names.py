"""A judge's name → the judge. `offline` needs no key; any chat model's name makes that model the judge."""

import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import reduce
from itertools import chain
from statistics import fmean
from typing import Any

from evergold import plugins
from evergold.calls.caller import close_all
from evergold.errors import BadInput, EvergoldError, describe_unknown
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Usage
from evergold.seams import Judge
from evergold.settings import Settings

DEFAULT_JUDGE = "offline"


def judge_named(name: str | None, settings: Settings) -> str:
    """The judge that was asked for, else the one of the settings, else the offline one."""
    return name or settings.judge_default.strip() or DEFAULT_JUDGE


def check_judge(name: str) -> None:
    """Raise `BadInput` listing the valid ones when nobody answers to that name."""
    known = plugins.names("judges")
    # `panel:openai/a,offline` and `openai/a` begin with the name of the plug-in, whatever sign follows.
    word = name.replace(":", "/").partition("/")[0]
    if word not in known:
        raise BadInput(describe_unknown("judge", word, known))


def make_judge(name: str, settings: Settings) -> Judge:
    # `offline:strict` and `offline/strict` are the same.
    word, *address = re.split("[:/]", name, maxsplit=1)
    judge: Judge = plugins.load("judges", word, "".join(address), settings)
    return judge


# From the most lenient to the harshest verdict; unknown words of plug-ins count as harsh.
LENIENT_FIRST = ("supported", "relevant", "useful", "same", "not_found", "irrelevant", "not_useful", "different")


class Panel:
    """Several judges answer the same question, and the majority decides.

    Lists (the claims of an answer) come from the first member that can make one, so that all members vote on the same
    items. Verdicts are decided by majority and, when equal, by the harsher one: a tie must not flatter. Grades are
    averaged. More than half of the members must answer, else the panel has no answer.
    """

    def __init__(self, members: Sequence[Judge]) -> None:
        self._members = tuple(members)

    @property
    def identity(self) -> str:
        return f"panel({', '.join(member.identity for member in self._members)})"

    async def ask(self, question: Question) -> JudgeAnswer:
        # Verdicts and grades can be counted; lists of claims cannot, since each judge words them differently.
        if set(question.answer_schema["properties"]) & {"verdicts", "score"}:
            answers = await asyncio.gather(*(_ask_member(member, question) for member in self._members))
            return self._decide(answers)
        spent = Usage()
        reasons = []
        # One after the other: the second member is paid only if the first has no list.
        for member in self._members:
            answer = await _ask_member(member, question)
            spent = spent.plus(answer.usage)
            if answer.data is not None:
                return answer.model_copy(update={"usage": spent})
            reasons.append(f"{member.identity}: {answer.reason}")
        return JudgeAnswer(reason="; ".join(reasons), usage=spent)

    async def close(self) -> None:
        await close_all(*self._members)

    def _decide(self, answers: Sequence[JudgeAnswer]) -> JudgeAnswer:
        spent = reduce(Usage.plus, (answer.usage for answer in answers), Usage())
        named = zip(self._members, answers, strict=True)
        silent = {member.identity: answer.reason for member, answer in named if answer.data is None}
        given = [answer.data for answer in answers if answer.data is not None]
        # At half, one judge could decide for the panel alone.
        if 2 * len(given) <= len(answers):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in silent.items())
            return JudgeAnswer(reason=f"only {len(given)} of {len(answers)} judges answered ({reasons})", usage=spent)
        if "score" in given[0]:
            reason = " / ".join(str(one["reason"]) for one in given)
            decided = {"reason": reason, "score": fmean(one["score"] for one in given)}
        else:
            votes: dict[int, list[dict[str, Any]]] = defaultdict(list)
            for verdict in chain.from_iterable(data["verdicts"] for data in given):
                votes[verdict["id"]].append(verdict)
            decided = {"verdicts": [_majority(number, cast) for number, cast in sorted(votes.items())]}
        details = {"scoring": "panel", "answered": len(given), "members": len(answers), "silent": silent}
        return JudgeAnswer(data=decided, usage=spent, details=details)


async def _ask_member(member: Judge, question: Question) -> JudgeAnswer:
    """Ask a judge of a panel; one of a plug-in that raises is silent, and the others decide."""
    try:
        return await member.ask(question)
    except EvergoldError:
        raise
    except Exception as problem:
        return JudgeAnswer(reason=f"it raised {type(problem).__name__}: {problem}")


def make_panel(address: str, settings: Settings) -> Panel:
    """`panel:openai/gpt-4o,offline`: the members by their own names."""
    names = [name.strip() for name in address.split(",") if name.strip()]
    if len(names) < 2:
        raise BadInput(f"a panel needs two judges or more, not {address!r}; write panel:openai/gpt-4o,offline")
    return Panel([make_judge(name, settings) for name in names])


def _majority(number: int, votes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(vote["verdict"] for vote in votes)
    harsh = (*LENIENT_FIRST, *counts)
    winner = max(counts, key=lambda verdict: (counts[verdict], harsh.index(verdict)))
    reason = next(vote["reason"] for vote in votes if vote["verdict"] == winner)
    return {"id": number, "verdict": winner, "reason": f"{counts[winner]} of {len(votes)}: {reason}"}
