"""A commit message → what it asks for, and what it cites.

The words are the query. Trailers (`Signed-off-by:`, `Fixes:`) are no part of a task; they and the numbers of issues are kept
beside it. Of a merge that only says which branch it merged, nothing is left to search with.
"""

import re
from typing import NamedTuple

_TRAILER = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.+)")
# `&#12;` is an HTML entity, `abc#12` an anchor; neither cites an issue.
_ISSUE = re.compile(r"(?<![\w&])(?:#|GH-)(\d+)\b")
_MERGE_SUBJECT = re.compile(r"Merge (?:pull request|branch|remote-tracking branch|tag|commit|PR)\b.*")
# The look-behind keeps a run of blanks from being tried at each of its positions.
_SPACES = re.compile(r"(?<![ \t])[ \t]+\n")


class Message(NamedTuple):
    query: str
    issues: tuple[str, ...]
    trailers: tuple[tuple[str, str], ...]


def read_message(text: str) -> Message:
    paragraphs = _SPACES.sub("\n", text.replace("\r\n", "\n").strip()).split("\n\n")
    trailers: tuple[tuple[str, str], ...] = ()
    # A message of one paragraph is its subject, even if it reads like a trailer (`fix: typo`).
    if len(paragraphs) > 1 and (result := _trailers(paragraphs[-1])):
        trailers = result
        paragraphs.pop()
    if paragraphs and _MERGE_SUBJECT.fullmatch(paragraphs[0].split("\n", 1)[0]):
        rest = paragraphs[0].split("\n", 1)[1:]
        paragraphs = [*rest, *paragraphs[1:]]
    return Message("\n\n".join(paragraphs).strip(), tuple(dict.fromkeys(_ISSUE.findall(text))), trailers)


def _trailers(paragraph: str) -> tuple[tuple[str, str], ...]:
    """The trailers of a last paragraph that holds nothing else; a folded line belongs to the one before."""
    results: list[tuple[str, str]] = []
    for line in paragraph.split("\n"):
        if results and line.startswith((" ", "\t")):
            results[-1] = (results[-1][0], f"{results[-1][1]} {line.strip()}")
        elif match := _TRAILER.fullmatch(line):
            results.append((match[1], match[2].strip()))
        else:
            return ()
    return tuple(results)
