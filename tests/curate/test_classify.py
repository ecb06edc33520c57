"""The tier table, held against an independent reading of it, row by row, at and around its borders."""

import math

from hypothesis import given
from hypothesis import strategies as st

from evergold.curate.classify import classify, explain
from evergold.model.policy import JudgeRole, Policy, Reason, Sampling, Thresholds, Tier
from evergold.model.trace import Score, ScoreSource, Trace, TraceStatus
from tests.rows import each_row

TRACE = Trace(id="t1", input="question", output="answer")
BORDERS = [0.0, math.nextafter(0.3, 0), 0.3, math.nextafter(0.3, 1), 0.5, math.nextafter(0.8, 0), 0.8, 1.0]


def score(value: float, source: str = "system", name: str = "check") -> Score:
    return Score(name=name, value=value, source=ScoreSource(source))


def read_the_table(scores: list[Score], ignored: set[str]) -> Tier:
    """The table as a person reads it aloud, with none of the code under test."""
    system = [s.value for s in scores if s.source == "system" and s.name not in ignored]
    human = [s.value for s in scores if s.source == "human" and s.name not in ignored]
    people = human or [s.value for s in scores if s.source == "user" and s.name not in ignored]
    if any(value < 0.3 for value in system) or any(value < 0.3 for value in people):
        return Tier.FAILURE
    if not system or not all(value >= 0.8 for value in system):
        return Tier.NONE
    if not people:
        return Tier.UNCONFIRMED
    return Tier.CONFIRMED if any(value >= 0.8 for value in people) else Tier.NONE


values = st.sampled_from(BORDERS) | st.floats(0, 1)
score_lists = st.lists(
    st.builds(score, values, st.sampled_from([s.value for s in ScoreSource]), st.sampled_from(["check", "flag"])),
    max_size=6,
)


@given(score_lists, st.booleans())
def test_the_verdict_is_what_the_table_says(scores: list[Score], ignore_flag: bool) -> None:
    ignored = {"flag"} if ignore_flag else set()
    assert classify(TRACE, scores, Policy(ignore=tuple(ignored))).tier is read_the_table(scores, ignored)


@given(score_lists)
def test_a_judge_takes_part_only_when_the_policy_says_so(scores: list[Score]) -> None:
    heard = [s.model_copy(update={"source": "system"}) if s.source == "llm_judge" else s for s in scores]
    assert classify(TRACE, scores, Policy(llm_judge=JudgeRole.SYSTEM)).tier is read_the_table(heard, set())


@each_row(
    ("scores", "tier", "reason"),
    [
        ([], Tier.NONE, Reason.NO_SCORES),
        ([score(1.0, "llm_judge")], Tier.NONE, Reason.NO_SCORES),
        ([score(1.0, "user")], Tier.NONE, Reason.NO_SYSTEM),
        ([score(0.29, "user")], Tier.FAILURE, Reason.USER_NEGATIVE),
        ([score(0.29, "human")], Tier.FAILURE, Reason.USER_NEGATIVE),
        ([score(1.0), score(0.1), score(1.0, "user")], Tier.FAILURE, Reason.FAILED_CHECK),
        ([score(0.3)], Tier.NONE, Reason.SYSTEM_BETWEEN),
        ([score(0.8)], Tier.UNCONFIRMED, Reason.OUTCOME),
        ([score(0.8), score(0.8, "human")], Tier.CONFIRMED, Reason.CONFIRMED),
        ([score(0.8), score(0.3, "user")], Tier.NONE, Reason.USER_BETWEEN),
        ([score(0.8), score(0.79, "user"), score(0.9, "human")], Tier.CONFIRMED, Reason.CONFIRMED),
    ],
)
def test_each_row_has_its_reason(scores: list[Score], tier: Tier, reason: Reason) -> None:
    verdict = classify(TRACE, scores, Policy())
    assert (verdict.tier, verdict.reason) == (tier, reason)


@each_row(
    ("change", "reason"),
    [
        ({"status": TraceStatus.FAILED}, Reason.TRACE_FAILED),
        ({"output": None}, Reason.NO_OUTPUT),
        ({"output": " \n\t "}, Reason.NO_OUTPUT),
        ({"output": " Try later. "}, Reason.FALLBACK),
        ({"output": "Oops, code 17"}, Reason.FALLBACK),
    ],
)
def test_some_traces_are_never_golden_but_can_fail(change: dict[str, object], reason: Reason) -> None:
    trace = TRACE.model_copy(update=change)
    policy = Policy(fallback_texts=("Try later.", "Oops*"))
    assert classify(trace, [score(1.0), score(1.0, "user")], policy).reason is reason
    assert classify(trace, [score(0.1)], policy).tier is Tier.FAILURE


