"""Evidence: from a real flow database, a real repository, a trace in the store, and the row itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold.errors import NotFound
from evergold.model.case import CaseKind, Provenance
from evergold.model.flow import CodeChange
from evergold.model.review import CaseKey
from evergold.settings import Settings
from evergold.store.trace.traces import put_traces
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case, a_score, a_trace
from tests.repos import GitRepo, numbered
from tests.sidekick_db import SidekickDb


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    return GitRepo(tmp_path / "repo")


@pytest.fixture
def workspace(tmp_path: Path, repo: GitRepo) -> Iterator[Workspace]:
    settings = Settings(
        home=tmp_path / "home", review_repo_dir=repo.path, review_sidekick_db=tmp_path / "sidekick.core.db"
    )
    with Workspace.open(settings) as opened:
        yield opened


def test_a_flow_gives_the_approved_diff_the_tool_calls_and_a_suggestion(workspace: Workspace, tmp_path: Path) -> None:
    db = SidekickDb(tmp_path / "sidekick.core.db")
    db.task(description="Make uploads retry")
    db.flow()
    db.action("tool_call.read_file_lines", {"file_lines": [{"file_path": "a.go", "line_number": 3}]}, "File: a.go")
    db.approval("diff --git a/a.go b/a.go\n", approved=False)
    case_id = db.approval("diff --git a/b.go b/b.go\n")
    found = workspace.review.evidence.of_flow("ws", "flow", case_id)
    assert found.diff == "diff --git a/b.go b/b.go\n"
    assert [call.name for call in found.tool_calls] == ["read_file_lines"]
    assert found.suggested_queries == ("Make uploads retry",)
    stored = a_case(
        case_id, dataset="context", kind=CaseKind.CONTEXT, provenance=Provenance(workspace_id="ws", flow_id="flow")
    )
    workspace.cases.put([stored])
    assert workspace.review.evidence.of_case(CaseKey(dataset="context", id=case_id)) == found
    assert "is not in the flow database" in (workspace.review.evidence.of_flow("ws", "flow", "other").missing or "")


def test_a_base_commit_is_looked_up_and_proved(workspace: Workspace, repo: GitRepo) -> None:
    base = repo.commit({"a.txt": numbered(5)})
    later = repo.commit({"a.txt": numbered(5, l2="two")})
    diff = repo.diff(base, later).decode()
    bases = workspace.review.bases
    change = CodeChange(diff=diff)
    good, bad, gone = (bases.check(name, change) for name in (base[:10], later, "f" * 40))
    assert (good.commit, good.exists, good.applies) == (base, True, True)
    assert (bad.exists, bad.applies) == (True, False)
    assert (gone.exists, gone.applies) == (False, None)


def test_a_file_at_a_commit(workspace: Workspace, repo: GitRepo) -> None:
    base = repo.commit({"a.txt": numbered(3), "blob.bin": b"\0\1"})
    room = workspace.review.evidence
    assert room.file(base, "a.txt").text == numbered(3)
    assert room.file(base, "blob.bin").message == "a binary file"
    assert "no file" in room.file(base, "../../etc/passwd").message
    with pytest.raises(NotFound):
        room.file("--output=/x", "a.txt")


def test_a_chat_case_has_its_trace_and_the_turns_around_it(workspace: Workspace) -> None:
    turns = [a_trace(f"t{n}", session_id="s", scores=(a_score(),)) for n in range(3)]
    workspace.store.db.write(lambda connection: put_traces(connection, turns))
    workspace.cases.put(
        [a_case("c", provenance=Provenance(trace_id="t1")), a_case("lost", provenance=Provenance(trace_id="gone"))]
    )
    found = workspace.review.evidence.of_case(CaseKey(dataset="live", id="c"))
    assert found.trace is not None
    assert (found.trace.id, len(found.trace.scores), len(found.conversation)) == ("t1", 1, 3)
    assert workspace.review.evidence.of_case(CaseKey(dataset="live", id="lost")).missing is not None


def test_evidence_that_travelled_with_the_row_and_a_foreign_key_of_that_name(workspace: Workspace) -> None:
    ours = a_case("ours", extra={"evidence": {"diff": "d", "tool_calls": [{"id": "1", "name": "read"}]}})
    foreign = a_case("foreign", extra={"evidence": {"diff": 7}})
    workspace.cases.put([ours, foreign])
    room = workspace.review.evidence
    assert room.of_case(CaseKey(dataset="live", id="ours")).diff == "d"
    assert room.of_case(CaseKey(dataset="live", id="foreign")).missing is not None


def test_without_settings_it_says_what_to_set(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        room = workspace.review.evidence
        assert "review.sidekick_db" in (room.of_flow("ws", "f", "c").missing or "")
        assert "review.repo_dir" in workspace.review.bases.check("abc", CodeChange()).message
        assert "review.repo_dir" in room.file("abc", "a").message


def test_the_command_names_the_repository_and_the_flow_database(repo: GitRepo, tmp_path: Path) -> None:
    db = SidekickDb(tmp_path / "sidekick.core.db")
    db.task()
    db.flow()
    case_id = db.approval("diff --git a/b.go b/b.go\n")
    base = repo.commit({"a.txt": numbered(3)})
    words = (
        "review",
        "--no-browser",
        "--repo-dir",
        str(repo.path),
        "--sidekick-db",
        str(tmp_path / "sidekick.core.db"),
    )
    with served(tmp_path, *words) as address, calling(f"{address.rpartition('/dev')[0]}/api/v1") as client:
        flow = {"workspace_id": "ws", "flow_id": "flow", "case_id": case_id}
        shown = client.get("/review/evidence/flow", params=flow).json()
        assert (shown["diff"], shown.get("missing")) == ("diff --git a/b.go b/b.go\n", None)
        file = client.get("/review/file", params={"commit": base, "path": "a.txt"}).json()
        assert file["text"] == numbered(3)
