"""Git history as cases: what is taken, what is left out and why, and the lines git itself counts."""

import re
from pathlib import Path

import pytest

from evergold.errors import BadInput
from evergold.extract.golden import Extracted, SkippedItem
from evergold.extract.history import HistoryQuery, HistoryRules, history_cases
from evergold.extract.messages import CommitKind, find_kind, is_bot, is_revert, read_message, why_no_request
from evergold.model.faults import Rejected
from evergold.model.values import hash_bytes
from evergold.repo.git import Repo
from tests.repos import GitRepo, numbered
from tests.rows import each_row


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(40), "g.py": numbered(9)}, "Start of it all")
    return made


def extracted(made: GitRepo, first_parent: bool = False, **rules: object) -> tuple[dict[str, Extracted], list[str]]:
    with Repo.open(made.path) as repo:
        items = list(history_cases(repo, HistoryRules(**rules), HistoryQuery(repo.path, first_parent=first_parent)))  # type: ignore[arg-type]
    cases = {item.case.id: item for item in items if isinstance(item, Extracted)}
    return cases, [item.reason for item in items if isinstance(item, SkippedItem)]


def test_a_commit_is_a_case_at_its_first_parent(made: GitRepo) -> None:
    base = made.git("rev-parse", "HEAD").strip()
    commit = made.commit(
        {"f.py": numbered(40, l7="x")},
        "Fix the seventh line (#12)\n\nIt was wrong.\n\nFixes: #9\nSigned-off-by: Ada <a@b.c>",
    )
    cases, skipped = extracted(made, repository="demo")
    case = cases[commit].case
    assert (case.input, case.base_commit) == ("Fix the seventh line\n\nIt was wrong.", base)
    assert case.metadata["issues"] == ["12", "9"]
    assert case.metadata["trailers"] == [["Fixes", "#9"], ["Signed-off-by", "Ada <a@b.c>"]]
    (found,) = case.ranges
    assert (found.path, found.start, found.end, found.text_hash) == ("f.py", 7, 7, hash_bytes(b"line 7\n"))
    assert found.blob == made.git("rev-parse", f"{base}:f.py").strip()
    assert skipped == ["root commit: nothing to retrieve from"]


@each_row(
    ("path", "base", "after", "is_docs"),
    [
        ("src/a.rs", "/// Old.\nfn a() {}\n", "/// New name of the widget.\n///\nfn a() {}\n", True),
        ("src/b.rs", "/// Old.\nfn a() {}\n", "/// New.\nfn a(widget: u8) {}\n", False),
        ("a.c", "#include <a.h>\nint a;\n", "#include <widget.h>\nint a;\n", False),
        (
            "a.py",
            'def a():\n    """First.\n\n    More.\n    """\n',
            'def a():\n    """First.\n\n    More of the widget.\n    """\n',
            True,
        ),
        ("a.py", "def a():\n    return 1\n", 'def a():\n    """Return the widget."""\n    return 1\n', True),
        ("a.py", 'SQL = """\nselect a\n"""\n', 'SQL = """\nselect widget\n"""\n', False),
        ("a.py", "# a\nx = 1\n", "# the widget\nx = 1\n", True),
    ],
)
def test_a_change_of_comments_alone_is_documentation(
    made: GitRepo, path: str, base: str, after: str, is_docs: bool
) -> None:
    made.commit({path: base}, "Begin")
    commit = made.commit({path: after}, "Describe the colour of the widget")
    assert (commit not in extracted(made)[0]) == is_docs
    (item,) = [item for id, item in extracted(made, kinds=tuple(CommitKind))[0].items() if id == commit]
    assert (item.case.metadata["kind"] == "docs") == is_docs
    assert (commit in extracted(made, kinds=(CommitKind.DOCS,))[0]) == is_docs


def test_an_empty_file_that_is_deleted_beside_one_that_is_filled_is_no_fault(made: GitRepo) -> None:
    made.commit({"empty.py": "", "other.py": ""}, "Add two modules without a line")
    filled = made.commit({"other.py": "x\n", "f.py": numbered(40, l3="z")}, "Fill the other module with its first line")
    made.git("rm", "-q", "empty.py")
    deleted = made.commit({"g.py": numbered(9, l2="two")}, "Delete the empty module beside line two")
    assert {filled, deleted} <= extracted(made)[0].keys()


