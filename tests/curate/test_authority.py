"""Who has the last word: nothing that a person decided is changed by what the machine concludes later."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evergold.errors import BadInput
from evergold.model.case import Case, CaseStatus, EntryType, ReviewState
from evergold.model.review import CaseKey, Decision, QueueQuery, ReviewVerdict
from evergold.model.trace import ScoreLine, ScoreSource
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

GOOD = (a_score("check", 1.0),)


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def cases(ws: Workspace, **wanted: object) -> list[Case]:
    with ws.store.db.read() as connection:
        return list(iterate_cases(connection, CaseFilter(**{"status": None, **wanted})))


def user(trace_id: str, value: float, source: str = "user", key: str | None = None) -> ScoreLine:
    return ScoreLine(trace_id=trace_id, name="thumbs", value=value, source=ScoreSource(source), key=key)


def review(ws: Workspace, case: Case, verdict: ReviewVerdict, **changes: object) -> None:
    decision = Decision(version=case.version, verdict=verdict, changes=changes)
    ws.review.decide(CaseKey(dataset=case.dataset, id=case.id), decision, "ana")


def test_a_validated_golden_is_asked_about_and_not_changed(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    (case,) = cases(ws)
    review(ws, case, ReviewVerdict.APPROVE)
    ws.intake.accept([user("t1", 0.0)])
    ws.live.curate()
    (after,) = cases(ws)
    assert (after.entry_type, after.status, after.review) == ("golden", "active", "validated")
    (item,) = ws.review.queue(QueueQuery(needs_look=True)).items
    assert item.needs_look == "since then: a user or human score is below 0.3"
    review(ws, after, ReviewVerdict.APPROVE)
    ws.live.curation.backfill()
    assert ws.review.queue(QueueQuery(needs_look=True)).items == ()
    ws.intake.accept([user("t1", 0.1, key="second")])
    ws.live.curate()
    assert len(ws.review.queue(QueueQuery(needs_look=True)).items) == 1


def test_a_withdrawn_score_takes_its_question_back(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    review(ws, cases(ws)[0], ReviewVerdict.APPROVE)
    ws.intake.accept([user("t1", 0.0)])
    ws.live.curate()
    (bad,) = [score for score in ws.intake.get("t1").scores if score.value == 0]
    assert bad.id is not None and ws.live.unscore(bad.id) == "t1"
    ws.live.curate()
    assert ws.review.queue(QueueQuery(needs_look=True)).items == ()


def test_a_failure_that_a_reviewer_made_golden_stays_golden(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=(*GOOD, a_score("thumbs", 0.0, "user")))])
    ws.live.curate()
    (case,) = cases(ws)
    review(ws, case, ReviewVerdict.APPROVE, entry_type="golden")
    ws.live.curation.backfill()
    (after,) = cases(ws)
    assert after.entry_type is EntryType.GOLDEN and after.review is ReviewState.VALIDATED


def test_a_human_score_outranks_a_users_and_it_a_check(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.intake.accept([user("t1", 0.0), user("t1", 1.0, "human", key="h")])
    ws.live.curate()
    assert [case.entry_type for case in cases(ws)] == ["golden"]


def test_what_was_undone_is_not_done_again_by_the_same_revision(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    label = ws.live.curation.policies[0].label
    ws.live.undo(label)
    ws.live.curation.backfill()
    (case,) = cases(ws)
    assert case.status is CaseStatus.WITHDRAWN


def test_a_policy_file_may_still_curate_what_another_revision_had_undone(ws: Workspace, tmp_path: Path) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    ws.live.undo(ws.live.curation.policies[0].label)
    other = tmp_path / "p.toml"
    other.write_text('name = "default"\n[thresholds]\ngolden_from = 0.7\n')
    ws.live.with_policy_files([other]).backfill()
    assert cases(ws)[0].status is CaseStatus.ACTIVE


FALSE_ALARM = [
    a_trace("t1", session_id="s", started_at="2026-01-01T10:01:00Z", scores=GOOD),
    a_trace(
        "t2",
        session_id="s",
        started_at="2026-01-01T10:02:00Z",
        input="That's wrong, it is Quito.",
        output="Sorry, my mistake: it is Quito.",
        scores=GOOD,
    ),
]


def entry(ws: Workspace, trace_id: str = "t1") -> Case:
    (found,) = [case for case in cases(ws, trace_id=trace_id) if case.entry_type is not EntryType.CORRECTION]
    return found


def test_dismissing_the_pair_of_a_false_alarm_takes_its_effects_back_for_good(ws: Workspace) -> None:
    ws.intake.accept(FALSE_ALARM)
    ws.live.curate()
    assert entry(ws).entry_type is EntryType.FAILURE
    (pair,) = cases(ws, entry_type="correction")
    review(ws, pair, ReviewVerdict.DISMISS)
    ws.live.curate()
    assert entry(ws).entry_type is EntryType.GOLDEN
    ws.intake.accept([user("t2", 0.9)])
    ws.live.curate()
    ws.live.curation.backfill()
    assert entry(ws).entry_type is EntryType.GOLDEN
    assert all(score.name == "check" for score in ws.intake.get("t1").scores)


def test_switching_the_detector_off_takes_what_it_found_back(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept(FALSE_ALARM)
        ws.live.curate()
        assert entry(ws).entry_type is EntryType.FAILURE
    with Workspace.open(replace(settings, curation_detector="")) as ws:
        ws.live.curation.backfill()
        assert entry(ws).entry_type is EntryType.GOLDEN


def test_a_withdrawn_detected_score_does_not_come_back(ws: Workspace) -> None:
    ws.intake.accept(FALSE_ALARM)
    ws.live.curate()
    (derived,) = [score for score in ws.intake.get("t1").scores if score.by_detector]
    assert derived.id is not None
    ws.live.unscore(derived.id)
    ws.intake.accept([user("t2", 0.9)])
    ws.live.curate()
    assert entry(ws).entry_type is EntryType.GOLDEN


def test_two_policies_that_disagree_each_keep_their_own_entry(ws: Workspace, tmp_path: Path) -> None:
    strict = tmp_path / "strict.toml"
    strict.write_text('name = "strict"\ndataset = "strict"\n[thresholds]\nfailure_below = 0.95\ngolden_from = 0.99\n')
    ws.intake.accept([a_trace("t1", scores=(a_score("check", 0.9),))])
    both = ws.live.use_policies([*ws.live.curation.policies, *ws.live.with_policy_files([strict]).policies])
    both.backfill()
    assert {case.dataset: case.entry_type for case in cases(ws)} == {"live": "golden", "strict": "failure"}
    assert [explained.tier for explained in both.explain("t1")] == ["unconfirmed", "failure"]
    review(ws, cases(ws, dataset="strict")[0], ReviewVerdict.APPROVE, entry_type="golden")
    both.backfill()
    assert {case.dataset: case.entry_type for case in cases(ws)} == {"live": "golden", "strict": "golden"}


def test_a_review_of_a_case_that_its_policy_just_withdrew_is_refused_in_one_line(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=(a_score("check", 1.0, key="k"),))])
    ws.live.curate()
    (seen,) = cases(ws)
    ws.intake.accept([ScoreLine(trace_id="t1", name="check", value=0.5, key="k")])
    ws.live.curate()
    (withdrawn,) = cases(ws)
    assert withdrawn.status is CaseStatus.WITHDRAWN
    with pytest.raises(BadInput, match="is withdrawn; it can no longer be reviewed"):
        review(ws, seen, ReviewVerdict.APPROVE)
    assert cases(ws) == [withdrawn]
