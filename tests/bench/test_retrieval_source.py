"""Scores that need the files: tokens, symbols, ranges outside."""

from evergold.bench.retrieval import Gold, GoldTier
from evergold.bench.retrieval_run import line_symbols, score_source
from evergold.formats.dataset_ab import Prediction

SOURCE = b"""import os

@cache
def first():
    return 1

class Thing:
    size = 3

    def grow(self):
        return 2
"""
LINES = [line + b"\n" for line in SOURCE.split(b"\n")[:-1]]


def read(commit: str, path: str) -> list[bytes] | None:
    return {"a.py": LINES, "b.txt": [b"x" * 40 + b"\n"] * 50}.get(path) if commit == "c0" else None


def gold(path: str, start: int, end: int) -> Gold:
    nothing = GoldTier({}, ())
    return Gold("c", GoldTier({path: [(start, end)]}, (path,)), nothing, nothing, base_commit="c0")


def test_every_line_has_its_innermost_symbol() -> None:
    names = line_symbols(SOURCE)
    assert names is not None
    assert names[:11] == ("", "", "first", "first", "first", "", "Thing", "Thing", "Thing", "Thing.grow", "Thing.grow")
    assert line_symbols(b"def broken(:\n") is None


def test_symbols_found() -> None:
    score = score_source(gold("a.py", 10, 10), Prediction("c", (("a.py", 4, 4), ("a.py", 11, 11))), read)
    assert score is not None and score.symbols is not None
    assert (score.symbols.hit, score.symbols.predicted, score.symbols.golden) == (1, 2, 1)
    plain = score_source(gold("b.txt", 1, 1), Prediction("c"), read)
    assert plain is not None and plain.symbols is None


def test_tokens_are_charged_once_and_ranges_cut_to_their_file() -> None:
    score = score_source(
        gold("b.txt", 1, 50), Prediction("c", (("b.txt", 1, 30), ("b.txt", 1, 90), ("no.txt", 1, 2))), read
    )
    assert score is not None
    assert score.tokens == {1000: 1.0, 4000: 1.0, 8000: 1.0, 32000: 1.0}
    assert score.outside == ("b.txt:1-90: the file has 50 lines", "no.txt: no such file at base")
    wide = Gold("c", GoldTier({"b.txt": [(50, 50)]}, ("b.txt",)), GoldTier({}, ()), GoldTier({}, ()), base_commit="c0")
    late = score_source(wide, Prediction("c", (("b.txt", 1, 50),)), lambda commit, path: [b"y" * 400] * 50)
    assert late is not None and (late.tokens[4000], late.tokens[8000]) == (0.0, 1.0)


def test_a_case_without_a_commit_has_no_such_score() -> None:
    nothing = GoldTier({}, ())
    assert (
        score_source(Gold("c", GoldTier({"a.py": [(1, 1)]}, ("a.py",)), nothing, nothing), Prediction("c"), read)
        is None
    )
