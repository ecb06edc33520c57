"""Stages work on an archive day by day: checks, verdicts and curation, without bringing whole days back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from evergold.cli import root
from evergold.errors import BadInput, NotFound
from evergold.model.trace import Score, Trace
from evergold.settings import Settings
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace
from evergold.workspace.archive_days import ArchivedDays

DAYS = ("2026-01-05", "2026-01-06")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home", checks_builtin="false")) as opened:
        for day in DAYS:
            given = {"good": 0.9, "bad": 0.1, "neither": 0.5}
            opened.intake.accept(
                [
                    Trace(
                        id=f"{day} {name}",
                        session_id=f"of {day}" if name != "neither" else None,
                        input=f"Who is {name}?",
                        output="" if name == "bad" else f"It is {name}, as the record of that day says.",
                        started_at=f"{day}T10:00:00Z",
                        scores=(Score(name="ok", value=value),),
                    )
                    for name, value in given.items()
                ]
            )
        opened.archives.move("1d", tmp_path / "archive")
        yield opened


def ids(workspace: Workspace) -> set[str]:
    return {trace.id for trace in workspace.intake.page(TraceFilter(), limit=100)[0]}


def test_traces_that_become_cases_come_back_and_no_others(workspace: Workspace, tmp_path: Path) -> None:
    first = ArchivedDays(tmp_path / "archive", until=DAYS[0])
    (shown,) = workspace.archived_work.dry_run(first).values()
    assert shown.by_tier == {"candidate": 1, "failure": 1} and ids(workspace) == set()
    changes = workspace.archived_work.curate(first)
    assert (changes.traces, changes.by_kind, changes.by_tier) == (3, {"added": 2}, {"candidate": 1, "failure": 1})
    assert ids(workspace) == {f"{DAYS[0]} good", f"{DAYS[0]} bad"}
    again = workspace.archived_work.curate(ArchivedDays(tmp_path / "archive"))
    assert (again.traces, again.by_kind) == (6, {"added": 2})
    # What a case cites stays when the rest is archived again.
    workspace.archives.move("1d", tmp_path / "archive")
    assert ids(workspace) == {f"{day} {name}" for day in DAYS for name in ("good", "bad")}


def test_a_verdict_on_an_archived_trace_is_explained(workspace: Workspace, tmp_path: Path) -> None:
    good = f"{DAYS[0]} good"

    def said(*words: str) -> str:
        home = ("--home", str(tmp_path / "home"))
        done = CliRunner().invoke(root, [*home, *words, "--archive", str(tmp_path / "archive")])
        return done.output if done.exception is None else str(done.exception)

    assert "candidate, because every system score is at least 0.8" in said("curate", "--explain", good)
    assert "--archive goes with --backfill, --dry-run or --explain" in said("curate", "--since", DAYS[0])
    assert ids(workspace) == set()
    with pytest.raises(NotFound, match="no trace 'x' in the archive"):
        workspace.archived_work.explain(tmp_path / "archive", "x")
    with pytest.raises(BadInput, match="has no day from 2027"):
        workspace.archived_work.dry_run(ArchivedDays(tmp_path / "archive", since="2027-01-01"))


def test_checks_run_over_an_archive_and_write_what_changed(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    checking = Workspace(replace(workspace.settings, checks_builtin="true"), workspace.store).archived_work
    by_check = {each.check: each.result for each in checking.explain_checks(archive, f"{DAYS[0]} bad")}
    answered = by_check["answered"]
    assert answered is not None and answered.value == 0
    assert checking.check(ArchivedDays(archive), dry_run=True).changed == 0
    report = checking.check(ArchivedDays(archive, since=DAYS[1]))
    assert report.traces == 3 and report.changed > 0 and report.values["answered"] == {"0": 1, "1": 2}
    written = set(archive.rglob("*.parquet"))
    assert len(written) == 3
    scores = {score.name for score in workspace.archives.get(archive, f"{DAYS[1]} good").scores}
    assert {"ok", "answered"} <= scores
    # Checked once more, nothing has changed, and nothing is written.
    assert checking.check(ArchivedDays(archive, since=DAYS[1])).changed == 0
    assert set(archive.rglob("*.parquet")) == written


def test_what_the_next_turn_said_of_an_answer_stays_although_that_turn_is_elsewhere(tmp_path: Path) -> None:
    """The next turn is of another day, and neither the day alone nor the workspace shows it; its score is kept."""
    archive = tmp_path / "archive"
    with Workspace.open(Settings(home=tmp_path / "home", checks_builtin="true")) as workspace:
        turns = [("23:59:50", DAYS[0], "Where is my order?"), ("00:00:30", DAYS[1], "Thanks. And the invoice?")]
        workspace.intake.accept(
            [
                Trace(id=day, session_id="s", input=words, output="It left today.", started_at=f"{day}T{at}Z")
                for at, day, words in turns
            ]
        )
        workspace.live.checks.backfill()

        def names(trace: Trace) -> set[str]:
            return {score.name for score in trace.scores}

        assert "not_given_up" in names(workspace.intake.get(DAYS[0]))
        workspace.archives.move("1d", archive)
        assert workspace.archived_work.check(ArchivedDays(archive)).changed == 0
        assert "not_given_up" in names(workspace.archives.get(archive, DAYS[0]))
        assert len(list(archive.rglob("*.parquet"))) == 2
