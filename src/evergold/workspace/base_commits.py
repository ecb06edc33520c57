"""Base commits in review: check one, rank candidates for one, and complete the proof of what a person approves."""

from collections.abc import Sequence
from typing import Any

from evergold.errors import BadInput
from evergold.extract.base_commit import Settled, overridden, override_of, ranked_candidates, settle
from evergold.extract.diff import parse_diff
from evergold.formats.dataset_ab import case_of_rows, row_a, row_b
from evergold.model.case import Case, CaseKind, ReviewState
from evergold.model.flow import BaseCandidate, BaseCheck, ProvedRow
from evergold.model.review import Decision, ReviewVerdict
from evergold.repo.git import Repo
from evergold.repo.history import applies
from evergold.review.decide import edited
from evergold.settings import Settings

NO_REPO = "no repository is set; name it with review.repo_dir"
MOST_CANDIDATES = 8
PROOF = {
    None: "in the repository",
    True: "in the repository, and the diff applies",
    False: "the diff does not apply to it",
}
SETTLED_FIELDS = ("base_commit", "ranges", "paths", "metadata")


class BaseCommits:
    """What the repository of the settings says about base commits. A client never names the repository."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.review_repo_dir

    def check(self, commit: str, diff: str | None) -> BaseCheck:
        """Check whether a commit exists and the golden diff applies to it."""
        if self._folder is None:
            return BaseCheck(commit=commit, exists=False, message=NO_REPO)
        with Repo.open(self._folder) as repo:
            full = repo.objects.commit(commit)
            if full is None:
                return BaseCheck(commit=commit, exists=False, message="no such commit in the repository")
            # Diffs may hold bytes that are no UTF-8; they came in by `surrogateescape` and go out the same way.
            proved = applies(repo, full, diff.encode("utf-8", "surrogateescape")) if diff else None
        return BaseCheck(commit=full, exists=True, applies=proved, message=f"{full[:12]}: {PROOF[proved]}")

    def candidates(self, diff: str, target_branch: str | None = None) -> list[BaseCandidate]:
        """Rank commits of the target's history that may be the base of a change, proved ones first."""
        if self._folder is None:
            return []
        with Repo.open(self._folder) as repo:
            ranked = ranked_candidates(repo, target_branch, parse_diff(diff))[:MOST_CANDIDATES]
            listed = [_described(repo, item.commit, tuple(item.evidence), diff) for item in ranked]
        return sorted(listed, key=lambda candidate: not candidate.proved)

    def prove_rows(self, a: dict[str, Any] | None, b: dict[str, Any] | None, diff: str | None) -> ProvedRow:
        """Complete the rows of a case before a person marks it validated in the validator."""
        case = case_of_rows(a, b)
        settled = self._settle(case, diff) or Settled(case)
        return ProvedRow(a=row_a(settled.case), b=row_b(settled.case), problems=settled.problems)

    def settle_decision(self, case: Case, decision: Decision, diff: str | None, reviewer: str) -> Decision:
        """Add the proof to an approval; raise BadInput where the base is disproved and the reviewer did not insist."""
        if decision.verdict is not ReviewVerdict.APPROVE or case.kind is not CaseKind.CONTEXT:
            return decision
        # The decision may bring edits along: the proof is made for the case as it will be, not as it is.
        draft = edited(case, decision.changes)
        settled = self._settle(draft, diff)
        if settled is None:
            return decision
        if settled.problems and not decision.override_base:
            reasons = "; ".join(settled.problems)
            raise BadInput(
                f"case {case.id!r} cannot be approved: {reasons}; mend it, or approve with override_base",
                problems=settled.problems,
            )
        final = settled.case
        if settled.problems:
            final = overridden(settled.case, reviewer, decision.comment, settled.problems)
        content = final.model_dump(mode="json", include=set(SETTLED_FIELDS))
        return decision.model_copy(update={"changes": {**decision.changes, **content}})

    def settle_rows(self, cases: Sequence[Case]) -> tuple[list[Case], list[str]]:
        """Complete validated rows; one whose base is disproved without an override stays unvalidated and is named."""
        done: list[Case] = []
        problems: list[str] = []
        for case in cases:
            # Rows that nobody validated may still be wrong about their base; they are drafts.
            settled = self._settle(case, None) if case.review is ReviewState.VALIDATED else None
            if settled is None:
                done.append(case)
            elif settled.problems and override_of(case) is None:
                problems.append(f"case {case.id!r}: cannot approve: {'; '.join(settled.problems)}")
                done.append(case.model_copy(update={"review": ReviewState.UNVALIDATED}))
            else:
                done.append(settled.case)
        return done, problems

    def _settle(self, case: Case, diff: str | None) -> Settled | None:
        if self._folder is None or not case.base_commit:
            return None
        with Repo.open(self._folder) as repo:
            return settle(case, repo, diff)


def _described(repo: Repo, commit: str, evidence: tuple[str, ...], diff: str) -> BaseCandidate:
    subject, _, when = (
        repo.run("log", "-1", "--format=%s%x00%cI", commit, "--").decode("utf-8", "replace").partition("\0")
    )
    proved = applies(repo, commit, diff.encode("utf-8", "surrogateescape"))
    return BaseCandidate(
        commit=commit, subject=subject, committed_at=when.strip() or None, proved=proved, evidence=evidence
    )
