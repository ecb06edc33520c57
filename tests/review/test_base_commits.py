"""Base commits in review: candidates by content, the proof an approval writes, and the override that stays with a case."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from evergold.errors import BadInput
from evergold.extract.proof import prove_rows
from evergold.formats.dataset_ab import row_a, row_b
from evergold.model.case import Case, CaseKind, LineRange, Provenance, RankedPath, ReviewState
from evergold.model.flow import CodeChange
from evergold.model.review import CaseKey, Decision, ReviewVerdict, VersionedKey
from evergold.repo.git import Repo
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.repos import GitRepo, numbered

KEY = CaseKey(dataset="context", id="c1")


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"a.py": numbered(9)})
    made.git("tag", "base")
    made.commit({"a.py": numbered(9, l4="four")})
    made.git("tag", "work")
    made.commit({"a.py": "rewritten\n"})
    return made


@pytest.fixture
def workspace(tmp_path: Path, repo: GitRepo) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home", review_repo_dir=repo.path)) as opened:
        yield opened


def commit(repo: GitRepo, name: str) -> str:
    return repo.git("rev-parse", name).strip()


def context_case(base: str, diff: str, line: int = 4) -> Case:
    return a_case(
        KEY.id,
        dataset="context",
        kind=CaseKind.CONTEXT,
        base_commit=base,
        paths=(RankedPath(path="a.py", sources=("review_merge_diff",)),),
        ranges=(LineRange(path="a.py", start=line, end=line, sources=("golden_diff",)),),
        extra={"evidence": {"diff": diff}},
        provenance=Provenance(source="sidekick", flow_id="f"),
    )


def approve(workspace: Workspace, **more: Any) -> Case:
    version = workspace.review.case(KEY).case.version
    return workspace.review.decide(KEY, Decision(version=version, verdict=ReviewVerdict.APPROVE, **more), "ana")


def test_approving_writes_the_full_commit_blobs_and_text_hashes(workspace: Workspace, repo: GitRepo) -> None:
    diff = repo.diff("base", "work").decode()
    workspace.cases.put([context_case(commit(repo, "base")[:9], diff)])
    case = approve(workspace)
    assert case.review is ReviewState.VALIDATED
    assert case.base_commit == commit(repo, "base")
    assert case.ranges[0].text_hash and case.ranges[0].blob == commit(repo, "base:a.py")
    assert case.metadata["baseVerified"] is True
    with Repo.open(repo.path) as opened:
        (proof,) = prove_rows([case], opened)
    assert not proof.stale and not proof.unproved_ranges


@pytest.mark.parametrize(
    ("base", "line", "reason"),
    [
        ("work", 4, "does not apply"),
        ("HEAD", 4, "only 1 lines"),
        ("0" * 40, 4, "not in the repository"),
    ],
)
def test_a_disproved_base_cannot_be_approved_without_an_override(
    workspace: Workspace, repo: GitRepo, base: str, line: int, reason: str
) -> None:
    known = base if base.startswith("0") else commit(repo, base)
    workspace.cases.put([context_case(known, repo.diff("base", "work").decode(), line)])
    with pytest.raises(BadInput, match=reason):
        approve(workspace)
    # An override says why, in words.
    with pytest.raises(BadInput, match="the reason as comment"):
        approve(workspace, override_base=True, comment=" ")
    key = VersionedKey(**KEY.model_dump(), version=workspace.review.case(KEY).case.version)
    (many,) = workspace.review.decide_many([key], ReviewVerdict.APPROVE, "ana")
    assert reason in (many.error or "") and workspace.review.case(KEY).case.review is ReviewState.UNVALIDATED
    case = approve(workspace, override_base=True, comment="the branch was rewritten")
    assert case.review is ReviewState.VALIDATED
    assert case.metadata["baseOverride"]["by"] == "ana"
    assert any(reason in problem for problem in case.metadata["baseOverride"]["problems"])
    assert "baseVerified" not in case.metadata
    rows = workspace.review.give_rows("context")
    assert rows["a"][0]["baseOverride"]["why"] == "the branch was rewritten"


def test_a_row_validated_on_a_disproved_base_stays_open_and_is_named(workspace: Workspace, repo: GitRepo) -> None:
    diff = repo.diff("base", "work").decode()
    workspace.cases.put([context_case(commit(repo, "base"), diff)])
    approve(workspace)
    rows = workspace.review.give_rows("context")
    moved = {"baseCommit": commit(repo, "HEAD"), "caseId": "c2"}
    lines = [{"path": "a.py", "startLine": 4, "endLine": 4, "sources": ["golden_diff"]}]
    taken = workspace.review.take_rows(
        [rows["a"][0] | moved, rows["b"][0] | moved | {"lineRanges": lines}], "ana", "other"
    )
    assert any("cannot approve" in problem and "only 1 lines" in problem for problem in taken.problems)
    assert workspace.review.case(CaseKey(dataset="other", id="c2")).case.review is ReviewState.UNVALIDATED


def test_an_imported_row_on_a_disproved_base_needs_a_written_reason(
    workspace: Workspace, repo: GitRepo, tmp_path: Path
) -> None:
    diff = repo.diff("base", "work").decode()
    workspace.cases.put([context_case(commit(repo, "base"), diff)])
    approve(workspace)
    row = workspace.review.give_rows("context")["b"][0] | {
        "baseCommit": commit(repo, "HEAD"),
        "evidence": {"diff": diff},
    }
    states = []
    for why in (None, "", "the branch was rewritten"):
        note: dict[str, Any] = {} if why is None else {"baseOverride": {"by": "ana", "why": why, "problems": []}}
        path = tmp_path / "dataset_b_line_ranges.validated.jsonl"
        path.write_text(json.dumps(row | note | {"caseId": f"c-{why}"}) + "\n")
        _, problems = workspace.cases.import_file(path, dataset="other")
        state = workspace.review.case(CaseKey(dataset="other", id=f"c-{why}")).case.review
        states.append((state is ReviewState.VALIDATED, len(problems)))
    assert states == [(False, 1), (False, 1), (True, 0)]


def test_what_the_validator_shows_green_is_accepted(workspace: Workspace, repo: GitRepo) -> None:
    """The change proves at the base, yet a golden line of the row is not there."""
    change = CodeChange(diff=repo.diff("base", "work").decode())
    case = context_case(commit(repo, "base"), change.diff or "", line=12)
    check = workspace.review.bases.check(commit(repo, "base"), change, row_a(case), row_b(case))
    assert check.applies is False and "only 9 lines" in check.message
    assert workspace.review.bases.check(commit(repo, "base"), change).evidence == (
        f"commit {commit(repo, 'work')[:12]} makes exactly this change",
    )
    other = re.sub(r"index \w+", "index 1234567", change.diff or "")
    assert workspace.review.bases.candidates(CodeChange(diff=other)) == []


def test_candidates_are_ranked_with_what_speaks_for_each(workspace: Workspace, repo: GitRepo) -> None:
    best, *_ = workspace.review.bases.candidates(
        CodeChange(diff=repo.diff("base", "work").decode(), target_branch="main")
    )
    assert best.commit == commit(repo, "base") and best.proved
    assert "makes exactly this change" in best.evidence[0]


def test_a_case_from_git_history_shows_its_diff(workspace: Workspace, repo: GitRepo) -> None:
    case = context_case(commit(repo, "base"), "").model_copy(
        update={"id": commit(repo, "work"), "extra": {}, "provenance": Provenance(source="git")}
    )
    workspace.cases.put([case])
    shown = workspace.review.evidence.of_case(CaseKey(dataset="context", id=case.id))
    assert shown.diff is not None and "+four" in shown.diff
    assert workspace.review.evidence.of_commit("f" * 40).missing


@pytest.mark.parametrize("source", ["git", "claude-code"])
def test_page_check_and_import_agree_on_a_row_whose_commit_was_made_elsewhere(
    source: str, workspace: Workspace, repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lines stand at both bases; only the change that the commit made tells them apart."""
    repo.commit({"b.py": numbered(3)}, "Beside it")
    work = repo.commit({"b.py": numbered(3, l2="two"), "c.py": "x = 1\n"}, "Two is a word")
    repo.commit({"b.py": numbered(4)}, "Write it anew")
    verdicts = []
    for base in (commit(repo, f"{work}~1"), commit(repo, "HEAD")):
        paths = (RankedPath(path="b.py", sources=("review_merge_diff",)),)
        ranges = (LineRange(path="b.py", start=2, end=2, sources=("golden_diff",)),)
        origin = Provenance(source=source, flow_id="s-1" if source != "git" else None)
        update = {"id": work, "paths": paths, "ranges": ranges, "provenance": origin, "metadata": {"commit": work}}
        case = context_case(base, "").model_copy(update=update | {"extra": {}, "review": ReviewState.VALIDATED})
        change = workspace.review.evidence.change_of(case)
        question = CodeChange.model_validate(change.model_dump(include=set(CodeChange.model_fields)))
        check = workspace.review.bases.check(base, question, row_a(case), row_b(case))
        path = tmp_path / "dataset_b_line_ranges.validated.jsonl"
        path.write_text(json.dumps(row_b(case)) + "\n")
        _, problems = workspace.cases.import_file(path, dataset="other")
        stored = workspace.review.case(CaseKey(dataset="other", id=work)).case.review is ReviewState.VALIDATED
        stale = run(["check", str(path), "--repo", str(repo.path)])
        verdicts.append((check.applies, stored, not problems, not stale))
    assert verdicts == [(True,) * 4, (False,) * 4]
    assert "does not apply" in capsys.readouterr().out


def test_a_reason_for_another_base_is_none(workspace: Workspace, repo: GitRepo) -> None:
    workspace.cases.put([context_case(commit(repo, "HEAD"), repo.diff("base", "work").decode())])
    approve(workspace, override_base=True, comment="the branch was rewritten")
    rows = workspace.review.give_rows("context")
    diff = {"evidence": {"diff": repo.diff("base", "work").decode()}, "caseId": "c2"}
    kept = workspace.review.take_rows([row | diff for row in (rows["a"][0], rows["b"][0])], "ana", "other")
    assert not kept.problems
    moved = diff | {"baseCommit": commit(repo, "work"), "caseId": "c3"}
    taken = workspace.review.take_rows([row | moved for row in (rows["a"][0], rows["b"][0])], "ana", "other")
    assert any("cannot approve" in problem for problem in taken.problems)
