"""What a shell call shows, changes and commits: a part of a file is never taken for the whole."""

from evergold.extract.agents.events import (
    WHOLE,
    Changed,
    Committed,
    FileRef,
    LineSpan,
    Looked,
    Moved,
    envelope_in,
    read_envelope,
)
from evergold.extract.agents.shell import join_path, read_script, shell_events
from tests.rows import each_row


def looks(command: str, output: str = "x", cwd: str | None = "/w") -> list[Looked]:
    return [event for event in shell_events(command, output, cwd) if isinstance(event, Looked)]


def spans(command: str) -> list[tuple[str, LineSpan | None]]:
    """Files and the lines of them that a command asks for, from the folder it ran in."""
    found = looks(command)
    return [(join_path(look.ref.folder, look.ref.path), look.span) for look in found if look.shown is not None]


@each_row(
    ("command", "expected"),
    [
        ("cat f", [("/w/f", WHOLE)]),
        ("head -50 f", [("/w/f", LineSpan(1, 50))]),
        ("head -n 5 f", [("/w/f", LineSpan(1, 5))]),
        ("head f", [("/w/f", LineSpan(1, 10))]),
        ("head --lines=7 f", [("/w/f", LineSpan(1, 7))]),
        ("tail -n 3 f", [("/w/f", LineSpan(-3, 0))]),
        ("tail -n +30 f", [("/w/f", LineSpan(30, 0))]),
        ("tail -5 f", [("/w/f", LineSpan(-5, 0))]),
        ("sed -n '10,20p' f", [("/w/f", LineSpan(10, 20))]),
        ("sed -n 10,20p 'a b.py'", [("/w/a b.py", LineSpan(10, 20))]),
        ("sed -n '3p;7,8p' f", [("/w/f", LineSpan(3, 3)), ("/w/f", LineSpan(7, 8))]),
        ("sed -n -e '5,$p' f", [("/w/f", LineSpan(5, 0))]),
        ("sed -n '5,+3p' f", [("/w/f", LineSpan(5, 8))]),
        ("sed -n '/start/,/end/p' f", [("/w/f", None)]),
        ("cat f | head -5", [("/w/f", LineSpan(1, 5))]),
        ("cat f | head -20 | tail -5", [("/w/f", None)]),
        ("sed -n '10,100p' f | head -20", [("/w/f", LineSpan(10, 29))]),
        ("tail -n +10 f | head -4", [("/w/f", LineSpan(10, 13))]),
        ("cat f | grep thing", [("/w/f", None)]),
        ("awk 'NR>=10 && NR<=20' f", [("/w/f", None)]),
        ("cd sub && cat ../f", [("/w/f", WHOLE)]),
        ("cd /other; head -3 f && cat g", [("/other/f", LineSpan(1, 3)), ("/other/g", WHOLE)]),
        ("sudo env A=1 cat f 2>/dev/null", [("/w/f", WHOLE)]),
        ("bat -r 3:9 f", [("/w/f", LineSpan(3, 9))]),
        ("git show HEAD~2:src/f.py", [("src/f.py", None)]),
        ("cat < f", [("/w/f", WHOLE)]),
        ("cat f | wc -l", []),
        ("cat f > g", []),
        ("sed -i 's/a/b/' f", []),
        ("echo cat f", []),
        ("# cat f", []),
    ],
)
def test_which_lines_a_command_asks_for(command: str, expected: list[tuple[str, LineSpan | None]]) -> None:
    assert spans(command) == expected


@each_row(
    ("command", "output", "expected"),
    [
        ("nl -ba f | sed -n '4,5p'", "     4\tfour\n     5\tfive", {"f": {4: "four", 5: "five"}}),
        ("cat -n f | head -1", "     1\tone", {"f": {1: "one"}}),
        ("awk 'NR>3{print NR\": \"$0}' f", "4: four\n5: five", {"f": {4: "four", 5: "five"}}),
        ("grep -n x f.py", "7:  x = 1\n9:x", {"f.py": {7: "  x = 1", 9: "x"}}),
        ("grep -n -C 1 x f.py", "6-a\n7:x\n8-b\n--\n20-c", {"f.py": {6: "a", 7: "x", 8: "b", 20: "c"}}),
        ("cat f.py | grep -n x", "7:x", {"f.py": {7: "x"}}),
        ("grep -rn x src", "src/a.py:3:x\nsrc/b-2-c.py-4-y", {"src/a.py": {3: "x"}, "src/b-2-c.py": {4: "y"}}),
        ("rg -n x -g '*.py' | head -3", "a.py:3:x: 4", {"a.py": {3: "x: 4"}}),
        ("git grep -n x", "a/Makefile:12:x", {"a/Makefile": {12: "x"}}),
        ("rg --heading -n x", "a.py\n3:x\n4-y\n\nb.py\n1:x", {"a.py": {3: "x", 4: "y"}, "b.py": {1: "x"}}),
    ],
)
def test_lines_that_came_with_their_numbers(command: str, output: str, expected: dict[str, dict[int, str]]) -> None:
    assert {look.ref.path: look.numbered for look in looks(command, output) if look.numbered} == expected


