"""A session of Claude Code → cases: what was asked, what was looked at in lines of base, what was committed."""

import json
from collections import Counter
from pathlib import Path

import pytest

import evergold
from evergold.extract.agents.extraction import AgentExtraction, AgentRules
from evergold.extract.golden import Extracted
from evergold.extract.proof import prove_rows
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.repo.git import Repo
from evergold.sources.agents.claude_code import ClaudeCodeSource
from tests.agent_logs import ClaudeLog
from tests.repos import GitRepo, numbered


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(40), "g.py": numbered(9), "docs/h.md": numbered(5)}, "Start of it all")
    return made


@pytest.fixture
def log(repo: GitRepo, tmp_path: Path) -> ClaudeLog:
    return ClaudeLog(repo, tmp_path / "logs" / "s-1.jsonl")


def extracted(log: ClaudeLog, rules: AgentRules | None = None) -> tuple[list[Case], Counter[str]]:
    """The cases, every one proved against the repository, and what was left out."""
    with Repo.open(log.repo.path) as repo:
        extraction = AgentExtraction(repo, rules)
        said = Counter(
            item.reason
            for flow in ClaudeCodeSource(log.path.parent).flows()
            for item in extraction.absorb(extraction.read(flow))
        )
        cases = [item.case for item in extraction.cases() if isinstance(item, Extracted)]
        proofs = list(prove_rows(cases, repo))
    assert not [proof for proof in proofs if proof.stale or proof.not_at_base or proof.open]
    return cases, said


def ranges(case: Case, golden: bool = False) -> list[tuple[str, int, int]]:
    source = "golden_diff" if golden else "tool_call_result"
    return [(r.path, r.start, r.end) for r in case.ranges if source in r.sources]


def test_a_commit_of_the_session_is_a_case(repo: GitRepo, log: ClaudeLog) -> None:
    base = repo.git("rev-parse", "HEAD").strip()
    log.ask("Please write ten as a word")
    log.call("Grep", "Found 1 file\ng.py", pattern="ten")
    log.read("f.py", 5, 10)
    log.edit("f.py", "line 10\n", "ten\nand more\n")
    log.read("f.py", 20, 5)
    commit = log.commit("Ten is a word")
    (case,), said = extracted(log)
    assert (case.id, case.base_commit, case.input) == (commit, base, "Please write ten as a word")
    assert ranges(case, golden=True) == [("f.py", 10, 10)]
    assert ranges(case) == [("f.py", 5, 14), ("f.py", 19, 23)]
    assert [(path.path, path.sources) for path in case.paths] == [
        ("f.py", ("review_merge_diff", "tool_call_args", "tool_call_result")),
        ("g.py", ("tool_call_result",)),
    ]
    assert case.metadata["boundary"] == "commit" and case.provenance.flow_id == "s-1" and not said


def test_lines_of_the_sessions_own_making_drop_out_and_are_counted(log: ClaudeLog) -> None:
    log.ask("Put a heading above everything")
    log.edit("f.py", "line 1\n", "# heading\n# of two lines\nline 1\n", noted=False)
    log.read("f.py", 1, 4)
    log.read("f.py", 39, 4)
    log.commit("Add a heading")
    (case,), _ = extracted(log)
    assert ranges(case) == [("f.py", 1, 2), ("f.py", 37, 40)]
    assert case.metadata["reads"] == {"lines written in the session": 2}


def test_changes_nobody_saw_are_found_by_their_text(repo: GitRepo, log: ClaudeLog) -> None:
    log.ask("Change line thirty of the file")
    repo.write({"f.py": "by hand\nby hand too\n" + numbered(40)})
    log.read("f.py", 30, 5)
    log.edit("f.py", "line 30\n", "thirty\n")
    log.commit("Thirty")
    (case,), _ = extracted(log)
    assert ranges(case) == [("f.py", 28, 32)]


def test_a_second_commit_is_a_case_at_the_first_and_remembers_what_it_edits(log: ClaudeLog) -> None:
    log.ask("Change line three of the file")
    log.read("f.py", 1, 10)
    log.read("g.py")
    log.edit("f.py", "line 3\n", "three\nand a half\n")
    first = log.commit("Three")
    log.ask("And line eight as well, please")
    log.edit("f.py", "line 8\n", "eight\n")
    second = log.commit("Eight")
    cases, _ = extracted(log)
    assert [(case.id, case.input) for case in cases] == [
        (first, "Change line three of the file"),
        (second, "And line eight as well, please"),
    ]
    assert cases[1].base_commit == first
    assert ranges(cases[1], golden=True) == [("f.py", 9, 9)]
    assert ranges(cases[1]) == [("f.py", 1, 2), ("f.py", 5, 11)]
    assert [path.path for path in cases[1].paths] == ["f.py"]