def test_rules_leave_out_and_say_so(made: GitRepo) -> None:
    made.commit(
        {f"many/{number}.py": "x\n" for number in range(30)} | {"f.py": numbered(40, l1="y")},
        "Add many modules of a line",
    )
    made.commit({"f.py": numbered(40)}, 'Revert "Add many modules of a line"')
    made.commit({"uv.lock": "1\n", "web/node_modules/a/b.js": "2\n"}, "Refresh the lock file")
    made.commit({"new.py": "x\n"}, "Write readers of tables in a module")
    kept = made.commit({"g.py": numbered(9, l2="two"), "uv.lock": "2\n"}, "Spell the second line as a word")
    cases, skipped = extracted(made)
    assert list(cases) == [kept]
    assert [path.path for path in cases[kept].case.paths] == ["g.py"]
    assert cases[kept].case.metadata["filesLeftOut"] == 1
    assert sorted(skipped) == sorted(
        [
            "bulk change: more than 20 files",
            "changes no line of code that its base has",
            "dependency: of another kind (--kinds takes others)",
            "revert: of another kind (--kinds takes others)",
            "root commit: nothing to retrieve from",
        ]
    )
    assert len(extracted(made, max_files=40, noise=True, kinds=tuple(CommitKind))[0]) == 3
    assert len(extracted(made, exclude=("*",))[0]) == 0


def test_merges_are_taken_on_the_main_line_only(made: GitRepo) -> None:
    made.branch("side")
    inner = made.commit({"g.py": numbered(9, l3="three")}, "Spell the third line of g")
    made.switch("main")
    outer = made.commit({"f.py": numbered(40, l2="two")}, "Spell the second line of f")
    merged = made.merge("side", "--no-ff")
    cases, skipped = extracted(made)
    assert set(cases) == {inner, outer} and any(reason.startswith("merge") for reason in skipped)
    cases, _ = extracted(made, first_parent=True, kinds=tuple(CommitKind))
    assert set(cases) == {merged, outer}
    assert [path.path for path in cases[merged].case.paths] == ["g.py"]
    assert (
        cases[merged].case.input == "" and cases[merged].why_no_query and cases[merged].case.metadata["kind"] == "merge"
    )


def test_a_shallow_edge_is_left_out_by_name(made: GitRepo, tmp_path: Path) -> None:
    made.commit({"f.py": numbered(40, l2="two")}, "Two is changed now")
    made.git("clone", "-q", "--depth=1", f"file://{made.path}", str(tmp_path / "shallow"))
    with Repo.open(tmp_path / "shallow") as repo:
        (edge,) = history_cases(repo, HistoryRules(), HistoryQuery(repo.path))
    assert isinstance(edge, SkippedItem) and edge.reason == "edge of a shallow clone: its parent is missing"


def test_a_bare_clone_gives_the_same_cases(made: GitRepo, tmp_path: Path) -> None:
    made.commit({"f.py": numbered(40, l2="two"), "logo.bin": b"\0one"}, "Two is a word now")
    made.commit({"logo.bin": b"\0two", "g.py": numbered(9) + "ten\n"}, "Append a tenth line to g")
    made.git("clone", "-q", "--bare", f"file://{made.path}", str(tmp_path / "bare"))
    with Repo.open(made.path) as repo, Repo.open(tmp_path / "bare") as bare:
        cases = [list(history_cases(one, HistoryRules(), HistoryQuery(one.path))) for one in (bare, repo)]
        assert cases[0] == cases[1]


def test_insertions_are_proved_by_the_lines_around_them(made: GitRepo) -> None:
    base = made.commit({"open.txt": "one\ntwo"}, "A file without a line end at its end")
    inside = made.commit({"open.txt": "one\nnew\ntwo"}, "Insert before the last line")
    behind = made.commit({"open.txt": "one\nnew\ntwo\nlast"}, "Append behind the last line")
    cases, _ = extracted(made)
    proofs = {
        commit: [(item.start, item.end, item.text_hash) for item in cases[commit].case.ranges]
        for commit in (inside, behind)
    }
    assert proofs[inside] == [(1, 2, hash_bytes(b"one\ntwo"))]
    assert proofs[behind] == [(3, 3, hash_bytes(b"two"))]
    assert cases[inside].case.ranges[0].blob == made.git("rev-parse", f"{base}:open.txt").strip()


def test_golden_lines_are_those_of_git_diff_without_context(made: GitRepo) -> None:
    """An independent count: the hunk headers of `git diff -U0`, read by a regular expression."""
    texts = [numbered(40, l5="a"), numbered(40, l5="a") + "end\n", "top\n" + numbered(38), "", "one\n", "one", "two"]
    for number, text in enumerate(texts):
        made.commit({"f.py": text}, f"Write text {number} into the lines of file f")
    cases, _ = extracted(made, noise=True)
    assert len(cases) == len(texts) - 1  # filling the emptied file changes no line that base has
    for commit, item in cases.items():
        golden = {line for found in item.case.ranges for line in range(found.start, found.end + 1)}
        assert golden == counted(made, commit)


