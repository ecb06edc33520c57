"""Work is bound to commits by the lines a session wrote: whatever became of its branch, and whoever else was at it."""

from pathlib import Path

import pytest

from evergold.extract.agents.session import is_nod
from tests.agent_logs import ClaudeLog
from tests.agent_worlds import A_DAY, find_faults, make_sessions
from tests.extract.test_agents_claude import extracted
from tests.repos import GitRepo, numbered


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(40), "g.py": numbered(9)}, "Start of it all")
    return made


def work(log: ClaudeLog, line: int, word: str, name: str = "f.py") -> None:
    log.ask(f"Please write line {line} as {word} says")
    log.read(name, line, 2)
    log.edit(name, f"line {line}\n", f"{word} is the word for {line}\n")


def test_a_world_of_sessions_has_no_wrong_case(tmp_path: Path) -> None:
    assert not find_faults(make_sessions(tmp_path, seed=3, sessions=14))


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [1, 2])
def test_large_worlds_of_sessions_have_no_wrong_case(tmp_path: Path, seed: int) -> None:
    assert not find_faults(make_sessions(tmp_path, seed, sessions=120))


def test_a_session_minutes_before_shares_nothing(repo: GitRepo, tmp_path: Path) -> None:
    """The first session's work is thrown away; the second edits the same file in the same minute and commits."""
    first = ClaudeLog(repo, tmp_path / "logs" / "a.jsonl", "a")
    work(first, 3, "Ada")
    repo.git("checkout", "-q", "--", ".")
    second = ClaudeLog(repo, tmp_path / "logs" / "b.jsonl", "b")
    work(second, 3, "Bob")
    second.commit("Line three", told=False)
    (case,), _ = extracted(second)
    assert case.metadata["sessions"] == ["b"] and case.input == "Please write line 3 as Bob says"


def test_the_same_edit_made_twice_belongs_to_who_made_it_last(repo: GitRepo, tmp_path: Path) -> None:
    for name in ("a", "b"):
        log = ClaudeLog(repo, tmp_path / "logs" / f"{name}.jsonl", name)
        work(log, 3, "Ada")
        if name == "a":
            repo.git("checkout", "-q", "--", ".")
    log.commit("Line three", told=False)
    (case,), _ = extracted(log)
    assert case.metadata["sessions"] == ["b"]


def test_who_only_commits_the_work_of_another_session_has_no_share_in_it(repo: GitRepo, tmp_path: Path) -> None:
    first = ClaudeLog(repo, tmp_path / "logs" / "a.jsonl", "a")
    work(first, 3, "Ada")
    second = ClaudeLog(repo, tmp_path / "logs" / "b.jsonl", "b")
    second.ask("Commit what lies around in this folder for me")
    second.commit("Line three")
    (case,), _ = extracted(second)
    assert case.metadata["sessions"] == ["a"] and case.provenance.flow_id == "a"


def test_a_later_squash_holds_the_work_of_two_sessions_and_of_no_third(repo: GitRepo, tmp_path: Path) -> None:
    repo.branch("side")
    logs = [ClaudeLog(repo, tmp_path / "logs" / f"{name}.jsonl", name, "side") for name in "abc"]
    work(logs[0], 3, "Ada")
    logs[0].commit("Three")
    work(logs[1], 9, "Bob")
    logs[1].commit("Nine")
    work(logs[2], 5, "Eve", "g.py")
    repo.git("checkout", "-q", "--", ".")
    patch = repo.diff("main", "side")
    repo.switch("main")
    repo.git("branch", "-q", "-D", "side")
    repo.minutes += 3 * A_DAY
    repo.git("apply", "--index", "-", input=patch)
    squashed = repo.commit(message="Write lines in words (#12)\n\n* Three\n* Nine")
    # What git collects in time: the commits that the logs remember are gone.
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    (case,), said = extracted(logs[0])
    assert case.id == squashed and case.metadata["sessions"] == ["a", "b"]
    assert case.input == "Please write line 3 as Ada says\n\nPlease write line 9 as Bob says"
    assert "not in the repository" not in " ".join(said)


@pytest.mark.parametrize(
    "text", ["ok", "Go on.", "yes, please continue", "LGTM, commit and push it", "👍", "weiter bitte", "1"]
)
def test_what_says_nothing_is_no_request(text: str, repo: GitRepo, tmp_path: Path) -> None:
    log = ClaudeLog(repo, tmp_path / "logs" / "a.jsonl", "a")
    work(log, 3, "Ada")
    log.ask(text)
    log.commit("Line three")
    work(log, 9, "Ada")
    log.ask(text)
    log.commit("Line nine")
    cases, _ = extracted(log)
    assert [case.input for case in cases] == ["Please write line 3 as Ada says", "Please write line 9 as Ada says"]


@pytest.mark.parametrize("text", ["use tabs", "fix the test", "no, the other file", "revert that", "try it with numpy"])
def test_a_short_request_is_one(text: str) -> None:
    assert not is_nod(text)


def test_a_file_that_was_renamed_in_the_squash_is_found(repo: GitRepo, tmp_path: Path) -> None:
    log = ClaudeLog(repo, tmp_path / "logs" / "a.jsonl", "a")
    work(log, 3, "Ada")
    changed = (repo.path / "f.py").read_text()
    repo.minutes += A_DAY
    squashed = repo.commit({"f.py": None, "lib.py": changed}, "Move it, too (#4)")
    (case,), _ = extracted(log)
    assert case.id == squashed and case.base_commit == repo.git("rev-parse", "HEAD~1").strip()


def test_a_quiet_commit_is_not_that_of_the_session_next_to_it(repo: GitRepo, tmp_path: Path) -> None:
    first = ClaudeLog(repo, tmp_path / "logs" / "a.jsonl", "a")
    work(first, 5, "Ada", "g.py")
    repo.git("stash", "-q")
    second = ClaudeLog(repo, tmp_path / "logs" / "b.jsonl", "b")
    work(second, 3, "Bob")
    own = second.commit("Line three")
    first.bash("git commit -qam five", "")
    (case,), said = extracted(second)
    assert case.id == own and case.metadata["sessions"] == ["b"]
    assert "a commit the session made is not in the repository (rewritten, or never pushed)" in said
