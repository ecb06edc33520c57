"""Evidence for reviewers, and base commits: check one, rank candidates for one, complete the proof of what is approved.

A client names commits, paths and flows; which database and which repository they are looked up in is the settings'
decision alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput
from evergold.extract.base_commit import Settled, overridden, ranked_candidates, settle
from evergold.extract.diff import parse_diff
from evergold.extract.flow_cases import evidence_of
from evergold.extract.golden import split
from evergold.extract.ranges import override_of
from evergold.formats.dataset_ab import case_of_rows, row_a, row_b
from evergold.model.case import Case, CaseKind, ReviewState
from evergold.model.flow import BaseCandidate, BaseCheck, Evidence, FileAtCommit, ProvedRow
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.trace import Trace
from evergold.repo.git import Repo
from evergold.repo.history import applies
from evergold.settings import Settings
from evergold.sources.sidekick import SidekickSource
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.pages import page_of_traces
from evergold.store.trace.traces import get_trace, known_traces

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
            listed = [_describe(repo, item.commit, item.evidence, diff) for item in ranked]
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
        settled = self._settle(case, diff)
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


def _describe(repo: Repo, commit: str, evidence: tuple[str, ...], diff: str) -> BaseCandidate:
    subject, _, when = (
        repo.run("log", "-1", "--format=%s%x00%cI", commit, "--").decode("utf-8", "replace").partition("\0")
    )
    proved = applies(repo, commit, diff.encode("utf-8", "surrogateescape"))
    return BaseCandidate(
        commit=commit, subject=subject, committed_at=when.strip() or None, proved=proved, evidence=evidence
    )


TURNS = 50
NO_FLOWS = "no flow database is set; name it with review.sidekick_db to see the diff and the tool calls"
# Bytes; nobody reads more than that in a page.
LARGEST = 2_000_000
NO_TRACE = "the trace of this case is not in this workspace"


class EvidenceRoom:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def of_case(self, key: CaseKey) -> Evidence:
        """What is known of a stored case: its trace and conversation, or the flow it was extracted from."""
        case = self._store.read(get_case, key.dataset, key.id)
        origin = case.provenance
        if origin.trace_id:
            return self._of_trace(origin.trace_id)
        kept = of_row(case.extra)
        if kept is not None:
            return kept
        if origin.flow_id:
            return self.of_flow(origin.workspace_id or "", origin.flow_id, case.id)
        if case.kind is CaseKind.CONTEXT and case.base_commit:
            return self.of_commit(str(case.metadata.get("commit") or case.id), case.base_commit)
        return Evidence(missing="this case names no trace, no flow and no commit it came from")

    def of_flow(self, workspace_id: str, flow_id: str, case_id: str) -> Evidence:
        """The approved diff and the tool calls of one case of a flow."""
        database = self._settings.review_sidekick_db
        if database is None:
            return Evidence(missing=NO_FLOWS)
        flow = SidekickSource(workspace_id, database).flow(flow_id)
        if flow is not None:
            # Approved merges end cases; a row extracted with every approval as a boundary is found in the second try.
            for every in (False, True):
                for segment in split(flow, all_approvals=every):
                    if segment.case_id == case_id:
                        return Evidence.model_validate(evidence_of(flow, segment))
        return Evidence(missing=f"flow {flow_id!r} with approval {case_id!r} is not in the flow database")

    def of_commit(self, case_id: str, base_commit: str) -> Evidence:
        """The change of a case that was made from git history: from its base commit to the commit it is named after."""
        if self._settings.review_repo_dir is None:
            return Evidence(missing=NO_REPO)
        with Repo.open(self._settings.review_repo_dir) as repo:
            commit, base = repo.objects.commit(case_id), repo.objects.commit(base_commit)
            if commit is None or base is None:
                return Evidence(missing=f"commit {case_id!r} or its base is not in the repository of review.repo_dir")
            diff = repo.run("diff", "--no-ext-diff", "--no-textconv", "--no-color", "-M", base, commit, "--")
        if len(diff) > LARGEST:
            return Evidence(missing=f"the diff has {len(diff)} bytes: too large to show")
        return Evidence(diff=diff.decode("utf-8", "replace"))

    def file(self, commit: str, path: str) -> FileAtCommit:
        """A file as it was at a commit."""
        if self._settings.review_repo_dir is None:
            return FileAtCommit(commit=commit, path=path, text=None, message=NO_REPO)
        with Repo.open(self._settings.review_repo_dir) as repo:
            base = repo.objects.require_commit(commit)
            # The repository itself would refuse these paths; the message for a reader is clearer this way.
            inside = not path.startswith("/") and ".." not in path.split("/")
            result = repo.objects.at(base, path) if inside else None
            text = None
            if result is None or result.kind != "blob":
                message = f"no file {path!r} at {base[:12]}"
            elif result.size > LARGEST:
                message = f"{result.size} bytes: too large to show"
            # As git does: a zero byte in the first 8,000 means binary.
            elif b"\0" in (content := repo.objects.read(result.id))[:8000]:
                message = "a binary file"
            else:
                text, message = content.decode("utf-8", "replace"), ""
        return FileAtCommit(commit=base, path=path, text=text, message=message)

    def _of_trace(self, trace_id: str) -> Evidence:
        with self._store.db.read() as connection:
            if not known_traces(connection, [trace_id]):
                return Evidence(missing=NO_TRACE)
            trace = get_trace(connection, trace_id)
            turns: list[Trace] = []
            if trace.session_id:
                turns, _ = page_of_traces(
                    connection, TraceFilter(session_id=trace.session_id), limit=TURNS, before=None
                )
        in_order = sorted(turns, key=lambda turn: (turn.started_at is None, turn.started_at, turn.id))
        return Evidence(trace=trace, conversation=tuple(in_order))


def of_row(kept: Mapping[str, Any]) -> Evidence | None:
    """What the row carries, where it is of our shape; another tool's key of that name is not ours to read."""
    body = kept.get("evidence")
    if not isinstance(body, dict):
        return None
    try:
        return Evidence.model_validate({name: body[name] for name in Evidence.model_fields if name in body})
    except ValidationError:
        return None
