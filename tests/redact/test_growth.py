"""Redaction takes time linear in the text: looked for on repeated fragments of every pattern.

The time of four times the text is compared with that of the text, in CPU time and with a generous factor; what looks worse is
measured again, so that a busy machine is no failure. `python -m perf redact_growth` measures a megabyte of each.
"""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.redact.default import DefaultRedactor
from perf.redact_growth import fragments

SIZE, FACTOR, TRIES = 8_000, 9.0, 4
REDACT = DefaultRedactor(ip_addresses=True).redact


def cpu(text: str) -> float:
    before = time.process_time()
    REDACT(text)
    return time.process_time() - before


def grows_faster_than_linear(fragment: str) -> bool:
    """Four times the text takes four times as long; sixteen times would be quadratic."""
    for _ in range(TRIES):
        small, large = cpu(repeated(fragment, SIZE)), cpu(repeated(fragment, 4 * SIZE))
        if large < 0.02 or large <= FACTOR * small:
            return False
    return True


def repeated(fragment: str, size: int) -> str:
    return (fragment * (size // len(fragment) + 1))[:size]


FRAGMENTS = fragments()


def test_no_pattern_takes_longer_than_linear_on_its_own_pieces() -> None:
    assert len(FRAGMENTS) > 100
    assert [fragment for fragment in FRAGMENTS if grows_faster_than_linear(fragment)] == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), min_size=1, max_size=4).map("".join).filter(bool))
def test_no_mixture_of_pieces_takes_longer_than_linear(fragment: str) -> None:
    assert not grows_faster_than_linear(fragment)


@pytest.mark.parametrize("fragment", ["a@", "sk-", "eyJ-", "-----BEGIN PRIVATE KEY-----", "git@github.com:a/b.git\n"])
def test_what_was_quadratic_before(fragment: str) -> None:
    assert cpu(repeated(fragment, 100_000)) < 5.0


def test_fragments_come_from_the_patterns() -> None:
    joined = " ".join(FRAGMENTS)
    for head in ("password", "ghp_", "bearer", "://", "@"):
        assert re.search(head, joined, re.IGNORECASE), head
