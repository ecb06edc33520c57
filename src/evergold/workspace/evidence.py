"""Evidence for reviewers: from the store, from the row itself, from the flow database and the repository of the settings.

A client names commits, paths and flows; which database and which repository they are looked up in is the settings'
decision alone.
"""

from evergold.extract.flow_cases import evidence_of
from evergold.extract.golden import split
from evergold.model.case import CaseKind
from evergold.model.flow import Evidence, FileAtCommit
from evergold.model.review import CaseKey
from evergold.model.trace import Trace
from evergold.repo.git import Repo
from evergold.review.rows import of_row
from evergold.settings import Settings
from evergold.sources.sidekick import SidekickSource
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.pages import page_of_traces
from evergold.store.trace.traces import get_trace, known_traces
from evergold.workspace.base_commits import NO_REPO

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
        with self._store.db.read() as connection:
            case = get_case(connection, key.dataset, key.id)
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
            if result is None or result.kind != "blob":
                return FileAtCommit(commit=base, path=path, text=None, message=f"no file {path!r} at {base[:12]}")
            if result.size > LARGEST:
                return FileAtCommit(
                    commit=base, path=path, text=None, message=f"{result.size} bytes: too large to show"
                )
            content = repo.objects.read(result.id)
        # As git does: a zero byte in the first 8,000 means binary.
        if b"\0" in content[:8000]:
            return FileAtCommit(commit=base, path=path, text=None, message="a binary file")
        return FileAtCommit(commit=base, path=path, text=content.decode("utf-8", "replace"))

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
