"""/review and /decisions: everything the review page does, for scripts too; questions of a dataset's own and their answers."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import BaseModel, Field

from evergold.api.requests import Caller, Opened, Router, Who
from evergold.model.access import Moderation
from evergold.model.build import ValueChange
from evergold.model.case import Assertion, Case, CaseId
from evergold.model.case_actions import SavedView
from evergold.model.flow import BaseCandidate, BaseCheck, CodeChange, Evidence, FileAtCommit, ProvedRow
from evergold.model.limits import UtcTime
from evergold.model.review import (
    MOST_QUESTIONS,
    Agreement,
    Assignment,
    BulkResult,
    CaseFile,
    CaseKey,
    Decision,
    Edit,
    Questionnaire,
    QueuePage,
    QueueQuery,
    ReviewAnswer,
    ReviewerName,
    ReviewProgress,
    ReviewVerdict,
    RowsTaken,
    VersionedKey,
)

router = Router(prefix="/api/v1", tags=["review"])

MANY = 1000


def the_case(
    dataset: Annotated[str, Query(min_length=1, max_length=200)], id: Annotated[CaseId, Query(min_length=1)]
) -> CaseKey:
    return CaseKey(dataset=dataset, id=id)


Key = Annotated[CaseKey, Depends(the_case)]


class QueueParams(QueueQuery):
    """The filters, and which page."""

    limit: Annotated[int, Field(ge=1, le=MANY)] = 100
    offset: Annotated[int, Field(ge=0, le=10_000_000)] = 0


class Me(BaseModel):
    """Who the server takes the caller for, and the rules of this workspace."""

    name: str
    reviewers: list[str]
    reviewers_per_case: int
    lease_minutes: int
    repository: bool
    flows: bool


class Bulk(BaseModel, extra="forbid"):
    """One verdict on many cases."""

    cases: Annotated[list[VersionedKey], Field(min_length=1, max_length=MANY)]
    verdict: ReviewVerdict
    comment: str = ""


class Assigned(BaseModel):
    """How many cases were assigned."""

    assigned: int


class Assign(BaseModel, extra="forbid"):
    """Cases for a reviewer."""

    cases: Annotated[list[CaseKey], Field(min_length=1, max_length=MANY)]
    reviewer: ReviewerName


@router.get("/review/me")
def me(workspace: Opened, who: Who) -> Me:
    """Who I am here, who else reviews, and what evidence this workspace can show."""
    settings = workspace.settings
    return Me(
        name=who,
        reviewers=list(workspace.review.reviewers),
        reviewers_per_case=workspace.review.needed,
        lease_minutes=settings.review_lease_minutes,
        repository=settings.review_repo_dir is not None,
        flows=settings.review_sidekick_db is not None,
    )


@router.get("/review/queue")
def queue(workspace: Opened, params: Annotated[QueueParams, Query()], who: Who) -> QueuePage:
    """A page of the queue, with counts over everything the filters match."""
    # Only what was sent: a default that is written out would count as a filter.
    wanted = QueueQuery(**params.model_dump(exclude={"limit", "offset"}, exclude_unset=True))
    return workspace.review.queue(wanted, who, limit=params.limit, offset=params.offset)


@router.get("/review/case")
def case_file(workspace: Opened, key: Key) -> CaseFile:
    """One case with its missing fields, the opinions on it, its assignee and its history."""
    return workspace.review.case(key)


@router.patch("/review/case")
def edit_case(workspace: Opened, key: Key, edit: Edit, caller: Caller) -> Case:
    """Change fields of the version that was read; 409 if it has changed since."""
    return workspace.review.edit(key, edit, caller)


@router.get("/review/assertions")
def draft_assertions(workspace: Opened, key: Key) -> list[Assertion]:
    """Draft assertions from the comments of reviewers on a case; an edit of its `assertions` accepts them."""
    return workspace.review.draft_assertions(key)


@router.get("/review/difference")
def difference(
    workspace: Opened, key: Key, first: Annotated[int, Query(ge=1)], last: Annotated[int, Query(ge=1)]
) -> dict[str, ValueChange]:
    """Each field that changed from version `first` to version `last`."""
    changes = workspace.review.difference(key, first, last)
    return {field: ValueChange.model_validate(change) for field, change in changes.items()}


@router.post("/decisions")
def decide(workspace: Opened, key: Key, decision: Decision, caller: Caller) -> Case:
    """Record a verdict on the version that was read, with its edits; 409 if it has changed since.

    Reopening a case and `adjudicate`, which settles a dispute, are for editors and owners.
    """
    return workspace.review.decide(key, decision, caller)


@router.post("/decisions/bulk")
def decide_many(workspace: Opened, bulk: Bulk, caller: Caller) -> list[BulkResult]:
    """One verdict on many cases; undo it with `withdraw` on the versions returned."""
    return workspace.review.decide_many(bulk.cases, bulk.verdict, caller, bulk.comment)


@router.post("/review/claims")
def claim(workspace: Opened, query: QueueQuery, who: Who) -> CaseFile | None:
    """Claim the next case for the length of the lease; null when none is left."""
    return workspace.review.claim(query, who)


@router.put("/review/claims", status_code=204)
def renew(workspace: Opened, key: Key, who: Who) -> None:
    """Prolong my claim."""
    workspace.review.renew(key, who)


@router.get("/review/assignments")
def assignments(workspace: Opened, reviewer: str | None = None) -> list[Assignment]:
    """List which cases are assigned to whom."""
    return workspace.review.assignments(reviewer)


@router.post("/review/assignments")
def assign(workspace: Opened, wanted: Assign) -> Assigned:
    """Assign cases to a reviewer."""
    return Assigned(assigned=workspace.review.assign(wanted.cases, wanted.reviewer))


@router.delete("/review/assignments", status_code=204)
def release(workspace: Opened, key: Key, reviewer: Annotated[str, Query(min_length=1)], caller: Caller) -> None:
    """Remove my assignment; editors and owners remove those of others too."""
    workspace.review.release(key, reviewer, caller)


@router.get("/review/agreement")
def agreement(workspace: Opened, dataset: str | None = None) -> Agreement:
    """Cohen's and Fleiss' kappa with intervals; an undefined one with the reason."""
    return workspace.review.agreement(dataset)


@router.get("/review/progress")
def progress(workspace: Opened, day_began: UtcTime | None = None) -> ReviewProgress:
    """Progress per dataset and per reviewer; `day_began` is since when "today" counts, midnight UTC unless given."""
    return workspace.review.progress(day_began)


@router.get("/review/views")
def views(workspace: Opened) -> list[SavedView]:
    """Saved views of the queue, as queries; the same as `GET /api/v1/views?page=review`."""
    return workspace.review.views()


@router.put("/review/views")
def save_view(workspace: Opened, view: SavedView, caller: Caller) -> SavedView:
    """Save a view under its name; mine of that name is replaced, that of others by editors and owners alone."""
    return workspace.review.save_view(view, caller)


@router.delete("/review/views", status_code=204)
def delete_view(workspace: Opened, name: Annotated[str, Query(min_length=1)], caller: Caller) -> None:
    """Delete my saved view; editors and owners delete those of others too, which is recorded."""
    workspace.review.delete_view(name, caller)


@router.get("/review/moderations")
def moderations(workspace: Opened, limit: Annotated[int, Query(ge=1, le=MANY)] = 100) -> list[Moderation]:
    """What editors and owners changed of the work of others, the newest first."""
    return workspace.review.moderations(limit)


class ProveQuestion(CodeChange, frozen=True, extra="forbid"):
    """The rows of one case, and the change it was made of as far as it is known."""

    a: dict[str, Any] | None = None
    b: dict[str, Any] | None = None


class BaseQuestion(ProveQuestion, frozen=True, extra="forbid"):
    """A commit, and the change that should prove there; with the rows of the case their lines must be there too."""

    commit: Annotated[str, Field(min_length=1, max_length=200)]


@router.get("/review/evidence")
def evidence(workspace: Opened, key: Key) -> Evidence:
    """What is known of a stored case's origin: trace and conversation, or diff and tool calls."""
    return workspace.review.evidence.of_case(key)


