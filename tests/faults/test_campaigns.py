"""The campaigns of `python -m perf.faults`, short: nothing acknowledged is lost, nothing is a 5xx, everything is answered."""

from pathlib import Path

import pytest

from perf.faults import fuzz, kill, outage, soak


@pytest.mark.slow
def test_kills_lose_and_double_nothing(tmp_path: Path) -> None:
    summary = kill.run(tmp_path, times=3, seed=7)
    assert summary.acknowledged and (summary.lost, summary.doubled, summary.failed()) == (0, 0, 0)


@pytest.mark.slow
def test_fuzzed_requests_are_never_an_internal_error(tmp_path: Path) -> None:
    summary = fuzz.run(tmp_path, requests=300, seed=7)
    assert (summary.failed(), summary.hangs, summary.statuses["none"]) == (0, 0, 0), summary.notes


@pytest.mark.slow
def test_outages_of_the_database_are_answered_and_forgotten(tmp_path: Path) -> None:
    summary = outage.run(tmp_path, rounds=1, seed=7)
    assert (summary.lost, summary.failed(), summary.hangs) == (0, 0, 0)
    assert set(summary.statuses) == {"200", "503"} and not any("no recovery" in note for note in summary.notes)


@pytest.mark.slow
def test_a_steady_load_is_stored(tmp_path: Path) -> None:
    summary = soak.run(tmp_path, minutes=0.02, load=0.5, seed=7)
    assert summary.acknowledged and (summary.lost, summary.failed(), summary.hangs) == (0, 0, 0)