def test_the_deciding_scores_are_those_that_decided() -> None:
    scores = [score(0.9), score(0.1, name="pii"), score(0.2, "user", "thumbs")]
    assert {s.name for s in classify(TRACE, scores, Policy()).deciding} == {"pii", "thumbs"}


def test_thresholds_are_the_policys() -> None:
    strict = Policy(thresholds=Thresholds(failure_below=0.5, golden_from=0.95))
    assert classify(TRACE, [score(0.94)], strict).tier is Tier.NONE
    assert classify(TRACE, [score(0.49)], strict).tier is Tier.FAILURE


def test_where_people_disagree_the_policy_says_whose_word_decides() -> None:
    scores = [score(1.0), *(score(value, "human", f"rater {value}") for value in (0.889, 0.333, 0.444))]
    assert classify(TRACE, scores, Policy()).tier is Tier.CONFIRMED
    strict = classify(TRACE, scores, Policy(thresholds=Thresholds(failure_below=0.5)))
    assert (strict.tier, strict.reason) == (Tier.FAILURE, Reason.USER_NEGATIVE)


def test_the_sample_keeps_its_share_and_says_so() -> None:
    policy = Policy(sample=Sampling(unconfirmed=0.25))
    verdicts = [classify(TRACE.model_copy(update={"id": f"t{n}"}), [score(1.0)], policy) for n in range(2000)]
    kept = [verdict for verdict in verdicts if verdict.tier is Tier.UNCONFIRMED]
    assert 420 < len(kept) < 580
    assert {verdict.included for verdict in kept} == {0.25}
    assert {v.reason for v in verdicts if v.tier is Tier.NONE} == {Reason.NOT_SAMPLED}


@each_row(
    ("eligible", "tier"),
    [
        ({"names": ["chat"]}, Tier.UNCONFIRMED),
        ({"names": ["other"]}, Tier.NONE),
        ({"users": ["ana"]}, Tier.UNCONFIRMED),
        ({"exclude_users": ["ana"]}, Tier.NONE),
        ({"metadata": {"model": "m1"}}, Tier.UNCONFIRMED),
        ({"metadata": {"model": ["m2", "m3"]}}, Tier.NONE),
        ({"min_input_chars": 9}, Tier.NONE),
    ],
)
def test_eligibility(eligible: dict[str, object], tier: Tier) -> None:
    trace = TRACE.model_copy(update={"name": "chat", "user_id": "ana", "metadata": {"model": "m1"}})
    assert classify(trace, [score(1.0)], Policy.model_validate({"eligible": eligible})).tier is tier


def test_an_explanation_names_grounds_and_way_out() -> None:
    told = explain(TRACE, [score(0.9), score(0.6, name="tone"), score(0.1, "llm_judge", "judge")], Policy())
    assert told.tier is Tier.NONE
    assert told.reason == "a system score lies between 0.3 and 0.8"
    assert [s.name for s in told.deciding] == ["tone"]
    assert [s.name for s in told.left_out] == ["judge"]
    assert ("a human score of 1 came", Tier.NONE) not in [(c.when, c.result) for c in told.counterfactuals]
    assert ("a human score of 0 came", Tier.FAILURE) in [(c.when, c.result) for c in told.counterfactuals]


@given(score_lists)
def test_every_change_an_explanation_promises_is_another_tier(scores: list[Score]) -> None:
    told = explain(TRACE, scores, Policy())
    assert all(change.result is not told.tier for change in told.counterfactuals)


def by_check(name: str, value: float) -> Score:
    return Score(name=name, value=value, key=f"check:{name}")


@each_row(
    ("scores", "tier"),
    [
        ([by_check("not_handed_over", 0.5)], Tier.NONE),
        ([score(1.0, name="reward"), by_check("not_handed_over", 0.5)], Tier.UNCONFIRMED),
        ([score(1.0, name="reward"), by_check("not_given_up", 0.5)], Tier.UNCONFIRMED),
        ([score(1.0, name="reward"), by_check("answered", 0.5)], Tier.UNCONFIRMED),
        ([score(1.0, name="reward"), by_check("not_repeated", 0.5)], Tier.UNCONFIRMED),
        ([score(1.0, name="reward"), by_check("finished", 0.5)], Tier.NONE),
        ([score(1.0), score(0.5, name="tone"), by_check("not_handed_over", 0.5)], Tier.NONE),
        ([score(0.0, name="reward"), by_check("not_handed_over", 1.0)], Tier.FAILURE),
        ([score(1.0, name="not_handed_over"), score(0.5, name="not_given_up")], Tier.NONE),
    ],
)
def test_a_check_that_presumes_is_silent_where_the_app_calls_the_answer_good(scores: list[Score], tier: Tier) -> None:
    assert classify(TRACE, scores, Policy()).tier is tier