@router.get("/review/evidence/flow")
def flow_evidence(
    workspace: Opened, case_id: str, flow_id: str = "", workspace_id: str = "", base_commit: str = ""
) -> Evidence:
    """The approved diff and the tool calls of one case of a flow, for rows that are not in the store.

    A case of git history or of a session log is named after its commit, which says all; `base_commit` is not used.
    """
    if not flow_id or not workspace_id:
        return workspace.review.evidence.of_commit(case_id)
    return workspace.review.evidence.of_flow(workspace_id, flow_id, case_id)


@router.post("/review/base")
def check_base(workspace: Opened, question: BaseQuestion) -> BaseCheck:
    """Whether a commit is in the repository and the change proves there, as saving will decide."""
    return workspace.review.bases.check(question.commit, question, question.a, question.b)


@router.post("/review/base/candidates")
def base_candidates(workspace: Opened, question: CodeChange) -> list[BaseCandidate]:
    """Commits at which a change proves, the likeliest first: the first is the one that extraction takes."""
    return workspace.review.bases.candidates(question)


@router.post("/review/prove")
def prove_rows(workspace: Opened, question: ProveQuestion) -> ProvedRow:
    """Complete rows with full commit id, blobs and text hashes, and name what disproves their base commit."""
    return workspace.review.bases.prove_rows(question.a, question.b, question)