def counted(made: GitRepo, commit: str) -> set[int]:
    length = len(made.git("show", f"{commit}~1:f.py").split("\n")) - 1
    lines: set[int] = set()
    for start, count in re.findall(r"^@@ -(\d+)(?:,(\d+))? ", made.git("diff", "-U0", f"{commit}~1", commit), re.M):
        first, many = int(start), int(count or 1)
        lines |= set(range(first, first + many)) if many else {first, first + 1} & set(range(1, max(length, 1) + 1))
    return lines


@each_row(
    ("text", "query"),
    [
        ("Merge pull request #12 from a/b\n\nAdd the thing", "Add the thing"),
        ("Merge branch 'x' into main", ""),
        ("Subject: with colon", "Subject: with colon"),
        ("Title\n\nBody\r\nmore  \n\nCo-authored-by: A <a@b>", "Title\n\nBody\nmore"),
        ("Title\n\nNote: this is prose\nand goes on", "Title\n\nNote: this is prose\nand goes on"),
    ],
)
def test_messages(text: str, query: str) -> None:
    assert read_message(text).query == query


def test_what_a_revert_is() -> None:
    assert is_revert('Revert "Add x"') and is_revert("Undo\n\nThis reverts commit abc.")
    assert is_revert("revert(parser): go back to the old one") and is_revert("[1.2] Reverted the cache of views")
    assert not is_revert("Add a button that reverts changes")
    # A feature may mention git's line, in its message or as what it writes.
    assert not is_revert("Write the line of git when a change is undone\n\nThis reverts commit abc.")
    assert not is_revert("Undo the last edit with a key")


@each_row(
    ("text", "query"),
    [
        ("Fixed #34567 -- Made the query lazy.", "Made the query lazy."),
        ("GH-12: Make the parser lazy", "Make the parser lazy"),
        ("Add the parser (fixes #1, closes o/r#2) (#3)", "Add the parser"),
        ("Fix bug #12 in the parser", "Fix bug in the parser"),
        ("Add a parser\n\nCloses: https://github.com/o/r/issues/12", "Add a parser"),
        ("Fix a crash, see https://github.com/o/r/pull/12.", "Fix a crash."),
        ("Do it as discussed in issue #12 and PR #13.", "Do it as discussed."),
        ("Add a parser\n\nSigned-off-by: A <a@b>\n\nCo-authored-by: B <b@c>", "Add a parser"),
        (
            "Add a parser (#7)\n\n* try\n\n* the parser\n\nwith words\n\n---------\n\nCo-authored-by: A <a@b>",
            "Add a parser",
        ),
        (
            "Add a parser\n\nSquashed commit of the following:\n\ncommit abcdef1\nAuthor: A <a@b>\n\n    try",
            "Add a parser",
        ),
        ("Add a parser\n\n- reads lines\n- reads tables", "Add a parser\n\n- reads lines\n- reads tables"),
        ("Add a parser\n\n(cherry picked from commit abcdef1)", "Add a parser"),
        ("Support C# and &#35;", "Support C# and &#35;"),
    ],
)
def test_a_query_has_no_numbers_trailers_or_logs(text: str, query: str) -> None:
    assert read_message(text).query == query


@each_row(
    ("text", "paths", "kind"),
    [
        ("Add a parser for tables", "src/a.py tests/test_a.py docs/a.md", "feature"),
        ("Fixed #12 -- Made the query lazy", "src/a.py", "fix"),
        ("Crash when a table is empty", "src/a.py", "fix"),
        ("Rename Table to Grid", "src/a.py src/b.py", "refactor"),
        ("chore: remove the old loader", "src/a.py", "refactor"),
        ("Explain how tables are read", "docs/tables.md README.md", "docs"),
        ("Fix a typo in the parser", "src/a.py", "docs"),
        ("Add a case for empty tables", "tests/test_a.py", "tests"),
        ("tests: cover the parser's branches", "src/a.py tests/test_a.py", "tests"),
        ("Bump httpx from 0.1 to 0.2", "pyproject.toml", "dependency"),
        ("build(deps): bump the actions group", ".github/workflows/a.yml", "dependency"),
        ("Run tests on arm too", ".github/workflows/a.yml", "ci"),
        ("Reformat with black", "src/a.py src/b.py", "ci"),
        ("Version 0.40.0", "src/pkg/__init__.py docs/release-notes.md", "release"),
        ("chore(release): 2.0.0", "package.json CHANGELOG.md", "release"),
        ('Revert "Add a parser"', "src/a.py", "revert"),
    ],
)
def test_every_commit_has_a_kind(text: str, paths: str, kind: str) -> None:
    assert find_kind(read_message(text), paths.split(), text) == kind


