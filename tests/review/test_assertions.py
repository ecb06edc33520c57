"""Assertions: drafted from comments, kept with cases and tasks, measured by the offline judge."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold import Workspace
from evergold.cli import invoke
from evergold.errors import BadInput
from evergold.formats.task_files import parse_tasks
from evergold.judge.offline import find_stated
from evergold.model.case import Case, CaseStatus
from evergold.model.case_actions import NewCase
from evergold.model.review import CaseKey, Decision, Edit, ReviewVerdict
from evergold.review.assertions import draft_assertions

TASKS = """
name: fees
tasks:
  - id: a
    name: Deadline
    input: When is the fee due?
    expected_output: On 5 May 2026.
    assertions:
      - must: names the deadline
      - must: says that the fee is due on 5 May 2026
      - must_not: promises a refund
  - id: b
    name: Other
    input: Which plan is there?
    expected_output: The Pro plan.
"""


@pytest.mark.parametrize(
    ("comment", "drafts"),
    [
        ("It should have named the deadline.", [{"must": "names the deadline"}]),
        ("must not promise a refund", [{"must_not": "promises a refund"}]),
        (
            "The answer should mention the price, and it must not invent a phone number.",
            [{"must": "mentions the price"}, {"must_not": "invents a phone number"}],
        ),
        ("Doesn't say when the office opens", [{"must": "says when the office opens"}]),
        ("the opening hours are missing", [{"must": "names the opening hours"}]),
        ("No menciona el plazo", [{"must": "menciona el plazo"}]),
        ("needs to be polite", [{"must": "is polite"}]),
        ("Good answer, thanks", []),
    ],
)
def test_comments_become_drafts(comment: str, drafts: list[dict[str, str]]) -> None:
    assert draft_assertions([comment, comment]) == drafts


def test_forms_are_told_by_what_they_look_like() -> None:
    assert find_stated("names the price", "It costs 20 EUR.") is True
    assert find_stated("mentions the price", "You have to pay by 5 May.") is False
    assert find_stated("gives an e-mail address", "Write to help@example.org") is True
    assert find_stated("apologises", "Lo siento mucho.") is True
    assert find_stated("says that the shop is open", "We are open.") is None


def test_a_task_with_assertions_is_measured_trial_by_trial(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    (tmp_path / "fees.yaml").write_text(TASKS)
    (tmp_path / "fee_app.py").write_text(
        "calls = []\n"
        "def answer(question):\n"
        "    calls.append(question)\n"
        "    fine = sum(one == question for one in calls) < 3\n"
        "    return 'You have to pay the fee by 5 May 2026.' if fine else 'We promise you a full refund.'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = [
        "run",
        "fees.yaml",
        "--model",
        "python:fee_app:answer",
        "--metric",
        "assertions",
        "--trials",
        "3",
        "--json",
    ]
    assert invoke(["--home", str(tmp_path / "home"), *words]) == 0
    shown = json.loads(capsys.readouterr().out)
    (mean,) = shown["means"]
    assert (mean["n"], mean["not_applicable"]) == (1, 1)
    assert shown["trials"] == [{"case_id": "a", "metric": "assertions", "passes": 2, "trials": 3}]


def test_reviewers_comments_are_accepted_into_the_case(settings: Any) -> None:
    with Workspace.open(settings) as workspace:
        case = workspace.case_actions.create(
            NewCase(dataset="d", input="When?", expected="On 5 May.", assertions=({"must_not": "guesses"},)), "ana"
        )
        key = CaseKey(dataset="d", id=case.id)
        told = Decision(version=1, verdict=ReviewVerdict.SECOND_OPINION, comment="It should name the year.")
        workspace.review.decide(key, told, "ana")
        drafts = workspace.review.draft_assertions(key)
        assert drafts == [{"must": "names the year"}]
        version = workspace.review.case(key).case.version
        kept = [*case.assertions, *drafts]
        after = workspace.review.edit(key, Edit(version=version, changes={"assertions": kept}), "ana")
        assert list(after.assertions) == kept
        assert workspace.review.draft_assertions(key) == []
        with pytest.raises(BadInput, match="assertions"):
            workspace.review.edit(key, Edit(version=after.version, changes={"assertions": [{"may": "x"}]}), "ana")


def test_a_case_without_assertions_keeps_its_revision_and_tasks_keep_theirs() -> None:
    bare = Case(id="a", input="x", expected="y", status=CaseStatus.ACTIVE)
    assert "assertions" not in bare.identity()
    assert "assertions" in bare.model_copy(update={"assertions": ({"must": "x"},)}).identity()
    with pytest.raises(BadInput, match="assertions"):
        parse_tasks(TASKS.replace("must: names the deadline", "should: names the deadline"), "fees.yaml")
