"""A WhatsApp-like assistant in Spanish and English, exported by the real OpenTelemetry SDK to a real server, no scores.

Candidates count as golden here. The truth of each answer was written down before the rules (`assistant/turns.txt`).
`-s` prints the figures of docs/measurements/detection.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from evergold.model.case import Candidates, Case, EntryType
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.trace import DETECTED_KEY
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.assistant import FOLDER, Agreement, agreement, read_turns
from tests.chat_app import export_turns

POLICY = 'name = "default"\n[limit]\ncandidates_per_day = 100000\n'  # the goals are those before the daily limit


@dataclass
class Grown:
    """What grew from an exporter alone: where it lies, and the id of each turn by that of its trace."""

    home: Path
    policy: Path
    ids: dict[str, str]

    def open(self, **more: object) -> Workspace:
        given = {"home": self.home, "checks_builtin": "true", "curation_policies": (str(self.policy),), **more}
        return Workspace.open(Settings(**given))  # type: ignore[arg-type]


def grow(folder: Path, name: str) -> Grown:
    policy = folder / "unlimited.toml"
    policy.write_text(POLICY)
    home = folder / "home"
    settings = {"EVERGOLD_HOME": str(home), "EVERGOLD_CURATION_POLICIES": str(policy)}
    with served(folder, EVERGOLD_CHECKS_BUILTIN="true", **settings) as url, calling(url) as client:
        ids = export_turns(read_turns(FOLDER / name), url)
        # A call answers after some seconds, done or not.
        while client.post("/api/v1/curation").raise_for_status().json()["waiting"]:
            pass
    return Grown(home, policy, ids)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Grown]:
    yield grow(tmp_path_factory.mktemp("assistant"), "turns.txt")


def entries(ws: Workspace) -> list[Case]:
    with ws.store.db.read() as connection:
        return list(iterate_cases(connection, CaseFilter(candidates=Candidates.INCLUDE)))


def measured(grown: Grown, name: str, doubted: bool = False) -> Agreement:
    """What became of the turns; `doubted`: answers that a later message speaks against on weak grounds count as failures."""
    with grown.open() as ws:
        cases = entries(ws)
        doubts = [turn for trace, turn in grown.ids.items() if "too weak a ground" in ws.live.explain(trace)[0].reason]
    turn_of = {case.id: grown.ids[case.provenance.trace_id or ""] for case in cases}
    golden = [turn_of[case.id] for case in cases if case.entry_type is EntryType.GOLDEN]
    failures = [turn_of[case.id] for case in cases if case.entry_type is EntryType.FAILURE] + doubts * doubted
    pairs = [(turn_of[case.id], case.expected or "") for case in cases if case.entry_type is EntryType.CORRECTION]
    found = agreement(read_turns(FOLDER / name), golden, failures, pairs)
    print(f"\n{name}: " + "; ".join(f"{what} {share}" for what, share in vars(found).items()))
    return found


@pytest.mark.slow
def test_what_grows_from_an_exporter_alone_is_right(grown: Grown) -> None:
    assert len(grown.ids) == 300
    found = measured(grown, "turns.txt")
    assert found.golden_precision.value >= 0.97 and found.golden_recall.value >= 0.70
    assert found.failures_found.value >= 0.60 and found.pairs_right.value >= 0.75
    assert measured(grown, "turns.txt", doubted=True).failures_found.value >= 0.80


@pytest.mark.slow
def test_every_decision_of_the_machine_is_explained(grown: Grown) -> None:
    with grown.open() as ws:
        kinds = {case.provenance.trace_id: case.entry_type for case in entries(ws) if case.entry_type != "correction"}
        for trace_id in grown.ids:
            (explained,) = ws.live.explain(trace_id)
            decided = explained.tier.entry_type
            assert kinds.get(trace_id) == decided
            assert explained.reason and (explained.deciding or explained.remarks)
            assert all(score.comment for score in explained.deciding)
            detected = [score for score in explained.deciding if (score.key or "").startswith(DETECTED_KEY)]
            on_it = [remark for remark in explained.remarks if remark.target_id == trace_id]
            assert len(on_it) >= len(detected)
            assert all(remark.probability and remark.evidence and remark.message for remark in on_it)


@pytest.mark.slow
def test_five_reviews_survive_backfill_undo_and_policy_change(grown: Grown, tmp_path: Path) -> None:
    with grown.open() as ws:
        label = ws.live.curation.policies[0].label
        kept = _reviewed(ws)
        ws.live.checks.backfill()
        ws.live.curation.backfill()
        assert _as_left(ws, kept) == kept
        ws.live.undo(label)
        assert _as_left(ws, kept) == kept
        ws.live.curation.backfill()
        assert _as_left(ws, kept) == kept
        other = tmp_path / "strict.toml"
        other.write_text(POLICY + "[thresholds]\nfailure_below = 0.6\ngolden_from = 0.9\n")
        ws.live.with_policy_files([other]).backfill()
        assert _as_left(ws, kept) == kept
    with grown.open(curation_detector="") as ws:
        ws.live.curation.backfill()
        assert _as_left(ws, kept) == kept


Left = tuple[str, str, str, str | None]


def _reviewed(ws: Workspace) -> dict[str, Left]:
    """Decide five cases in different ways: as they were, the other way round, thrown out, and with an answer of one's own."""
    golden = [case for case in entries(ws) if case.entry_type is EntryType.GOLDEN]
    # An empty answer cannot be approved as golden.
    failures = [case for case in entries(ws) if case.entry_type is EntryType.FAILURE and case.output]
    decisions = [
        (golden[0], ReviewVerdict.APPROVE, {}),
        (golden[1], ReviewVerdict.APPROVE, {"entry_type": "failure"}),
        (golden[2], ReviewVerdict.DISMISS, {}),
        (failures[0], ReviewVerdict.APPROVE, {"entry_type": "golden"}),
        (failures[1], ReviewVerdict.DISMISS, {}),
    ]
    left = {}
    for case, verdict, changes in decisions:
        decision = Decision(version=case.version, verdict=verdict, changes=changes)
        left[case.id] = _left(ws.review.decide(CaseKey(dataset=case.dataset, id=case.id), decision, "ana"))
    return left


def _left(case: Case) -> Left:
    reference = case.reference()
    return case.entry_type, case.status, case.review, None if reference is None else reference.text


def _as_left(ws: Workspace, kept: dict[str, Left]) -> dict[str, Left]:
    with ws.store.db.read() as connection:
        cases = list(iterate_cases(connection, CaseFilter(status=None)))
    return {case.id: _left(case) for case in cases if case.id in kept}
