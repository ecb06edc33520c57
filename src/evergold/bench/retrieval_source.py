"""Retrieval figures that need the files: budgets in tokens, symbols, and ranges that lie outside their file.

A token is taken as four bytes: near enough to compare two retrievals under one budget, whatever the tokenizer. Symbols
are the functions, methods and classes of Python files, told apart by the standard library's own parser; lines outside of
all of them are the module's.
"""

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

from evergold.bench.retrieval import Gold, Overlap, Prediction, needed

TOKEN_BUDGETS = (1_000, 4_000, 8_000, 32_000)
BYTES_PER_TOKEN = 4

ReadLines = Callable[[str, str], Sequence[bytes] | None]
"""(commit, path) → the lines of the file there, or None."""


class SourceScore(NamedTuple):
    """`tokens` is recall within so many tokens; `symbols` is None where no golden line lies in Python."""

    tokens: dict[int, float]
    symbols: Overlap | None
    outside: tuple[str, ...]


def score_source(gold: Gold, prediction: Prediction, read: ReadLines, tier: str = "edited") -> SourceScore | None:
    """None where the case has no golden lines or its base commit is not known."""
    wanted = needed(gold, tier)
    if not gold.has_lines or not wanted.lines or not gold.base_commit:
        return None
    commit = gold.base_commit
    inside, outside = _within_files(prediction.ranges, lambda path: read(commit, path))
    golden = {
        (path, line) for path, spans in wanted.lines.items() for start, end in spans for line in range(start, end + 1)
    }
    symbols = _symbols_of(golden, commit, read)
    result = _symbols_of({(path, line) for path, start, end in inside for line in range(start, end + 1)}, commit, read)
    return SourceScore(
        tokens=_within_tokens(inside, golden, lambda path: read(commit, path)),
        symbols=Overlap(len(symbols & result), len(result), len(symbols)) if symbols else None,
        outside=tuple(outside),
    )


def _within_files(
    ranges: Iterable[tuple[str, int, int]], read: Callable[[str], Sequence[bytes] | None]
) -> tuple[list[tuple[str, int, int]], list[str]]:
    """Ranges cut to their files, and a word about each that had to be cut."""
    inside: list[tuple[str, int, int]] = []
    outside: list[str] = []
    for path, start, end in ranges:
        lines = read(path)
        if lines is None:
            outside.append(f"{path}: no such file at base")
            continue
        if end > len(lines):
            outside.append(f"{path}:{start}-{end}: the file has {len(lines)} lines")
        if start <= len(lines):
            inside.append((path, start, min(end, len(lines))))
    return inside, outside


def _within_tokens(
    ranges: Iterable[tuple[str, int, int]], golden: set[tuple[str, int]], read: Callable[[str], Sequence[bytes] | None]
) -> dict[int, float]:
    """Recall within each budget: lines in rank order, each charged once, until the budget is spent."""
    spent = 0
    seen: set[tuple[str, int]] = set()
    positions: list[int] = []
    for path, start, end in ranges:
        lines = read(path) or ()
        for number in range(start, end + 1):
            if (path, number) in seen:
                continue
            seen.add((path, number))
            # Rounded up: a short line costs a token too.
            spent += -(-len(lines[number - 1]) // BYTES_PER_TOKEN)
            if (path, number) in golden:
                positions.append(spent)
        # Ranges behind the largest budget change no figure.
        if spent > TOKEN_BUDGETS[-1]:
            break
    return {budget: sum(position <= budget for position in positions) / len(golden) for budget in TOKEN_BUDGETS}


def _symbols_of(lines: set[tuple[str, int]], commit: str, read: ReadLines) -> set[tuple[str, str]]:
    """The symbols of Python files that these lines lie in."""
    results: set[tuple[str, str]] = set()
    for path in {path for path, _ in lines if path.endswith(".py")}:
        content = read(commit, path)
        names = line_symbols(b"".join(content)) if content else None
        if names is not None:
            results |= {(path, names[line - 1]) for at, line in lines if at == path and line <= len(names)}
    return results


@lru_cache(maxsize=512)
def line_symbols(source: bytes) -> tuple[str, ...] | None:
    """The innermost symbol of every line, "" for the module; None for what this Python cannot parse."""
    try:
        with catch_warnings():
            simplefilter("ignore")  # old code may spell its escapes in ways newer Pythons warn about
            tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    names = [""] * (source.count(b"\n") + 1)

    def mark(node: ast.AST, outer: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = outer
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{outer}.{child.name}" if outer else child.name
                # A decorator belongs to its function, and stands above `lineno`.
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                names[first - 1 : child.end_lineno] = [name] * ((child.end_lineno or first) - first + 1)
            mark(child, name)

    mark(tree, "")
    return tuple(names)
