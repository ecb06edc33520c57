"""Text helpers take time linear in the text: four times as much takes about four times as long, not sixteen."""

import time
from collections.abc import Callable

from evergold.bench.metrics.text import _without_fence
from evergold.calls.endpoints import parse_object
from evergold.checks.answered import _CLAUSES, _TRACE
from evergold.checks.builtin import _JSON_WANTED
from evergold.extract.agents.calls import _without_reminders
from evergold.extract.messages import _SPACES, read_message
from evergold.generate.passages import _LINK
from evergold.judge.code import STRONG, _contains, _tokens, compare_code
from evergold.sources.agents.log_lines import request_in
from evergold.text.markers import _SPACED_MARKER
from tests.rows import each_row

SIZE, FACTOR, TRIES = 20_000, 9.0, 4


def cpu(work: Callable[[str], object], text: str) -> float:
    before = time.process_time()
    work(text)
    return time.process_time() - before


@each_row(
    ("work", "fragment"),
    [
        (parse_object, "```\n"),
        (parse_object, "\n"),
        (_without_fence, "```json\n\n"),
        (_without_reminders, "<system-reminder>"),
        (_without_reminders, "\n"),
        (request_in, "<skill>"),
        (request_in, "<skill "),
        (request_in, "[Image"),
        (request_in, "<command-args>"),
        (lambda text: _SPACED_MARKER.sub("", text), " "),
        (lambda text: _SPACES.sub("", text), " "),
        (read_message, "fixes "),
        (read_message, "#1 "),
        (read_message, "a/b"),
        (lambda text: read_message("#1" + text), " "),
        (lambda text: read_message("#1 " + text), "in issue "),
        (lambda text: _LINK.sub("", text), "["),
        (_JSON_WANTED.search, "only "),
        (_CLAUSES.split, " "),
        (_CLAUSES.split, ",  "),
        (_TRACE.search, "\n"),
        (_TRACE.search, " \n"),
        (STRONG.search, "\n"),
        (STRONG.search, " \n"),
        (STRONG.search, "1"),
        (_tokens, "/*"),
        (lambda text: _tokens("*/" + text), "/*"),
        (lambda text: _contains((*_tokens(text), "b"), _tokens(text)), "a "),
        (lambda text: compare_code(f"{text}b", f"c{text}"), "(a,"),
    ],
)
def test_repeated_fragments_take_linear_time(work: Callable[[str], object], fragment: str) -> None:
    for _ in range(TRIES):
        small, large = (cpu(work, (fragment * size)[:size]) for size in (SIZE, 4 * SIZE))
        if large < 0.05 or large <= FACTOR * small:
            return
    raise AssertionError(f"{SIZE} characters of {fragment!r}: {small:.3f} s, four times as many: {large:.3f} s")