def test_bots_are_told_by_their_names_and_kinds_by_theirs() -> None:
    assert is_bot("dependabot[bot]", read_message("Bump x")) and not is_bot("Abbott Botha", read_message("Add x"))
    assert CommitKind.read_list("fix, docs") == (CommitKind.FIX, CommitKind.DOCS) and CommitKind.read_list(
        "all"
    ) == tuple(CommitKind)
    with pytest.raises(BadInput, match=r"'bugs' \(valid: feature, fix"):
        CommitKind.read_list("bugs")


@each_row(
    ("text", "changed", "is_one"),
    [
        ("Add a parser for tables", b"src/parser.py table", True),
        ("Fix race between the writer and a reader", b"writer.c", True),
        (
            "Improve retries\n\nA request that was refused waits twice as long before each new attempt.",
            b"retry.py",
            True,
        ),
        ("Fix some more bugs", b"", False),
        ("Fix the formula", b"formula.rb", False),
        ("Improve the handling of headers", b"headers.py", False),
        ("Simplified the test runner", b"runner.py", False),
        ("Python 2 support removal WIP", b"python support", False),
        ("wip on the parser of tables", b"parser.py", False),
        ("fixup! Add a parser for tables", b"parser.py", False),
        ("A first pass at the parser of wide tables", b"parser.py", False),
        ("Progress on tables that are wider than a page", b"tables.py", False),
        ("Could a missing colon be the reason?", b"colon", False),
        ("Update src/parser/tables.py", b"src/parser/tables.py", False),
        ("Add a parser for tables", b"src/unrelated.py x = 1" * 20, False),
        ("Add a parser for tables and update the colours of buttons", b"parser", False),
        ("Fix the wrong parser of tables, rename the lexer", b"parser", False),
        ("Read tables by lines and add tests", b"tables", True),
    ],
)
def test_a_request_says_what_to_change(text: str, changed: bytes, is_one: bool) -> None:
    assert (not why_no_request(text, 3, changed.ljust(100))) is is_one


def test_what_work_leaves_behind_is_not_golden(made: GitRepo) -> None:
    """Beside code: documents, logs of releases, scratch files, versions, white space, and what a program wrote."""
    made.commit(
        {
            "f.py": numbered(40, l1="import a", l2="import b"),
            "CHANGELOG.md": "one\n",
            "README.md": "old\n",
            "src/playground.ts": "try\n",
            "logo.svg": "<svg/>\n",
            "tool": "# Version: 0.8.5 (Jun 14, 2014)\n",
            "package.json": '{\n "version": "1.0.0",\n "main": "a"\n}\n',
            "src/api.go": "// Code generated by tool. DO NOT EDIT.\nold\n",
            "src/marked.go": "old\n",
            ".gitattributes": "marked.go linguist-generated=true\n",
        },
        "Files of all sorts",
    )
    changed = made.commit(
        {
            "CHANGELOG.md": "line\n",
            "README.md": "line\n",
            "src/playground.ts": "line\n",
            "logo.svg": "<svg >\n",
            "tool": "# Version: 0.8.6 (Jun 15, 2014)\n",
            "package.json": '{\n "version": "1.1.0",\n "main": "a"\n}\n',
            "src/api.go": "// Code generated by tool. DO NOT EDIT.\nline\n",
            "src/marked.go": "line\n",
            "f.py": numbered(40, l1="import b", l2="import a", l5="   line    5", l9="line nine"),
        },
        "Write the ninth line as a word",
    )
    case = extracted(made)[0][changed].case
    assert [path.path for path in case.paths] == ["f.py"] and case.metadata["filesLeftOut"] == 8
    assert [(found.start, found.end) for found in case.ranges] == [(9, 9)]
    assert len(extracted(made, noise=True)[0][changed].case.paths) == 9


def test_a_commit_whose_objects_are_not_in_the_clone_costs_only_itself(made: GitRepo) -> None:
    """A partial clone lacks objects; so does a damaged one."""
    good = [made.commit({"f.py": numbered(40, l3="third")}, "Write the third line as a word")]
    bad = made.commit({"g.py": numbered(9, l2="second")}, "Write the second line as a word")
    good.append(made.commit({"f.py": numbered(40, l3="third", l4="fourth")}, "Write the fourth line as a word"))
    blob = made.git("rev-parse", f"{bad}:g.py").strip()
    (made.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    # Git would read the content from the work tree, where it still stands.
    (made.path / "g.py").unlink()
    with Repo.open(made.path) as repo:
        items = list(history_cases(repo, HistoryRules(), HistoryQuery(repo.path)))
    assert [item.case.id for item in items if isinstance(item, Extracted)] == good[::-1]
    (rejected,) = [item for item in items if isinstance(item, Rejected)]
    assert bad in str(rejected) and blob in str(rejected)
