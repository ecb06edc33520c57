"""A repository that somebody else made: its settings name programs, its commits have impossible dates."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from evergold.repo import history
from evergold.repo.git import Repo
from evergold.repo.history import commit_time, files_at, grep, timeline
from tests.repos import GitRepo, numbered
from tests.rows import each_row

PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "credential.helper",
    "pager.log",
    "gpg.program",
    "diff.external",
    "diff.own.command",
    "diff.own.textconv",
    "filter.own.clean",
    "filter.own.smudge",
)
HOOKS = ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman")
SIGNED = """tree {tree}
parent {parent}
author Eve <eve@example.org> 99999999999999 +0000
committer Eve <eve@example.org> 1767323000 +0000
gpgsig -----BEGIN PGP SIGNATURE-----
 x
 -----END PGP SIGNATURE-----

Signed
"""


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The file that appears as soon as any of the repository's programs runs."""
    return tmp_path / "ran"


@pytest.fixture
def hostile(tmp_path: Path, ran: Path) -> GitRepo:
    made = GitRepo(tmp_path / "hostile")
    made.commit({"f.txt": numbered(5), ".gitattributes": "* diff=own filter=own\n"}, "First")
    parent = made.commit({"f.txt": numbered(5, l2="two")}, "Second")
    signed = SIGNED.format(tree=made.git("rev-parse", "HEAD^{tree}").strip(), parent=parent).encode()
    tip = made.git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", input=signed).strip()
    made.git("update-ref", "refs/heads/main", tip)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {ran}\n")
    program.chmod(0o755)
    for hook in HOOKS:
        (made.path / ".git/hooks" / hook).symlink_to(program)
    for name in PROGRAMS:
        made.git("config", name, str(program))
    made.git("config", "log.showSignature", "true")
    return made


def test_no_program_of_a_repository_is_run_by_reading_it(hostile: GitRepo, ran: Path) -> None:
    with Repo.open(hostile.path) as repo:
        commits = list(history.commits(repo))
        assert [commit.message.strip() for commit in commits] == ["Signed", "Second", "First"]
        assert len(timeline(repo)) == 3
        assert list(history.diffs(repo, [(commit.id, commit.parents[0]) for commit in commits[:2]]))
        assert repo.changes("HEAD").of_path("f.txt")
        assert files_at(repo, "HEAD") and grep(repo, "HEAD", ["two"], 5)
        change = b"--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-line 1\n+one\n"
        assert history.applies(repo, "HEAD", change)
    assert not ran.exists(), ran.read_text()


def test_a_date_beyond_the_calendar_is_its_end(hostile: GitRepo) -> None:
    with Repo.open(hostile.path) as repo:
        assert next(history.commits(repo)).authored.year == 9999
        assert max(moment.authored for moment in timeline(repo)).year == 9999


@each_row(("seconds", "year"), [("", 1970), ("0", 1970), ("-1", 1969), ("9" * 30, 9999), ("-" + "9" * 30, 2)])
def test_times_of_commits(seconds: str, year: int) -> None:
    time = commit_time(seconds)
    assert time.year == year and time.tzinfo is UTC
    assert datetime.fromisoformat(time.isoformat()) == time
