"""The drift mapper against an oracle: every base line carries its number in its text, so the text tells where it is from."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.extract.agents.events import Changed, FileRef, LineSpan, Looked, Patch, Replacement
from evergold.extract.agents.lines import WorkFile, align, seen_of

HERE = FileRef("f", None)
Edit = tuple[int, int, int, str]
edits = st.lists(
    st.tuples(
        st.integers(0, 60), st.integers(0, 6), st.integers(0, 6), st.sampled_from(["patch", "text", "write", "unseen"])
    ),
    max_size=12,
)


def oracle(lines: list[str]) -> list[int]:
    return [int(line.removeprefix("base ")) if line.startswith("base ") else 0 for line in lines]


def apply(file: WorkFile, real: list[str], edit: Edit, serial: int) -> list[str]:
    """One random edit, to the file as it really is and to the one that is followed."""
    at, removed, added, how = edit
    at = min(at, len(real))
    new = [f"new {serial} {number}" for number in range(added)]
    after = [*real[:at], *new, *real[at + removed :]]
    if how == "patch":
        assert file.change(Changed(HERE, patches=(Patch(at + 1, min(removed, len(real) - at), new),)))
    elif how == "text" and at < len(real) and removed:
        old = "".join(f"{line}\n" for line in real[at : at + removed])
        assert file.change(Changed(HERE, (Replacement(old, "".join(f"{line}\n" for line in new)),)))
    else:
        file.change(Changed(HERE, after="".join(f"{line}\n" for line in after)))
    return after


@given(st.integers(0, 60), edits)
def test_followed_edits_equal_the_oracle(count: int, made: list[Edit]) -> None:
    real = [f"base {number}" for number in range(1, count + 1)]
    file = WorkFile(real)
    for serial, edit in enumerate(made):
        real = apply(file, real, edit, serial)
        assert file.lines == real
        assert file.origin == oracle(real)


@given(st.integers(1, 60), edits, st.integers(1, 60), st.integers(1, 30))
def test_what_is_shown_after_unseen_edits_is_found_by_its_text(
    count: int, made: list[Edit], first: int, many: int
) -> None:
    """Some edits nobody saw: the file that is followed is another one, and still no line is taken for a wrong one."""
    real = [f"base {number}" for number in range(1, count + 1)]
    file = WorkFile(real)
    for serial, (at, removed, added, how) in enumerate(made):
        if how == "unseen":
            real = [*real[:at], *[f"new {serial} {number}" for number in range(added)], *real[at + removed :]]
        elif file.lines == real:
            real = apply(file, real, (at, removed, added, how), serial)
    shown = dict(enumerate(real[first - 1 : first - 1 + many], first))
    expected = sorted(number for number in oracle(list(shown.values())) if number)
    assert seen_of(Looked(HERE, numbered=shown), file).at_base == expected


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["a", "b", "}", "", "x = 1"]), max_size=40),
    st.lists(st.sampled_from(["a", "}", "", "c"]), max_size=40),
)
def test_alignment_keeps_order_and_only_pairs_equal_lines(texts: list[str], base: list[str]) -> None:
    for whole in (True, False):
        found = align(texts, base, whole)
        pairs = [(text, base[ref - 1]) for text, ref in zip(texts, found, strict=True) if ref]
        assert all(ours == theirs for ours, theirs in pairs)
        refs = [ref for ref in found if ref]
        assert refs == sorted(set(refs))
    assert align(texts, texts, whole=True) == list(range(1, len(texts) + 1))


def test_spans_count_only_what_was_printed() -> None:
    file = WorkFile([f"base {number}" for number in range(1, 31)])
    printed = [f"base {number}" for number in range(10, 16)]
    assert seen_of(Looked(HERE, span=LineSpan(10, 20), shown=printed), file).at_base == list(range(10, 16))
    assert seen_of(Looked(HERE, span=LineSpan(-3, 0), shown=["base 28", "base 29", "base 30"]), file).at_base == [
        28,
        29,
        30,
    ]
    assert seen_of(Looked(HERE, span=LineSpan(1, 0), shown=["cat: f: No such file"]), file).at_base == []
    assert seen_of(Looked(HERE, shown=["--", "base 7", "noise"]), file).at_base == [7]
    assert seen_of(Looked(HERE), file).at_base == []


def test_a_replacement_keeps_the_lines_at_its_ends() -> None:
    file = WorkFile(["a", "b", "c", "d"])
    assert file.change(Changed(HERE, (Replacement("a\nb\nc", "a\nB\nb2\nc"),)))
    assert (file.lines, file.origin) == (["a", "B", "b2", "c", "d"], [1, 0, 0, 3, 4])
    assert file.change(Changed(HERE, (Replacement("B", "BB", everywhere=True),)))
    assert file.origin == [1, 0, 0, 3, 4]
    assert not file.change(Changed(HERE, (Replacement("not there", "x"),)))


def test_a_hint_says_which_of_several_places() -> None:
    file = WorkFile(["def f():", "    return", "def g():", "    return"])
    assert file.change(Changed(HERE, (Replacement("    return", "    return 1", hint="def g():"),)))
    assert file.lines[3] == "    return 1" and file.origin == [1, 2, 3, 0]