@router.get("/review/file")
def file_at_commit(workspace: Opened, commit: str, path: str) -> FileAtCommit:
    """A file as it was at a commit of the repository in the settings."""
    return workspace.review.evidence.file(commit, path)


class RowsIn(BaseModel, extra="forbid"):
    """Rows as in the files; `versions` are those last seen, by case; `replace` overwrites the work of others too."""

    rows: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=20_000)]
    dataset: Annotated[str, Field(min_length=1, max_length=200)] = "context"
    versions: dict[str, Annotated[int, Field(ge=1)]] = {}
    replace: bool = False


class RowsOut(BaseModel):
    """Rows of both datasets with the version of each case, and the cases left out with what they lack."""

    a: list[dict[str, Any]]
    b: list[dict[str, Any]]
    left_out: list[dict[str, Any]]
    versions: dict[str, int]


@router.post("/review/rows")
def take_rows(workspace: Opened, given: RowsIn, caller: Caller) -> RowsTaken:
    """Bring rows of dataset A and B into the workspace; a row marked validated is the sender's approval.

    `replace`, which overwrites the work of others too, is for editors and owners.
    """
    return workspace.review.take_rows(given.rows, caller, given.dataset, given.replace, given.versions)


@router.get("/review/rows")
def give_rows(workspace: Opened, dataset: str = "context", unvalidated: bool = False) -> RowsOut:
    """The validated rows of dataset A and B; with `unvalidated` every active case, to go on with elsewhere."""
    return RowsOut(**workspace.review.give_rows(dataset, unvalidated))


Dataset = Annotated[str, Query(min_length=1, max_length=200)]


class AnswersIn(BaseModel, extra="forbid"):
    """Question → answer; null takes an answer back."""

    answers: Annotated[dict[str, Any], Field(min_length=1, max_length=MOST_QUESTIONS)]


@router.get("/review/questions")
def get_questions(workspace: Opened, dataset: Dataset) -> Questionnaire:
    """The questions that reviewers of a dataset answer."""
    return workspace.review.questions(dataset)


@router.put("/review/questions")
def set_questions(workspace: Opened, dataset: Dataset, wanted: Questionnaire, who: Who) -> Questionnaire:
    """Replace the questions of a dataset; answers to questions that are gone stay stored and count no more."""
    return workspace.review.set_questions(dataset, wanted, who)


@router.put("/review/answers")
def answer(workspace: Opened, key: Key, given: AnswersIn, who: Who) -> list[ReviewAnswer]:
    """Store my answers on a case; returns everybody's."""
    return workspace.review.answer(key, given.answers, who)