def test_lines_the_agent_wrote_before_base_are_known_to_it(log: ClaudeLog) -> None:
    log.ask("Write a heading over everything")
    log.edit("g.py", "line 1\n", "heading\nof two lines\nline 1\n")
    log.commit("Add a heading")
    log.ask("Make that heading one line")
    log.edit("g.py", "heading\nof two lines\n", "heading of one line\n")
    log.commit("Shorten the heading")
    _, case = extracted(log)[0]
    known = [(r.path, r.start, r.end, r.sources) for r in case.ranges]
    assert known == [("g.py", 1, 2, ("golden_diff",)), ("g.py", 1, 3, ("tool_call_args",))]


def test_diffs_show_what_stands_there_now(log: ClaudeLog) -> None:
    log.ask("Review the last change and mend it")
    diff = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -4,3 +4,3 @@ def x\n line 4\n-was 5\n+line 5\n line 6"
    log.bash("git show HEAD", f"commit 1\n\n    Change\n\n{diff}")
    log.edit("f.py", "line 5\n", "five\n")
    log.commit("Five")
    (case,), _ = extracted(log)
    assert ranges(case) == [("f.py", 4, 6)]


def test_a_line_of_many_megabytes_is_one_line(log: ClaudeLog) -> None:
    log.ask("Change the fifth line of it")
    log.bash("cat big.bin", "x" * 8_000_000)
    log.read("f.py", 4, 3)
    log.edit("f.py", "line 5\n", "five\n")
    log.commit("Five")
    assert ranges(extracted(log)[0][0]) == [("f.py", 4, 6)]


def test_requests_are_what_a_person_asked(log: ClaudeLog) -> None:
    log.ask("<command-name>/model</command-name><command-args>opus</command-args>")
    log.ask("Caveat: not for you", isMeta=True)
    log.ask("This session is being continued from a previous conversation. Much was said.", isCompactSummary=True)
    log.ask([{"type": "text", "text": "Really change the fifth line<system-reminder>be nice</system-reminder>"}])
    log.ask("[Request interrupted by user]")
    log.ask("<command-name>/fix</command-name>\n<command-args>the sixth line too</command-args>")
    refusal = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse two words"
    )
    log.call("Edit", refusal, error=True, file_path=f"{log.cwd}/f.py", old_string="line 1", new_string="x")
    log.read("f.py", 4, 3)
    log.edit("f.py", "line 5\n", "five\n")
    log.commit("Five")
    (case,), _ = extracted(log)
    assert case.input == "Really change the fifth line\n\nthe sixth line too\n\nuse two words"


def test_sub_agents_and_resumed_sessions_are_one_session(repo: GitRepo, log: ClaudeLog) -> None:
    log.ask("Change line twenty of the file")
    inner = {"content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": f"{log.cwd}/f.py"}}]}
    outer = {
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "    20→line 20"}]}
        ]
    }
    for type, message in (("assistant", inner), ("user", outer)):
        log.event("progress", data={"type": "agent_progress", "message": {"type": type, "message": message}})
    agent = ClaudeLog(repo, log.path.with_name("agent-7.jsonl"), log.session)
    agent.ask("You are a helper, look around", isSidechain=True, uuid="a-1")
    agent.read("g.py", 2, 2)
    resumed = ClaudeLog(repo, log.path.with_name("s-2.jsonl"), "s-2")
    for line in log.path.read_text().splitlines():
        resumed.line(line.replace('"sessionId": "s-1"', '"sessionId": "s-2"'))
    resumed.edit("f.py", "line 20\n", "twenty\n")
    resumed.commit("Twenty")
    (case,), said = extracted(log)
    assert ranges(case) == [("f.py", 20, 20), ("g.py", 2, 3)]
    assert case.input == "Change line twenty of the file" and not said
    assert ClaudeCodeSource(log.path.parent).count() == 1


