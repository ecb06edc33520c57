"""What answers are written with: citation markers, blocks of code, and the regular expressions of users that match them.

A marker is `[3]`, or several in one bracket (`[1, 4]`), numbered from 1 in the order of the contexts. The code of an answer is
that of its fenced blocks in the language asked for, or the code that stands in it without a fence.

Regular expressions of users are matched by RE2, in time linear in the text, whatever the pattern. They are written as for
Python's `re`. What RE2 cannot express in linear time (lookaround, backreferences, conditions, atomic groups) is refused with
what to do instead. `\\d`, `\\w` and `\\s` also match letters and digits beyond ASCII, as they do in Python; `\b` is the border
of an ASCII word.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import re2

from evergold.errors import BadInput
from evergold.model.case import SAME_LANGUAGE
from evergold.text.words import WORD, sentences

_MARKER = re.compile(r"\[\s*(\d{1,6}(?:\s*[,;]\s*\d{1,6})*)\s*\]")
_FEWEST_WORDS = 3
# The lookbehind lets a search begin only at the first blank of a run: `[ \t]*` stays linear on a text of blanks.
_SPACED_MARKER = re.compile(rf"(?<![ \t])[ \t]*{_MARKER.pattern}")
_AFTER_THE_STOP = re.compile(r"([.!?])((?:\s*\[[\d,;\s]+\])+)")


def markers(text: str) -> list[int]:
    """Every number cited, in order, repeats kept."""
    return [number for _, _, numbers in marker_spans(text) for number in numbers]


def marker_spans(text: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Every marker with where it stands and the numbers in it."""
    result = _MARKER.finditer(text)
    return [(match.start(), match.end(), tuple(map(int, re.findall(r"\d+", match[1])))) for match in result]


def without_markers(text: str) -> str:
    """The text as if nothing had been cited: the space before a marker goes with it."""
    return _SPACED_MARKER.sub("", text)


def cited_sentences(text: str) -> list[str]:
    """Sentences with their markers; one written after the full stop belongs to the sentence before it."""
    return list(sentences(_AFTER_THE_STOP.sub(r"\2\1", text)))


def is_claim(part: str) -> bool:
    """A heading, a greeting or a lone word claims nothing."""
    return len(WORD.findall(without_markers(part))) >= _FEWEST_WORDS and not part.rstrip().endswith(":")


FENCES = ("```", "~~~")
CODE_STARTS = ("def ", "async def ", "class ", "import ", "from ", "@")


class CodeBlock(NamedTuple):
    """A fenced block: its language in lower case (empty: not given) and its text."""

    language: str
    text: str


def code_blocks(text: str) -> Iterator[CodeBlock]:
    """The fenced blocks of a text in order; a fence that is never closed ends with the text. Time is linear in the text."""
    fence, language, indent = "", "", 0
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if fence:
            # Markdown: a closing fence is at least as long as the opening one, of the same sign, with nothing behind
            # it.
            if bare.startswith(fence) and not bare.strip(fence[0]):
                yield CodeBlock(language, "\n".join(lines))
                fence, lines = "", []
            else:
                # A block inside a list item is indented with its fence; that indent is not part of the code.
                lines.append(line[indent:] if not line[:indent].strip() else line)
        elif bare.startswith(FENCES):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            words = bare[len(fence) :].split()
            language = words[0].lower() if words else ""
            indent = len(line) - len(line.lstrip())
    if fence:
        yield CodeBlock(language, "\n".join(lines))


def code_of(text: str, language: str) -> str:
    """The code in `language` that an answer gives: blocks of that language, else blocks without one, else the text itself.

    Of Python, blocks that do not parse (a console session, an excerpt with dots) are left out while another one does.
    """
    wanted = _normalise(language)
    blocks = [(_normalise(block.language), block.text) for block in code_blocks(text)]
    chosen = [body for named, body in blocks if named == wanted] or [body for named, body in blocks if not named]
    if not chosen:
        return text if blocks or wanted != "python" else _unfenced_python(text)
    if wanted == "python":
        chosen = [body for body in chosen if _parses(body)] or chosen
    return "\n\n".join(chosen)


def _normalise(language: str) -> str:
    return SAME_LANGUAGE.get(language.lower(), language.lower())


def _unfenced_python(text: str) -> str:
    """The code of a text that may begin and end with prose: from its first definition to the last line that still parses."""
    if _parses(text):
        return text
    lines = text.splitlines()
    starts = (number for number, line in enumerate(lines) if line.startswith(CODE_STARTS))
    first = next(starts, None)
    if first is None:
        return text
    body = lines[first:]
    # The first syntax error is where prose begins again: the code ends on the line before.
    cut = _error_line("\n".join(body))
    return "\n".join(body if cut is None else body[: cut - 1])


def _parses(text: str) -> bool:
    return _error_line(text) is None


