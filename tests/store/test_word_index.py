"""The word index learns in bulk; nothing is found late, and nothing is found that is gone."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from evergold.settings import Settings
from evergold.store.text_index import AT_ONCE, ENOUGH, SCRIPTS, WIDER, words_waiting
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_trace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path)) as opened:
        yield opened


def found(workspace: Workspace, word: str) -> int:
    return workspace.intake.count(TraceFilter(search=word))


def waiting(workspace: Workspace) -> int:
    with workspace.store.db.read() as connection:
        known, last = words_waiting(connection)
    return last - known


def run(workspace: Workspace, statement: str) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text(statement))

    workspace.store.db.write(work)


def test_words_wait_until_somebody_searches(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra")])
    assert waiting(workspace) == 1
    assert found(workspace, "zebra") == 1
    assert waiting(workspace) == 0


def test_intake_learns_when_enough_wait(workspace: Workspace) -> None:
    numbers = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ENOUGH})"
    run(workspace, f"{numbers} INSERT INTO traces (id, input_text) SELECT 't' || i, 'zebra' FROM n")
    workspace.intake.accept([a_trace("last", input="zebra")])
    assert waiting(workspace) == ENOUGH + 1 - AT_ONCE
    assert found(workspace, "zebra") == ENOUGH + 1


def test_the_server_learns_at_leisure(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra")])
    assert (workspace.live._learn_for_searches(), workspace.live._learn_for_searches()) == (True, False)
    assert (waiting(workspace), found(workspace, "zebra")) == (0, 1)


def test_what_is_written_by_hand_is_found_and_forgotten(workspace: Workspace) -> None:
    run(workspace, "INSERT INTO traces (id, input_text, output_text) VALUES ('a', 'zebra', ''), ('b', 'zebra', '')")
    run(workspace, "UPDATE traces SET input_text = 'okapi' WHERE id = 'a'")
    assert (found(workspace, "zebra"), found(workspace, "okapi")) == (1, 1)
    run(workspace, "UPDATE traces SET input_text = 'ibis' WHERE id = 'a'")
    run(workspace, "DELETE FROM traces WHERE id = 'b'")
    assert (found(workspace, "zebra"), found(workspace, "okapi"), found(workspace, "ibis")) == (0, 0, 1)


def test_what_goes_before_its_words_are_learnt_leaves_no_trace(workspace: Workspace) -> None:
    workspace.intake.accept([a_trace("t1", input="zebra"), a_trace("t2", input="zebra")])
    run(workspace, "DELETE FROM traces WHERE id = 't2'")
    assert found(workspace, "zebra") == 1
    workspace.intake.accept([a_trace("t3", input="zebra")])
    assert found(workspace, "zebra") == 2


def pairs_known(workspace: Workspace) -> int:
    with workspace.store.db.read() as connection:
        query = "SELECT count(*) FROM trace_grams WHERE trace_grams MATCH '漢字'"
        return int(connection.execute(text(query)).scalar_one())


def test_pairs_of_characters_are_forgotten_with_the_text_that_held_them(workspace: Workspace) -> None:
    texts = {"among others": "“Où” — 漢字 😀", "alone": "漢字", "other script": "“Où” 😀 ελληνικά"}
    workspace.intake.accept([a_trace(name, input=words) for name, words in texts.items()])
    assert found(workspace, "漢字") == pairs_known(workspace) == 2
    run(workspace, "UPDATE traces SET input_text = '漢字' WHERE id = 'other script'")
    run(workspace, "UPDATE traces SET input_text = 'plain' WHERE id = 'alone'")
    assert found(workspace, "漢字") == pairs_known(workspace) == 2
    run(workspace, "DELETE FROM traces")
    assert pairs_known(workspace) == 0


def test_the_quick_look_leaves_out_no_script() -> None:
    assert all(re.fullmatch(WIDER, end) for script in SCRIPTS for end in (script[0], script[-1]))
