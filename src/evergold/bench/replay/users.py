"""Simulated users of cases: drafted from the conversation by a model or a rule, and confirmed by a person.

A draft stands in the metadata of its case with `user_drafted` and the tag `user:drafted` until a person confirms it.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from evergold.bench.replay.helpers import UserDraft, draft_by_model, draft_by_rule, user_texts
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller, Gate, RetryPolicy, close_all
from evergold.calls.targets import make_target, parse_name, refuse_remote
from evergold.errors import BadInput
from evergold.model.case import Case, CaseStatus
from evergold.model.run import SimulatedUser, UsersDrafted
from evergold.store.case.builds import require_dataset
from evergold.store.case.cases import case_filter, get_case, iterate_cases
from evergold.store.case.writes import Author, revise_case

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evergold.settings import Settings
    from evergold.store import Store

DRAFTED_TAG = "user:drafted"
AT_ONCE = 20


class ReplayUsers:
    def __init__(self, store: "Store", settings: "Settings") -> None:
        self._store, self._settings = store, settings

    def draft(
        self,
        dataset: str,
        filters: Mapping[str, Any],
        *,
        model: str | None = None,
        local: bool = False,
        seconds: float = inf,
    ) -> UsersDrafted:
        """Draft a simulated user for every case that states none, for about so long; drafts wait for a person."""
        if model is not None:
            parse_name(model)
            if not local:
                refuse_remote(model)
        until = time.monotonic() + seconds
        by: Counter[str] = Counter()
        problems: Counter[str] = Counter()
        names, passed_over, unfinished = self._find_lacking(dataset, filters, until)
        for first in range(0, len(names), AT_ONCE):
            # The first batch is always done, so that calls with a short time get to the end as well.
            if first and time.monotonic() > until:
                unfinished = True
                break
            with self._store.db.read() as connection:
                cases = [get_case(connection, dataset, name) for name in names[first : first + AT_ONCE]]
            drafts = list(map(draft_by_rule, cases)) if model is None else asyncio.run(self._ask(cases, model))
            for case, draft in zip(cases, drafts, strict=True):
                if draft is not None:
                    self._keep(case, draft)
                    by[draft.by] += 1
                    problems.update([draft.problem] if draft.problem else [])
        return UsersDrafted(
            dataset=dataset,
            drafted=by.total(),
            had_one=passed_over["had_one"],
            without_messages=passed_over["without_messages"],
            by=dict(by),
            problems=dict(problems),
            unfinished=unfinished,
        )

    def confirm(
        self, dataset: str, case_id: str, user: Mapping[str, str], *, who: str, version: int | None = None
    ) -> Case:
        """Store what a person states of the user (`persona`, `goal`); what is left out is taken from the draft."""

        def work(connection: "Connection") -> Case:
            case = get_case(connection, dataset, case_id)
            checked = SimulatedUser.of({**case.metadata, **user})
            if checked is None:
                raise BadInput(
                    "the case has no drafted user; state its goal, or draft one: evergold replay-users draft DATASET"
                )
            # The marks of the draft go with the confirmation.
            kept = {name: value for name, value in case.metadata.items() if not name.startswith("user_drafted")}
            changes = {
                "metadata": {**kept, "persona": checked.persona, "goal": checked.goal},
                "tags": tuple(tag for tag in case.tags if tag != DRAFTED_TAG),
            }
            author = Author(who=who, action="confirmed user", reviewer=True)
            return revise_case(connection, case.model_copy(update=changes), author, version)

        return self._store.db.write(work)

    def _find_lacking(
        self, dataset: str, filters: Mapping[str, Any], until: float
    ) -> tuple[list[str], Counter[str], bool]:
        """Look for the cases without a user before any is written, because a draft changes what a filter sees.

        Gives their ids, how many were passed over and why, and whether the time was up before all were seen.
        """
        wanted = case_filter(dataset, filters).model_copy(update={"status": CaseStatus.ACTIVE})
        names: list[str] = []  # the ids alone: a dataset may be large
        passed_over: Counter[str] = Counter()
        with self._store.db.read() as connection:
            require_dataset(connection, dataset)
            for case in iterate_cases(connection, wanted):
                if len(names) >= AT_ONCE and time.monotonic() > until:
                    return names, passed_over, True
                # A user who is stated in any part is not drafted over.
                if {"goal", "persona"} & case.metadata.keys():
                    passed_over["had_one"] += 1
                elif not user_texts(case):
                    passed_over["without_messages"] += 1
                else:
                    names.append(case.id)
        return names, passed_over, False

    async def _ask(self, cases: Sequence[Case], model: str) -> list[UserDraft | None]:
        target: Any = make_target(model, {}, self._settings)
        policy = RetryPolicy(tries=self._settings.benchmark_tries)
        caller = Caller(Gate(AT_ONCE), Budget(), policy, self._settings.benchmark_timeout)
        try:
            return list(await asyncio.gather(*(draft_by_model(caller, target, model, case) for case in cases)))
        finally:
            await close_all(target)

    def _keep(self, case: Case, draft: UserDraft) -> None:
        drafted = {"persona": draft.persona, "goal": draft.goal, "user_drafted": True, "user_drafted_by": draft.by}
        changes = {"metadata": {**case.metadata, **drafted}, "tags": (*case.tags, DRAFTED_TAG)}
        author = Author(who=draft.by, action="drafted user", why=draft.problem or "")
        changed = case.model_copy(update=changes)
        # The version that was read must still be the one in the store, or somebody's edit would be lost.
        self._store.write(revise_case, changed, author, case.version)
