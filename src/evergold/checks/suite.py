"""The checks in force, run over turns. A check that fails, also one of the user's own, costs its own result and nothing else."""

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial

from evergold.checks.builtin import CheckJudges
from evergold.checks.own import CheckFailed, JudgeCheck, as_result
from evergold.model.check import Checked, CheckResult, Turn
from evergold.model.trace import ScoreSource
from evergold.model.values import content_hash
from evergold.plugins import PLUGIN_SECONDS, PluginTimeout, call_within, is_foreign
from evergold.seams import Check

# Checks whose result comes with the next turn of the session.
FOLLOW_UP = frozenset({"not_repeated", "not_given_up", "not_handed_over"})

MOST_AHEAD = 10_000
# Bump when more of a trace is read, or it can lack something else: wholeness is looked at together with the checks.
WHOLENESS = "3"


class Suite:
    """Checks of different names. `identity` changes with any of them, so that a backfill knows what is out of date."""

    def __init__(self, checks: Sequence[Check], judges: CheckJudges | None = None) -> None:
        self.checks = {check.name: check for check in checks}
        self._judges = judges or CheckJudges({})
        self.slow = tuple(check for check in checks if is_slow(check))
        self._ahead: dict[tuple[str, str], tuple[Turn, Checked]] = {}

    def __bool__(self) -> bool:
        return bool(self.checks)

    @cached_property
    def identity(self) -> str:
        """Name the versions of all checks."""
        return content_hash(self._versions | {"wholeness": WHOLENESS}).removeprefix("sha256:")[:16]

    @cached_property
    def _versions(self) -> dict[str, str]:
        """The version of each check. Made when first asked for: that of `grounded` loads a model of 60 MB."""
        return {name: check.version for name, check in self.checks.items()}

    def run_ahead(self, turns: Iterable[Turn], seconds: float) -> list[Turn]:
        """Run the slow checks now, for at most about so long; the next run over these turns uses what they said.

        Gives the turns that were not reached; the first is always reached.
        """
        # A bound on memory: answers are kept until the transaction that uses them, which may never come.
        if len(self._ahead) > MOST_AHEAD:
            self._ahead.clear()  # answers that nobody came for
        until, turns = time.monotonic() + seconds, list(turns)
        for at, turn in enumerate(turns):
            if at and time.monotonic() > until:
                return turns[at:]
            for check in self.slow:
                # The turn itself is compared: a trace that grew meanwhile must be asked about again.
                if self._ahead.get((check.name, turn.id), (None,))[0] != turn:
                    self._ahead[check.name, turn.id] = turn, self._one(check, turn)
        return []

    def run(self, turns: Iterable[Turn], only: frozenset[str] | None = None) -> Iterator[Checked]:
        """Run every check, or some of them, over the turns."""
        chosen = [check for name, check in self.checks.items() if only is None or name in only]
        for turn in turns:
            for check in chosen:
                yield self._one(check, turn)

    def _one(self, check: Check, turn: Turn) -> Checked:
        source, version = getattr(check, "source", ScoreSource.SYSTEM), self._versions[check.name]
        if self._ahead:
            asked, outcome = self._ahead.pop((check.name, turn.id), (None, None))
            # An answer made ahead holds only for exactly the turn it was made for.
            if outcome is not None and asked == turn:
                return outcome
        try:
            result = self._judges.ask(check, turn) if isinstance(check, JudgeCheck) else _run_check(check, turn)
        except (CheckFailed, PluginTimeout) as problem:
            return Checked(turn.id, check.name, version, error=str(problem), source=source)
        except Exception as problem:  # a plug-in may raise anything
            reason = f"{check.name} raised {type(problem).__name__}: {problem}".splitlines()[0]
            return Checked(turn.id, check.name, version, error=reason, source=source)
        return Checked(turn.id, check.name, version, result, source=source)


def is_slow(check: Check) -> bool:
    """Whether a check may take more than a few milliseconds: it says so itself, or nobody knows."""
    return getattr(check, "slow", False) or is_foreign(check)


def _run_check(check: Check, turn: Turn) -> CheckResult | None:
    if not is_foreign(check):
        return as_result(check.check(turn), check.name)
    return as_result(call_within(PLUGIN_SECONDS, f"check {check.name}", partial(check.check, turn)), check.name)
