"""Review: the queue, the desk, and how far reviewers agree."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from evergold.errors import BadInput, Conflict, NotFound
from evergold.extract.evidence import BaseCommits, EvidenceRoom
from evergold.model.access import LOCAL, Holder, Role
from evergold.model.case import Assertion, Case, CaseKind, ReviewState
from evergold.model.case_actions import ListPage, SavedView
from evergold.model.review import (
    Agreement,
    AssignmentState,
    BulkResult,
    CaseFile,
    CaseKey,
    Decision,
    Edit,
    Questionnaire,
    QueueOrder,
    QueuePage,
    QueueQuery,
    ReviewerProgress,
    ReviewProgress,
    ReviewVerdict,
    RowsTaken,
    VersionedKey,
)
from evergold.review import desk
from evergold.review import questions as asking
from evergold.review.agreement import agreement, agreement_on_questions, pace_of_reviewers
from evergold.review.assertions import draft_assertions
from evergold.review.decide import edit_case, merge_changes
from evergold.review.rows import Sender, cases_of_rows, every_row_of, rows_of_cases, take_cases
from evergold.settings import Settings
from evergold.store import Store, make_reader, make_writer
from evergold.store.case import reviews as hands
from evergold.store.case.cases import CaseFilter, get_case, iterate_cases, revisions_of
from evergold.store.case.questions import answers_in, put_questionnaire, questionnaire_of, questionnaires
from evergold.store.facts import record_moderation

if TYPE_CHECKING:
    from evergold.upkeep.review_order import ReviewOrder


class Review:
    assignments = make_reader(hands.assignments_to)
    questions = make_reader(questionnaire_of)
    answer = make_writer(asking.answer)
    moderations = make_reader(hands.list_moderations)

    def __init__(self, store: Store, settings: Settings, order: "ReviewOrder") -> None:
        self._store, self._order, self._settings = store, order, settings
        self.evidence = EvidenceRoom(store, settings)
        self.bases = BaseCommits(settings)
        self._lease_seconds = 60.0 * settings.review_lease_minutes

    @property
    def needed(self) -> int:
        """How many reviewers must agree on a case."""
        return max(1, self._settings.review_reviewers_per_case)

    @property
    def reviewers(self) -> tuple[str, ...]:
        """The names the settings know; none means that whoever is here reviews."""
        # `name:token` in the settings: the name alone is shown.
        return tuple(entry.partition(":")[0] for entry in self._settings.review_reviewers)

    def queue(self, query: QueueQuery, reviewer: str = "", *, limit: int = 100, offset: int = 0) -> QueuePage:
        """A page of the queue; `reviewer` is whose cases `part` speaks of."""
        first = self._come_first(query)
        items, counts = self._store.read(hands.queue_page, query, reviewer, first, limit=limit, offset=offset)
        return QueuePage(items=tuple(items), total=counts["total"], counts=counts)

    def _come_first(self, query: QueueQuery) -> dict[int, str]:
        """List entries that come before others in the order of a query, each with the reason."""
        return self._order.reasons(query.dataset) if query.order is QueueOrder.VALUE else {}

    def case(self, key: CaseKey) -> CaseFile:
        return self._store.read(desk.case_file, key, self.needed)

    def draft_assertions(self, key: CaseKey) -> list[Assertion]:
        """Draft assertions from the comments of reviewers on a case; those that it has already are left out."""
        file = self.case(key)
        drafts = draft_assertions(opinion.comment for opinion in file.opinions)
        return [draft for draft in drafts if draft not in file.case.assertions]

    def edit(self, key: CaseKey, wanted: Edit, by: Holder | str) -> Case:
        return self._store.write(desk.edit, key, wanted, _as_holder(by))

    def decide(self, key: CaseKey, decision: Decision, by: Holder | str) -> Case:
        """Record a verdict. Approving a context case completes its proof, or is refused where its base is disproved."""
        holder = _as_holder(by)
        if decision.verdict is ReviewVerdict.APPROVE:
            # Only an approval makes a case golden; other verdicts need no proof.
            case = self.case(key).case
            # The decision may bring edits along: the proof is made for the case as it will be, not as it is.
            edited = edit_case(case, decision.changes)
            decision = self.bases.settle_decision(edited, decision, self.evidence.change_of(case), holder.name)
        return self._store.write(desk.decide, key, decision, holder, self.needed)

    def decide_many(
        self, keys: Sequence[VersionedKey], verdict: ReviewVerdict, by: Holder | str, comment: str = ""
    ) -> list[BulkResult]:
        """One verdict on many cases. `withdraw` on the versions this returns is its undo."""
        decision = Decision(version=1, verdict=verdict, comment=comment)
        proved = [self._with_proof(key) for key in keys] if verdict is ReviewVerdict.APPROVE else []
        refused = {key: problem for key, problem in zip(keys, proved, strict=bool(proved)) if problem}
        taken = self._store.write(
            desk.decide_many, [key for key in keys if key not in refused], decision, _as_holder(by), self.needed
        )
        return taken + [BulkResult(**dict(key), error=problem) for key, problem in refused.items()]

    def _with_proof(self, key: VersionedKey) -> str:
        """Why a case cannot be approved among many: its base is disproved, which needs a reason of its own."""
        try:
            case = self._store.read(get_case, key.dataset, key.id)
        except NotFound as problem:
            return problem.message
        _, problems = self.bases.settle_rows(
            [case.model_copy(update={"review": ReviewState.VALIDATED})], self.evidence.change_of
        )
        return "; ".join(problems)

    def difference(self, key: CaseKey, first: int, last: int) -> dict[str, dict[str, Any]]:
        """What changed in a case from one version to another."""
        revisions = self._store.read(revisions_of, key.dataset, key.id)
        newest = revisions[-1].version if revisions else 1
        if not 1 <= first <= last <= newest:
            raise BadInput(f"versions {first} to {last} of case {key.id!r}: it has versions 1 to {newest}")
        return merge_changes(revisions, first, last)

    def claim(self, query: QueueQuery, reviewer: str) -> CaseFile | None:
        """The next case for this reviewer, held for the lease; None when nothing is left."""
        first = self._come_first(query)
        key = self._store.write(desk.claim, query, reviewer, self.needed, self._lease_seconds, first)
        return None if key is None else self.case(key)

    def renew(self, key: CaseKey, reviewer: str) -> None:
        if not self._store.write(hands.renew, key, reviewer, self._lease_seconds):
            raise Conflict(f"case {key.id!r} is not claimed by {reviewer!r}; claim it first")

    def assign(self, keys: Sequence[CaseKey], reviewer: str) -> int:
        """Put cases into a reviewer's hands until they are done or taken back."""
        if self.reviewers and reviewer not in self.reviewers:
            raise BadInput(f"unknown reviewer {reviewer!r} (valid: {', '.join(self.reviewers)})")

        def work(connection: Any) -> int:
            for key in keys:
                hands.hold(connection, key, reviewer, AssignmentState.ASSIGNED)
            return len(keys)

        return self._store.db.write(work)

    def release(self, key: CaseKey, reviewer: str, by: Holder = LOCAL) -> None:
        """Take a case out of a reviewer's hands; out of those of others as a moderator."""

        def work(connection: Any) -> None:
            foreign = by.check_author(reviewer, f"the assignment of case {key.id!r}")
            if not hands.release(connection, key, reviewer):
                raise NotFound(f"case {key.id!r} is not in the hands of {reviewer!r}")
            if foreign:
                what = f"assignment of case {key.id} of {key.dataset}"
                record_moderation(connection, by, "deleted", what, reviewer)

        self._store.db.write(work)

    def views(self) -> list[SavedView]:
        """List the views of the queue that are kept with those of other lists."""
        return [SavedView.of(view) for view in self._store.read(hands.kept_views, ListPage.REVIEW)]

    def save_view(self, view: SavedView, by: Holder = LOCAL) -> SavedView:
        return SavedView.of(self._store.write(hands.keep_view, view.as_list_view(), by))

    def delete_view(self, name: str, by: Holder = LOCAL) -> None:
        self._store.write(hands.drop_view, ListPage.REVIEW, name, by)

    def agreement(self, dataset: str | None = None) -> Agreement:
        with self._store.db.read() as connection:
            asked = questionnaires(connection)
            # Questionnaires of other datasets would be counted with no answers.
            kept = {name: asked[name] for name in asked if dataset in (None, name)}
            questions = agreement_on_questions(kept, answers_in(connection, dataset)) if kept else []
            return agreement(hands.opinions_in(connection, dataset), questions)

    def progress(self, day_began: datetime | None = None) -> ReviewProgress:
        """How far datasets and reviewers are; a reviewer's day began at midnight (UTC) unless a time is given."""
        midnight = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        with self._store.db.read() as connection:
            pace = pace_of_reviewers(hands.opinions_in(connection, None), day_began or midnight)
            counts = hands.verdict_counts(connection)
            return ReviewProgress(
                daily_goal=max(0, self._settings.review_daily_goal),
                datasets=hands.progress_of_datasets(connection),
                reviewers=[cast(ReviewerProgress, counts[name] | pace[name]) for name in counts],
            )

    def set_questions(self, dataset: str, wanted: Questionnaire | Path, who: str = "system") -> Questionnaire:
        """Store the questions of a dataset, given as they are or as a TOML or YAML file."""
        given = asking.read_questionnaire(wanted) if isinstance(wanted, Path) else wanted
        self._store.write(put_questionnaire, dataset, given, who)
        return given

    def take_rows(
        self,
        rows: Sequence[dict[str, Any]],
        by: Holder | str,
        dataset: str,
        replace: bool = False,
        seen: Mapping[str, int] | None = None,
    ) -> RowsTaken:
        """Rows of dataset A and B into the store; cases that moved on since the versions `seen` are kept and named."""
        holder = _as_holder(by)
        if replace:
            holder.check_moderates("replacing cases that others have changed (replace)")
        given, problems = cases_of_rows(rows, dataset)
        cases, disproved = self.bases.settle_rows(given, self.evidence.change_of)
        problems += disproved
        taken = self._store.write(take_cases, cases, Sender(holder, self.needed, seen or {}, replace))
        return taken.model_copy(update={"problems": problems + taken.problems})

    def give_rows(self, dataset: str, unvalidated: bool = False) -> dict[str, Any]:
        """The validated rows of a dataset and the cases left out with what they lack; or every row there is."""
        with self._store.db.read() as connection:
            cases = iterate_cases(connection, CaseFilter(dataset=dataset, kind=CaseKind.CONTEXT))
            return every_row_of(cases) if unvalidated else rows_of_cases(cases)


def _as_holder(by: Holder | str) -> Holder:
    """A name alone is that of somebody at this machine, who may do everything."""
    return Holder(name=by, role=Role.OWNER) if isinstance(by, str) else by