def test_paths_alone() -> None:
    assert [look.ref.path for look in looks("rg -l x", "a.py\nb/c.go\nno path here")] == ["a.py", "b/c.go"]
    assert [look.ref.path for look in looks("find . -name '*.py'", "./a.py\n./d")] == ["./a.py"]
    assert [(look.ref.path, look.asked) for look in looks("wc -l a.py", "3 a.py")] == [("a.py", True)]
    assert looks("grep -c x a.py", "3") == [Looked(FileRef("a.py", "/w"), asked=True)]
    (shown,) = [look for look in looks("grep -A2 x a.py", "x\ny\nz") if look.shown]
    assert (shown.span, shown.shown) == (None, ["x", "y", "z"])


def test_changes_of_a_shell() -> None:
    script = "cat > a.py <<'EOF'\ncat f | x\nEOF\nmv a.py b.py && git mv c.py d.py; sed -i 's/a/b/' e.py; echo 1 >> g.py; rm h.py"
    changes = [event for event in shell_events(script, "", "/w") if isinstance(event, Changed | Moved)]
    assert changes[0] == Changed(FileRef("a.py", "/w"), after="cat f | x\n")
    assert changes[1:3] == [
        Moved(FileRef("a.py", "/w"), FileRef("b.py", "/w")),
        Moved(FileRef("c.py", "/w"), FileRef("d.py", "/w")),
    ]
    assert [change.ref.path for change in changes[3:] if isinstance(change, Changed)] == ["e.py", "g.py", "h.py"]
    assert not looks(script)


def test_commits_of_a_shell() -> None:
    def commits(command: str, output: str) -> list[Committed]:
        return [event for event in shell_events(command, output, None) if isinstance(event, Committed)]

    message = "git add -A && git commit -m \"$(cat <<'EOF'\nAdd (a) thing\n\nmore\nEOF\n)\""
    assert commits(message, "[my/branch 1a2b3c4] Add (a) thing\n 1 file changed") == [
        Committed("1a2b3c4", "Add (a) thing")
    ]
    assert commits("git commit -q -m x", "") == [Committed()]
    assert commits("git commit -m x", "On branch main\nnothing to commit, working tree clean") == []
    assert commits("git commit --dry-run", "[main 1a2b3c4] x") == []
    assert commits("git merge side", "Merge made by the 'ort' strategy.") == [Committed(merge=True)]
    assert commits("git merge side", "Already up to date.") == []
    assert commits("gh pr merge 17 --squash", "✓ Squashed and merged") == [Committed(merge=True, pull_request="17")]
    assert commits("git log --oneline", "[main 1a2b3c4] x") == []


def test_a_patch_envelope_in_a_shell() -> None:
    update = "*** Update File: a.py\n*** Move to: b.py\n@@ def f():\n x\n-y\n+z\n"
    script = f"apply_patch <<'EOF'\n*** Begin Patch\n{update}*** Delete File: c.py\n*** End Patch\nEOF"
    moved, changed, deleted = [event for event in shell_events(script, "ok", "/w") if not isinstance(event, Looked)]
    assert moved == Moved(FileRef("a.py", "/w"), FileRef("b.py", "/w"))
    assert isinstance(changed, Changed) and changed.ref.path == "b.py"
    assert changed.replacements[0] == ("x\ny", "x\nz", False, "def f():")
    assert isinstance(deleted, Changed) and deleted.ref.path == "c.py"
    assert envelope_in("nothing here") is None
    assert list(read_envelope("*** Begin Patch\nrubbish", None)) == []


@each_row("text", ["cat 'unclosed", "$(((", "<<EOF", "a | | b", "", "\\", "cat <<EOF\nno end", '"$(x'])
def test_broken_shell_is_read_as_far_as_it_goes(text: str) -> None:
    read_script(text)
    list(shell_events(text, "x", None))
