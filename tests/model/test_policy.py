"""Policies: what makes another revision, and what a sample keeps."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evergold.model.policy import Policy, Reason, Sampling, Thresholds, Tier
from evergold.model.values import unit_interval
from tests.rows import each_row


@each_row(
    ("one", "other"),
    [
        ({"ignore": ("b", "a")}, {"ignore": ("a", "b", "a")}),
        ({"ignore": (" a ", "")}, {"ignore": ("a",)}),
        ({"eligible": {"metadata": {"model": "m"}}}, {"eligible": {"metadata": {"model": ["m"]}}}),
        ({}, {"thresholds": {"failure_below": 0.3}}),
    ],
)
def test_two_ways_to_write_the_same_are_one_revision(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert Policy(**one).rev == Policy(**other).rev
    assert hash(Policy(**one)) == hash(Policy(**other))


@each_row(
    "change",
    [
        {"thresholds": {"golden_from": 0.81}},
        {"ignore": ("latency",)},
        {"llm_judge": "system"},
        {"eligible": {"users": ["jo"]}},
        {"sample": {"candidate": 0.5}},
        {"checks": ()},
        {"limit": {"candidates_per_day": 1}},
        {"fallback_texts": ("Oops*",)},
        {"dataset": "other"},
    ],
)
def test_what_can_change_a_verdict_is_another_revision(change: dict[str, Any]) -> None:
    assert Policy(**change).rev != Policy().rev


def test_the_label_is_the_name_and_the_head_of_the_revision() -> None:
    policy = Policy(name="mine")
    assert policy.label == f"mine@{policy.rev.split(':')[1][:12]}"


def test_an_explanation_states_the_thresholds() -> None:
    policy = Policy(thresholds=Thresholds(failure_below=0.25, golden_from=0.9))
    assert policy.explain(Reason.SYSTEM_BETWEEN) == "a system score lies between 0.25 and 0.9"
    assert all("{" not in policy.explain(reason) for reason in Reason)


@each_row(
    ("fields", "problem"),
    [
        ({"thresholds": {"failure_below": 0.9, "golden_from": 0.8}}, "failure_below 0.9 is above golden_from 0.8"),
        ({"thresholds": {"failure_below": 0}}, "greater than 0"),
        ({"sample": {"failure": 1.1}}, "less than or equal to 1"),
        ({"name": "Mine"}, "pattern"),
        ({"name": ""}, "pattern"),
        ({"unknown": 1}, "Extra inputs"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        Policy(**fields)


def test_equal_thresholds_leave_nothing_between() -> None:
    assert Thresholds(failure_below=0.5, golden_from=0.5)


@each_row(
    ("tier", "entry_type"), [("none", None), ("failure", "failure"), ("candidate", "golden"), ("confirmed", "golden")]
)
def test_tiers_make_entries(tier: str, entry_type: str | None) -> None:
    assert Tier(tier).entry_type == entry_type


@given(st.text(max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_sample_keeps_everything_that_a_smaller_one_does(trace_id: str, one: float, other: float) -> None:
    small, large = (Policy(sample=Sampling(candidate=rate)) for rate in sorted((one, other)))
    assert small.keeps(trace_id, Tier.CANDIDATE) <= large.keeps(trace_id, Tier.CANDIDATE)
    assert Policy().keeps(trace_id, Tier.FAILURE) and not Policy().keeps(trace_id, Tier.NONE)


@given(st.text(max_size=20))
def test_the_share_of_a_key_is_fixed_and_below_one(key: str) -> None:
    assert 0.0 <= unit_interval(key) < 1.0
    assert unit_interval(key) == unit_interval(key)


def test_the_share_of_a_key_is_the_head_of_its_md5() -> None:
    assert unit_interval("") == int("d41d8cd98f00", 16) / 16**12
