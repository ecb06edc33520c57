"""The code of an answer: its fenced blocks in the language asked for, or the code that stands in it without a fence."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

SAME_LANGUAGE = {"py": "python", "python3": "python", "js": "javascript", "ts": "typescript", "sh": "bash"}
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
    wanted = _plain(language)
    blocks = [(_plain(block.language), block.text) for block in code_blocks(text)]
    chosen = [body for named, body in blocks if named == wanted] or [body for named, body in blocks if not named]
    if not chosen:
        return text if blocks or wanted != "python" else _unfenced_python(text)
    if wanted == "python":
        chosen = [body for body in chosen if _parses(body)] or chosen
    return "\n\n".join(chosen)


def _plain(language: str) -> str:
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
