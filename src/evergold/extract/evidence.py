"""Evidence for reviewers, and base commits: check one, rank candidates for one, complete the proof of what is approved.

A client names commits, paths and flows; which database and which repository they are looked up in is the settings'
decision alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput
from evergold.extract.flow_cases import evidence_of
from evergold.extract.golden import split
from evergold.extract.proof import OVERRIDE, SHALLOW, Settled, commit_of, find_bases, override_of, settle
from evergold.formats.dataset_ab import case_of_rows, row_a, row_b
from evergold.model.case import Case, CaseKind, ReviewState
from evergold.model.flow import BaseCandidate, BaseCheck, CodeChange, Evidence, FileAtCommit, ProvedRow
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.repo.git import Repo
from evergold.settings import Settings
from evergold.sources.sidekick import SidekickSource
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.pages import page_of_traces
from evergold.store.trace.traces import get_trace, known_traces

NO_REPO = "no repository is set; name it with review.repo_dir"
MOST_CANDIDATES = 8
Row = dict[str, Any]


class BaseCommits:
    """What the repository of the settings says about base commits. A client never names the repository."""

    def __init__(self, settings: Settings) -> None:
        self._folder = settings.review_repo_dir

    def check(self, commit: str, change: CodeChange, a: Row | None = None, b: Row | None = None) -> BaseCheck:
        """Prove that a change was made on a commit; with the rows of the case, also that their golden lines are there."""
        case = case_of_rows(a, b) if a or b else Case(id="row", dataset="context", kind=CaseKind.CONTEXT, input="")
        settled = self._settle(case.model_copy(update={"base_commit": commit}), change)
        if settled is None:
            return BaseCheck(commit=commit, exists=False, message=NO_REPO)
        full = settled.case.base_commit or commit
        exists = not any("not in the repository" in problem for problem in settled.problems)
        proved = None if not change.diff and not settled.problems else not settled.problems
        message = "; ".join(settled.problems) or f"{full[:12]}: {'proved' if proved else 'in the repository'}"
        return BaseCheck(
            commit=full,
            exists=exists,
            applies=proved if exists else None,
            message=message,
            problems=settled.problems,
            evidence=settled.evidence,
        )

    def candidates(self, change: CodeChange) -> list[BaseCandidate]:
        """The commits at which a change proves, the likeliest first."""
        if self._folder is None:
            return []
        results: list[BaseCandidate] = []
        with Repo.open(self._folder) as repo:
            for proof in find_bases(change, repo, MOST_CANDIDATES):
                text = repo.run("log", "-1", "--format=%s%x00%cI", str(proof.commit), "--").decode("utf-8", "replace")
                subject, _, when = text.rstrip().partition("\0")
                shown = {"subject": subject, "committed_at": when or None, "evidence": proof.evidence}
                results.append(BaseCandidate(commit=str(proof.commit), proved=True, **shown))
        return results

    def prove_rows(self, a: Row | None, b: Row | None, change: CodeChange) -> ProvedRow:
        """Complete the rows of a case before a person marks it validated in the validator."""
        case = case_of_rows(a, b)
        settled = self._settle(case, change) or Settled(case)
        return ProvedRow(a=row_a(settled.case), b=row_b(settled.case), problems=settled.problems)

    def settle_decision(self, case: Case, decision: Decision, change: CodeChange, reviewer: str) -> Decision:
        """Add the proof to an approval; raise BadInput where the base is disproved and the reviewer gave no reason."""
        if decision.verdict is not ReviewVerdict.APPROVE or case.kind is not CaseKind.CONTEXT:
            return decision
        settled = self._settle(case, change)
        if settled is None:
            return decision
        if settled.problems and not (decision.override_base and decision.comment.strip()):
            reasons = "; ".join(settled.problems)
            raise BadInput(
                f"case {case.id!r} cannot be approved: {reasons}; mend it, or approve with override_base "
                "and the reason as comment",
                problems=settled.problems,
            )
        content = settled.case.model_dump(mode="json", include={"base_commit", "ranges", "paths", "metadata"})
        if settled.problems:
            # It is kept with the case that a person approved it against what the repository says.
            note = {"by": reviewer, "why": decision.comment, "problems": list(settled.problems)}
            content["metadata"].pop("baseVerified", None)
            content["metadata"][OVERRIDE] = note | {"base": settled.case.base_commit}
        return decision.model_copy(update={"changes": {**decision.changes, **content}})

    def settle_rows(
        self, cases: Sequence[Case], changes: Callable[[Case], CodeChange] = lambda case: CodeChange()
    ) -> tuple[list[Case], list[str]]:
        """Complete validated rows; one whose base is disproved without a written reason stays open and is named."""
        # Rows that nobody validated may still be wrong about their base, unless they bring the change to prove it with.
        claimed = [
            case.kind is CaseKind.CONTEXT
            and bool(case.base_commit)
            and (case.review is ReviewState.VALIDATED or bool((kept := of_row(case.extra)) and kept.diff))
            for case in cases
        ]
        if self._folder is None or not any(claimed):
            return list(cases), []
        done: list[Case] = []
        problems: list[str] = []
        # The repository is opened once: its history is read for the first case and kept for the others.
        with Repo.open(self._folder) as repo:
            for case, wanted in zip(cases, claimed, strict=True):
                settled = settle(case, repo, changes(case)) if wanted else Settled(case)
                if case.review is not ReviewState.VALIDATED:
                    # A base that is not here says nothing: the file may hold cases of many repositories.
                    disproved = settled.problems and repo.objects.commit(case.base_commit or "")
                    done.append(case if settled.problems else settled.case)
                    if disproved:
                        known = {name: value for name, value in case.metadata.items() if name != "baseVerified"}
                        done[-1] = case.model_copy(update={"metadata": known})
                        problems.append(f"case {case.id!r}: its base is disproved: {'; '.join(settled.problems)}")
                elif settled.problems and not _states_reason(case):
                    problems.append(f"case {case.id!r}: cannot approve: {'; '.join(settled.problems)}")
                    done.append(case.model_copy(update={"review": ReviewState.UNVALIDATED}))
                else:
                    done.append(settled.case)
        return done, problems

    def _settle(self, case: Case, change: CodeChange) -> Settled | None:
        if self._folder is None or not case.base_commit:
            return None
        with Repo.open(self._folder) as repo:
            return settle(case, repo, change)


def _states_reason(case: Case) -> bool:
    """Whether a person gave a reason to approve this base against the repository; a reason for another base is none."""
    note = override_of(case) or {}
    return bool(str(note.get("why") or "").strip()) and note.get("base", case.base_commit) == case.base_commit


TURNS = 50
# Bytes; nobody reads more than that in a page.
LARGEST = 2_000_000


class EvidenceRoom:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def of_case(self, key: CaseKey) -> Evidence:
        """What is known of a stored case: its trace and conversation, or the flow it was extracted from."""
        return self.of(self._store.read(get_case, key.dataset, key.id))

    def change_of(self, case: Case) -> CodeChange:
        """The change a context case was made of, where it is known."""
        return self.of(case) if case.kind is CaseKind.CONTEXT else CodeChange()

    def of(self, case: Case) -> Evidence:
        """What is known of a case, stored or not."""
        origin = case.provenance
        if origin.trace_id:
            with self._store.db.read() as connection:
                if not known_traces(connection, [origin.trace_id]):
                    return Evidence(missing="the trace of this case is not in this workspace")
                trace = get_trace(connection, origin.trace_id)
                wanted = TraceFilter(session_id=trace.session_id)
                turns = page_of_traces(connection, wanted, limit=TURNS, before=None)[0] if trace.session_id else []
            # They are read newest first.
            return Evidence(trace=trace, conversation=tuple(reversed(turns)))
        kept = of_row(case.extra)
        if kept is not None:
            return kept
        if case.kind is CaseKind.CONTEXT and (commit := commit_of(case)):
            return self.of_commit(commit)
        if origin.flow_id:
            return self.of_flow(origin.workspace_id or "", origin.flow_id, case.id)
        return Evidence(missing="this case names no trace, no flow and no commit it came from")

    def of_flow(self, workspace_id: str, flow_id: str, case_id: str) -> Evidence:
        """The approved diff and the tool calls of one case of a flow."""
        database = self._settings.review_sidekick_db
        if database is None:
            lacking = "no flow database is set; name it with review.sidekick_db to see the diff and the tool calls"
            return Evidence(missing=lacking)
        flow = SidekickSource(workspace_id, database).flow(flow_id)
        if flow is not None:
            # Approved merges end cases; a row extracted with every approval as a boundary is found in the second try.
            for every in (False, True):
                for segment in split(flow, all_approvals=every):
                    if segment.case_id == case_id:
                        return Evidence.model_validate(evidence_of(flow, segment))
        return Evidence(missing=f"flow {flow_id!r} with approval {case_id!r} is not in the flow database")

    def of_commit(self, name: str) -> Evidence:
        """The change of a case of git history or of a session: what its commit did to its first parent."""
        if self._settings.review_repo_dir is None:
            return Evidence(missing=NO_REPO)
        with Repo.open(self._settings.review_repo_dir) as repo:
            commit = repo.objects.commit(name)
            base = repo.objects.commit(f"{commit}^1") if commit else None
            if commit is None or base is None:
                what = f"commit {name!r}" if commit is None else f"the parent of commit {name!r}"
                hint = f" ({SHALLOW})" if repo.shallow_commits else ""
                return Evidence(missing=f"{what} is not in the repository of review.repo_dir{hint}")
            diff = repo.run(
                "diff", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index", "-M", base, commit, "--"
            )
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
            result = repo.objects.read_at(base, path) if inside else None
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


def of_row(kept: Mapping[str, Any]) -> Evidence | None:
    """What the row carries, where it is of our shape; another tool's key of that name is not ours to read."""
    body = kept.get("evidence")
    if not isinstance(body, dict):
        return None
    try:
        return Evidence.model_validate({name: body[name] for name in Evidence.model_fields if name in body})
    except ValidationError:
        return None
