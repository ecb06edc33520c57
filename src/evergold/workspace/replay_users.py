"""Simulated users of cases: drafted from the conversation by a model or a rule, and confirmed by a person.

A draft stands in the metadata of its case with `user_drafted` and the tag `user:drafted` until a person confirms it.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evergold.bench.replay.user_drafts import UserDraft, draft_by_model, draft_by_rule
from evergold.bench.targets import make_target, parse_name, refuse_remote
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller
from evergold.calls.gate import Gate
from evergold.calls.retry import RetryPolicy
from evergold.errors import BadInput
from evergold.model.case import Case, CaseStatus
from evergold.model.replay import SimulatedUser
from evergold.store.case_writes import Author, revise_case
from evergold.store.cases import get_case, iterate_cases
from evergold.workspace.builds import case_filter
from evergold.workspace.cases import require_dataset

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from evergold.settings import Settings
    from evergold.store import Store

DRAFTED_TAG = "user:drafted"
AT_ONCE = 20


class UsersDrafted(BaseModel, frozen=True):
    """What drafting did: `by` counts drafts per author, `problems` why a rule stood in for the model."""

    dataset: str
    drafted: int
    had_one: int
    without_messages: int
    by: dict[str, int]
    problems: dict[str, int]


class ReplayUsers:
    def __init__(self, store: "Store", settings: "Settings") -> None:
        self._store = store
        self._settings = settings

    def draft(
        self, dataset: str, filters: Mapping[str, Any], *, model: str | None = None, local: bool = False
    ) -> UsersDrafted:
        """Draft a simulated user for every case that states none; drafts wait for a person."""
        if model is not None:
            parse_name(model)
            if not local:
                refuse_remote(model)
        counts: Counter[str] = Counter()
        by: Counter[str] = Counter()
        problems: Counter[str] = Counter()
        waiting = self._cases(dataset, filters)
        while cases := list(islice(waiting, AT_ONCE)):
            # A user who is stated in any part is not drafted over.
            lacking = [case for case in cases if not {"goal", "persona"} & case.metadata.keys()]
            counts["had_one"] += len(cases) - len(lacking)
            for case, draft in zip(lacking, self._drafts(lacking, model), strict=True):
                if draft is None:
                    counts["without_messages"] += 1
                    continue
                self._keep(case, draft)
                by[draft.by] += 1
                problems.update([draft.problem] if draft.problem else [])
        return UsersDrafted(
            dataset=dataset,
            drafted=by.total(),
            had_one=counts["had_one"],
            without_messages=counts["without_messages"],
            by=dict(by),
            problems=dict(problems),
        )

    def confirm(
        self, dataset: str, case_id: str, user: Mapping[str, str], *, who: str, version: int | None = None
    ) -> Case:
        """Store what a person states of the user (`persona`, `goal`); what is left out is taken from the draft."""

        def work(connection: "Connection") -> Case:
            case = get_case(connection, dataset, case_id)
            checked = _checked({**case.metadata, **user})
            # The marks of the draft go with the confirmation.
            kept = {name: value for name, value in case.metadata.items() if not name.startswith("user_drafted")}
            changes = {
                "metadata": {**kept, "persona": checked.persona, "goal": checked.goal},
                "tags": tuple(tag for tag in case.tags if tag != DRAFTED_TAG),
            }
            author = Author(who=who, action="confirmed user", reviewer=True)
            return revise_case(connection, case.model_copy(update=changes), author, version)

        return self._store.db.write(work)

    def _cases(self, dataset: str, filters: Mapping[str, Any]) -> Iterator[Case]:
        """Read the cases before any is written, in pages: a draft changes what a filter sees."""
        wanted = case_filter(dataset, filters).model_copy(update={"status": CaseStatus.ACTIVE})
        with self._store.db.read() as connection:
            require_dataset(connection, dataset)
            # Ids only: a draft is written while others are still read, and a dataset may be large.
            names = [case.id for case in iterate_cases(connection, wanted)]
        for name in names:
            with self._store.db.read() as connection:
                yield get_case(connection, dataset, name)

    def _drafts(self, cases: Sequence[Case], model: str | None) -> list[UserDraft | None]:
        if model is None:
            return [draft_by_rule(case) for case in cases]
        return asyncio.run(self._asked(cases, model))

    async def _asked(self, cases: Sequence[Case], model: str) -> list[UserDraft | None]:
        target: Any = make_target(model, {}, self._settings)
        policy = RetryPolicy(tries=self._settings.benchmark_tries)
        caller = Caller(Gate(AT_ONCE), Budget(), policy, self._settings.benchmark_timeout)
        try:
            return list(await asyncio.gather(*(draft_by_model(caller, target, model, case) for case in cases)))
        finally:
            if (close := getattr(target, "close", None)) is not None:
                await close()

    def _keep(self, case: Case, draft: UserDraft) -> None:
        drafted = {"persona": draft.persona, "goal": draft.goal, "user_drafted": True, "user_drafted_by": draft.by}
        changes = {"metadata": {**case.metadata, **drafted}, "tags": (*case.tags, DRAFTED_TAG)}
        author = Author(who=draft.by, action="drafted user", why=draft.problem or "")
        changed = case.model_copy(update=changes)
        # The version that was read must still be the one in the store, or somebody's edit would be lost.
        self._store.db.write(lambda connection: revise_case(connection, changed, author, case.version))


def _checked(metadata: Mapping[str, Any]) -> SimulatedUser:
    user = SimulatedUser.of(metadata)
    if user is None:
        raise BadInput(
            "the case has no drafted user; state its goal, or draft one: evergold replay-users draft DATASET"
        )
    return user