def test_failed_and_outside_reads_count_for_nothing(log: ClaudeLog) -> None:
    log.ask("Change the second line of it")
    log.call("Read", "<tool_use_error>File does not exist.</tool_use_error>", file_path=f"{log.cwd}/g.py")
    log.call("Read", "     1→root", file_path="/etc/passwd")
    log.call("Read", "     1→new", file_path=f"{log.cwd}/made_later.py")
    log.edit("f.py", "line 2\n", "two\n")
    log.commit("Two")
    (case,), _ = extracted(log)
    assert ranges(case) == [] and [path.path for path in case.paths] == ["f.py"]
    assert case.metadata["reads"] == {"paths outside the repository": 1, "paths that base does not have": 1}


def test_broken_lines_and_unknown_events_sink_nothing(log: ClaudeLog) -> None:
    log.line('{"type": "user", "mess')
    log.line("[1, 2]")
    log.event("a-type-of-tomorrow", data=[1])
    log.ask("Change the second line of it")
    log.event("user", message=None)
    log.read("f.py", 1, 3)
    log.edit("f.py", "line 2\n", "two\n")
    log.commit("Two")
    log.line('{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "cut')
    cases, said = extracted(log)
    assert len(cases) == 1 and len(said) == 3
    assert all("not a JSON object" in reason for reason in said)


def test_other_checkouts_and_folders_are_the_same_repository(repo: GitRepo, log: ClaudeLog, tmp_path: Path) -> None:
    log.ask("Change the second line of it")
    repo.git("worktree", "add", "-q", str(tmp_path / "elsewhere" / "wt"), "-b", "side")
    tree = tmp_path / "elsewhere" / "wt"
    log.call("Read", "     4→line 4", file_path=f"{tree}/f.py")
    log.cwd = f"{repo.path}/docs"
    log.bash("cat h.md | head -2", "line 1\nline 2")
    log.bash("cd .. && sed -n '6,7p' g.py", "line 6\nline 7")
    log.cwd = str(tree)
    log.call("Read", "     9→line 9", file_path=f"{tree}/g.py")
    log.cwd = str(repo.path)
    log.edit("f.py", "line 2\n", "two\n")
    log.commit("Two")
    (case,), _ = extracted(log)
    assert ranges(case) == [("f.py", 4, 4), ("docs/h.md", 1, 2), ("g.py", 6, 7), ("g.py", 9, 9)]


def test_renamed_files_keep_their_lines(repo: GitRepo, log: ClaudeLog) -> None:
    log.ask("Rename f and change its last line")
    repo.git("mv", "f.py", "new.py")
    log.bash("git mv f.py new.py", "")
    log.read("new.py", 39, 2)
    log.edit("new.py", "line 40\n", "forty\n")
    log.commit("Rename f")
    (case,), _ = extracted(log)
    assert ranges(case, golden=True) == [("f.py", 40, 40)]
    assert ranges(case) == [("f.py", 39, 40)]


def test_the_library_finds_the_repository_a_session_worked_in(log: ClaudeLog, tmp_path: Path) -> None:
    log.ask("Change the second line of it")
    log.edit("f.py", "line 2\n", "two\n")
    commit = log.commit("Two")
    lost = ClaudeLog(log.repo, log.path.with_name("lost.jsonl"), "lost")
    lost.cwd = str(tmp_path / "gone")
    lost.ask("Something else altogether")
    found = list(evergold.extract_cases(ClaudeCodeSource(log.path.parent)))
    assert [item.case.id for item in found if isinstance(item, Extracted)] == [commit]
    assert [item.where for item in found if isinstance(item, Rejected)] == ["session lost"]


def test_the_log_folder_of_a_repository(
    log: ClaudeLog, repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    named = str(repo.path.resolve()).replace("/", "-").replace(".", "-").replace("_", "-")
    for folder, cwd in ((named, repo.path), (f"{named}-docs", repo.path / "docs"), (f"{named}-2", tmp_path / "repo-2")):
        other = ClaudeLog(repo, tmp_path / "config" / "projects" / folder / "x.jsonl", folder)
        other.cwd = str(cwd)
        other.ask("Hello to you")
    tree = tmp_path / "elsewhere" / "wt"
    repo.git("worktree", "add", "-q", str(tree), "-b", "side")
    side = str(tree.resolve()).replace("/", "-").replace(".", "-").replace("_", "-")
    ClaudeLog(repo, tmp_path / "config" / "projects" / side / "y.jsonl", side).ask("Hello from the side")
    source = ClaudeCodeSource(repo.path)
    assert [path.parent.name for path in source.files()] == [named, f"{named}-docs", side]
    assert len(ClaudeCodeSource().files()) == 4
    assert json.loads(source.files()[0].read_text())["sessionId"] == named