def _error_line(text: str) -> int | None:
    """The line of the first syntax error, counted from 1; None where the text is Python."""
    try:
        ast.parse(text)
    except SyntaxError as problem:
        return problem.lineno or 1
    # NUL bytes raise ValueError, deep nesting the other two; the text is a model's, so all of them happen.
    except (ValueError, RecursionError, MemoryError):
        return 1
    return None


MOST_CHARACTERS = 4000
LARGEST_PROGRAM = 20_000  # states: time is bounded by their number times the length of the text
# In RE2 `\d`, `\w` and `\s` are ASCII only; Python's are Unicode, and its `\Z` is RE2's `\z`.
OUTSIDE = {
    "d": r"\p{Nd}",
    "D": r"\P{Nd}",
    "w": r"[\p{L}\p{M}\p{N}_]",
    "W": r"[^\p{L}\p{M}\p{N}_]",
    "s": r"[\s\p{Z}]",
    "Z": r"\z",
}
# `\D`, `\W` and `\S` have no form inside brackets that RE2 takes; they stay as written, ASCII only.
IN_CLASS = {"d": r"\p{Nd}", "w": r"\p{L}\p{M}\p{N}_", "s": r"\s\p{Z}"}
REFUSED = {
    "(?=": "lookahead",
    "(?!": "lookahead",
    "(?<=": "lookbehind",
    "(?<!": "lookbehind",
    "(?P=": "a backreference",
    "(?(": "a condition on a group",
    "(?>": "an atomic group",
    "(?#": "a comment",
}


class Pattern:
    """A pattern that is ready to match."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def search(self, text: str) -> bool:
        """Say whether the pattern matches anywhere in the text."""
        return self._compiled.search(_bytes(text)) is not None

    def fullmatch(self, text: str) -> bool:
        """Say whether the pattern matches the whole text."""
        return self._compiled.fullmatch(_bytes(text)) is not None

    def find_first(self, text: str) -> str | None:
        """Give the first match: its first group where the pattern has one, else all of it."""
        match = self._compiled.search(_bytes(text))
        if match is None:
            return None
        part = match[1] if self._compiled.groups else match[0]
        return None if part is None else str(part, "utf-8", "replace")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """Compile a pattern; BadInput with the part that is not allowed."""
    if len(pattern) > MOST_CHARACTERS:
        raise BadInput(
            f"the pattern has {len(pattern)} characters; at most {MOST_CHARACTERS} are allowed: split it in two"
        )
    options = re2.Options()
    # RE2 would print a bad pattern to standard error; the error below says it once.
    options.log_errors = False
    options.case_sensitive = not ignore_case
    try:
        compiled = re2.compile(_translate(pattern), options)
    except (re2.error, UnicodeEncodeError) as problem:
        raise BadInput(f"{_short(pattern)} is not a regular expression: {_reason(problem)}") from problem
    # Nested counts such as `(a{100}){100}` compile into very many states, each a cost for every character.
    if compiled.programsize > LARGEST_PROGRAM:
        raise BadInput(f"{_short(pattern)} is too large: repeat counts multiply; use smaller ones, or `*` and `+`")
    return Pattern(compiled)


def _translate(pattern: str) -> str:
    """Write a pattern of Python's `re` for RE2, refusing what it lacks."""
    parts: list[str] = []
    in_class, at = False, 0
    while at < len(pattern):
        step = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if step[0] == "\\" and len(step) == 2:
            step, width = _escape(pattern, at, in_class)
        else:
            width = len(step)
            _refuse_group(pattern, at, in_class)
            # A `]` right behind `[` or `[^` is one of the characters in brackets.
            first = parts[-1:] == ["["] or parts[-2:] == ["[", "^"]
            in_class = (step != "]" or first) if in_class else step == "["
        parts.append(step)
        at += width
    return "".join(parts)


def _escape(pattern: str, at: int, in_class: bool) -> tuple[str, int]:
    letter = pattern[at + 1]
    # Inside brackets a digit escape is an octal character, no reference.
    if letter in "123456789" and not in_class:
        raise BadInput(f"{_short(pattern)}: a backreference (\\{letter}) is not allowed; write the repeated part out")
    if letter in "uU":
        size = 4 if letter == "u" else 8
        return f"\\x{{{pattern[at + 2 : at + 2 + size]}}}", 2 + size
    return (IN_CLASS if in_class else OUTSIDE).get(letter, pattern[at : at + 2]), 2


def _refuse_group(pattern: str, at: int, in_class: bool) -> None:
    if in_class or pattern[at : at + 2] != "(?":
        return
    for sign, name in REFUSED.items():
        if pattern.startswith(sign, at):
            raise BadInput(
                f"{_short(pattern)}: {name} ({sign}…) is not allowed, because it cannot be matched in linear time; "
                "use a simpler pattern, or two metrics"
            )


def _bytes(text: str) -> bytes:
    # A lone surrogate has no UTF-8; a question mark keeps the rest of the text searchable.
    return text.encode("utf-8", "replace")


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 80 else pattern[:77] + "…")


def _reason(problem: Exception) -> str:
    reason = problem.args[0] if problem.args else problem
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
