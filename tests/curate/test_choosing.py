"""The choice of a large day is put off, noted, and exact in the end."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from evergold.curate import queued as choosing
from evergold.model.case import Candidates
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.verdict.candidates import due_days
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.conversation.recorded_exchanges import RECORDED

POLICY = 'name = "default"\n[limit]\ncandidates_per_day = 3\n'
TRACES = [
    a_trace(f"t{n}", input=f"Where is the {'parcel' if n % 2 else 'invoice'} with number {n}?") for n in range(12)
]


def opened(settings: Settings, tmp_path: Path) -> Workspace:
    (tmp_path / "policy.toml").write_text(POLICY)
    policies = (str(tmp_path / "policy.toml"),)
    return Workspace.open(replace(settings, checks_builtin="true", curation_policies=policies))


def chosen(workspace: Workspace) -> set[str]:
    with workspace.store.db.read() as connection:
        return set(connection.execute(text("SELECT trace_id FROM candidate_pool WHERE chosen = 1")).scalars())


@pytest.fixture
def slow_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every day is large, and once chosen not chosen again."""
    monkeypatch.setattr(choosing, "SMALL", -1)
    monkeypatch.setattr(choosing, "REST", 1e12)


@pytest.mark.usefixtures("slow_to_choose")
def test_a_choice_that_was_put_off_is_made_by_hand_and_by_another_process(settings: Settings, tmp_path: Path) -> None:
    with opened(settings, tmp_path) as workspace:
        curation, policy = workspace.live.curation, workspace.live.curation.policies[0]
        workspace.intake.accept(TRACES[:6])
        curation.step()
        assert chosen(workspace) == set(), "a large day is read before the next transaction, not in this one"
        curation.step()
        first = chosen(workspace)
        workspace.intake.accept(TRACES[6:])
        curation.step()
        assert len(first) == 3 and chosen(workspace) == first, "not chosen again yet"
        with workspace.store.db.read() as connection:
            assert len(due_days(connection, policy)) == 1
    with opened(settings, tmp_path) as workspace:
        curation = workspace.live.curation
        curation.step()
        with workspace.store.db.read() as connection:
            assert due_days(connection, policy) == set()
        made = chosen(workspace)
        assert workspace.live.curate().by_kind == {}
        assert curation.backfill().by_kind == {} and chosen(workspace) == made
        assert workspace.live.stats().candidate == 3


def test_a_day_that_changed_while_it_was_read_is_chosen_again(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choosing, "SMALL", -1)
    monkeypatch.setattr(choosing, "REST", 0.0)
    with opened(settings, tmp_path) as workspace:
        curation, policy = workspace.live.curation, workspace.live.curation.policies[0]
        left = []
        for begin in (0, 6, 12):
            workspace.intake.accept(TRACES[begin : begin + 6])
            curation.step()
            with workspace.store.db.read() as connection:
                left.append((len(chosen(workspace)), len(due_days(connection, policy))))
        assert left == [(0, 1), (3, 1), (3, 0)]
        made = chosen(workspace)
        assert curation.backfill().by_kind == {} and chosen(workspace) == made


@pytest.mark.usefixtures("slow_to_choose")
def test_curating_by_hand_leaves_nothing_put_off(settings: Settings, tmp_path: Path) -> None:
    with opened(settings, tmp_path) as workspace:
        for begin in (0, 6):
            workspace.intake.accept(TRACES[begin : begin + 6])
            workspace.live.curate()
        by_steps = chosen(workspace)
        assert workspace.live.curation.backfill().by_kind == {} and chosen(workspace) == by_steps


def test_the_answer_stands_for_a_question_and_not_the_call_before_it(settings: Settings, tmp_path: Path) -> None:
    """SDKs that are traced call by call send two traces for one question: one ends with a call, one with the answer."""
    cities = {
        "mistral": "Lima",
        "openai": "Oslo",
        "anthropic": "Rome",
        "groq": "Bern",
        "litellm": "Riga",
        "bedrock": "Kyiv",
    }
    for exporter, city in cities.items():
        recorded = (RECORDED / f"openinference-{exporter}.json").read_text(encoding="utf-8")
        (tmp_path / f"{exporter}.json").write_text(recorded.replace("Lima", city), encoding="utf-8")
    with Workspace.open(replace(settings, checks_builtin="true")) as workspace:
        report = workspace.intake.ingest([tmp_path / f"{exporter}.json" for exporter in cities], source="otlp")
        assert report.traces == 2 * len(cities)
        workspace.live.curate()
        cases = list(workspace.cases.iterate(CaseFilter(dataset="live", candidates=Candidates.ONLY)))
        assert {case.input for case in cases} == {f"What is the weather in {city}?" for city in cities.values()}
        assert [[message["role"] for message in case.turn] for case in cases] == [
            ["assistant", "tool", "assistant"]
        ] * 6
