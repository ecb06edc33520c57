"""Conversations with tools, sent in each way: every case holds all of it, is judged by its reward, and survives each format."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evergold import plugins
from evergold.model.case import EntryType
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.curate.conversations import FIRST_NS, SECOND, SKIPPED, WAYS, Recorded, case_of, changed_by, losses, send

SCHEMA = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {"id": {}}}}}
HAND_OVER = {"type": "function", "function": {"name": "hand_over", "parameters": {"type": "object"}}}


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def calls(*made: tuple[str, str, str]) -> dict[str, Any]:
    listed = [{"id": id, "type": "function", "function": {"name": name, "arguments": args}} for id, name, args in made]
    return {"role": "assistant", "content": None, "tool_calls": listed}


def gives(id: str, text: str, name: str = "find") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "name": name, "content": text}


RULES = {"role": "system", "content": "You look after bookings."}
CONVERSATIONS = {
    "an answer after parallel calls": [
        *(RULES, asks("Where are my two bookings?"), says("Which ones?"), asks("A1 and B2.")),
        *(
            calls(("c1", "find", '{"id": "A1"}'), ("c2", "find", '{"id": "B2"}')),
            gives("c1", "Lima"),
            gives("c2", "Cusco"),
        ),
        says("In Lima and in Cusco."),
    ],
    "ends with a call": [
        *(
            RULES,
            asks("I want to talk to a person."),
            calls(("c1", "hand_over", "{}")),
            gives("c1", "done", "hand_over"),
        )
    ],
    "an id used twice": [
        *(RULES, asks("Where is A1?"), calls(("c1", "find", '{"id": "A1"}')), gives("c1", "Lima"), says("In Lima.")),
        *(asks("And B2?"), calls(("c1", "find", '{"id": "B2"}')), gives("c1", "Cusco")),
    ],
    "the same call twice": [
        *(RULES, asks("Where is A1?"), calls(("c1", "find", '{"id": "A1"}')), gives("c1", "[]"), says("Nowhere.")),
        *(
            asks("Look again."),
            calls(("c2", "find", '{"id": "A1"}')),
            gives("c2", '{"city": "Lima"}'),
            says("In Lima."),
        ),
    ],
}


def recorded() -> list[Recorded]:
    return [
        Recorded(
            f"s{number}", f"u{number}", reward, tuple(messages), (SCHEMA, HAND_OVER), FIRST_NS + number * 3600 * SECOND
        )
        for number, (messages, reward) in enumerate(
            (said, reward) for said in CONVERSATIONS.values() for reward in (1.0, 0.0)
        )
    ]


@pytest.mark.parametrize("way", WAYS)
def test_no_way_in_and_no_format_loses_anything(way: str, settings: Settings, tmp_path: Path) -> None:
    sent = recorded()
    with Workspace.open(replace(settings, checks_builtin="true", redact_redactor="")) as workspace:
        send(workspace, way, sent)
        workspace.live.curate()
        cases = list(workspace.cases.iterate(CaseFilter(dataset="live")))
    assert {one.id: list(losses(case_of(cases, one), one, way)) for one in sent} == {one.id: [] for one in sent}
    for name in sorted({*plugins.names("formats")} - {*SKIPPED, "shout"}):
        written, left_out, changed = changed_by(cases, name, tmp_path)
        assert (written + left_out, changed) == (len(cases), 0), name
    golden = [case for case in cases if case.entry_type is EntryType.GOLDEN]
    assert all(case.reference() is not None and not case.list_missing() for case in golden)
