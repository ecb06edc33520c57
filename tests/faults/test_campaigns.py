"""The campaigns of `python -m tests.faults`, short: nothing acknowledged is lost, nothing is a 5xx, everything is answered."""

from pathlib import Path

import pytest

from tests.faults import fuzz, kill, outage, soak

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("times", [12, pytest.param(60, marks=pytest.mark.campaign)])
def test_kills_lose_double_and_halve_nothing(tmp_path: Path, times: int) -> None:
    summary = kill.run(tmp_path, kill.Plan(times=times, seed=7))
    assert summary.acknowledged and summary.good(), summary.problems


def test_fuzzed_requests_are_never_an_internal_error(tmp_path: Path) -> None:
    summary = fuzz.run(tmp_path, requests=200, seed=7)
    assert summary.statuses["none"] == 0 and summary.good(), summary.problems


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("kind", "faults"), [("sqlite", ("full", "killed")), ("postgresql", ("restarted", "refusing"))]
)
def test_outages_of_the_database_are_answered_and_forgotten(tmp_path: Path, kind: str, faults: tuple[str, ...]) -> None:
    summary = outage.run(tmp_path, rounds=1, seed=7, kinds=(kind,), only=faults)
    assert summary.acknowledged and summary.good(), summary.problems
    assert set(summary.statuses) <= {"200", "503", "none"}


@pytest.mark.campaign
def test_a_steady_load_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "WARM_SECONDS", 0.5)
    monkeypatch.setattr(soak, "PEAK_SECONDS", 1.0)
    summary = soak.run(tmp_path, minutes=0.02, load=0.5, seed=7)
    assert summary.acknowledged_count and summary.good(), summary.problems
