"""`evergold curate`, `stats` and `traces`, as a person runs them."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import evergold

TRACES: list[dict[str, Any]] = [
    {"id": "good", "input": "capital of Peru?", "output": "Lima.", "scores": [{"name": "check", "value": 0.9}]},
    {"id": "bad", "input": "capital of Chile?", "output": "Lima.", "scores": [{"name": "check", "value": 0.1}]},
    {"id": "old", "input": "q", "output": "a", "started_at": "2020-01-01T00:00:00Z", "user_id": "ana"},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    evergold("ingest", "-", cwd=tmp_path, stdin="".join(json.dumps(trace) + "\n" for trace in TRACES))
    return tmp_path


def test_from_dry_run_to_undo(folder: Path) -> None:
    dry = evergold("curate", "--dry-run", cwd=folder)
    assert "of 3 traces 1 golden (unconfirmed), 1 failure" in dry.out and "would be added" in dry.out
    assert evergold("curate", "--json", cwd=folder).json["changes"] == {"added": 2}
    again = evergold("curate", cwd=folder).out
    told = "no new scores, corrections or turns of a session; --backfill judges all of history again"
    assert again == f"curated 0 traces: nothing changed ({told})\n"
    assert evergold("curate", "--backfill", "--json", cwd=folder).json["changes"] == {}
    (policy,) = evergold("curate", "--policies", "--json", cwd=folder).json
    assert policy["in_force"] and policy["first_used"]
    undone = evergold("curate", "--undo", policy["label"], cwd=folder).out
    assert "2 entries" in undone and "will not make those changes again unless" in undone
    assert evergold("stats", "--json", cwd=folder).json["withdrawn"] == 2


def test_what_was_undone_comes_back_with_a_new_score_and_not_with_a_backfill(folder: Path) -> None:
    evergold("curate", cwd=folder)
    (policy,) = evergold("curate", "--policies", "--json", cwd=folder).json
    evergold("curate", "--undo", policy["label"], cwd=folder)
    assert evergold("curate", "--json", cwd=folder).json["examined"] == 0
    score = {"type": "score", "trace_id": "good", "name": "late", "value": 1.0}
    evergold("ingest", "-", cwd=folder, stdin=json.dumps(score))
    evergold("curate", cwd=folder)
    assert evergold("stats", "--json", cwd=folder).json["withdrawn"] == 1
    evergold("curate", "--backfill", cwd=folder)
    assert evergold("stats", "--json", cwd=folder).json["withdrawn"] == 1


def test_copies_of_a_question_and_what_is_not_shown_are_named(tmp_path: Path) -> None:
    on, question = {"EVERGOLD_CHECKS_BUILTIN": "true"}, "When does the small library near the station open on Sundays?"
    copies = [{"id": f"c{n}", "input": question, "output": f"At nine, floor {n}."} for n in range(2)]
    asked = [{"id": f"i{n}", "input": "Hi?", "metadata": {"services": [f"app{n}"]}} for n in range(7)]
    evergold("ingest", "-", cwd=tmp_path, stdin="".join(json.dumps(trace) + "\n" for trace in copies + asked))
    assert "incomplete: 2 more reasons and senders" in evergold("curate", cwd=tmp_path, **on).out
    left = [evergold("curate", "--explain", f"c{n}", cwd=tmp_path, **on).out for n in range(2)]
    assert sum("one trace of each question, and at most limit.candidates_per_day = 200" in out for out in left) == 1


def test_explaining_a_trace(folder: Path) -> None:
    told = evergold("curate", "--explain", "good", cwd=folder).out
    assert "unconfirmed by outcome, because every system score is at least 0.8" in told
    assert "decided by  check = 0.9 (system)" in told
    assert "if a user score of 0 came, it would be failure" in told
    missing = evergold("curate", "--explain", "none", cwd=folder)
    assert (missing.code, missing.err.count("\n")) == (2, 1)


def test_a_policy_file_of_ones_own(folder: Path) -> None:
    (folder / "strict.toml").write_text('name = "strict"\ndataset = "strict"\n[thresholds]\ngolden_from = 0.95\n')
    assert evergold("curate", "--policy", "strict.toml", "--backfill", "--json", cwd=folder).json["changes"] == {
        "added": 1
    }
    assert evergold("stats", "--dataset", "strict", "--json", cwd=folder).json["failure"] == 1
    (folder / "wrong.toml").write_text("golden = 1\n")
    wrong = evergold("curate", "--policy", "wrong.toml", cwd=folder)
    assert wrong.code == 2 and "wrong.toml: unknown key 'golden'" in wrong.err


def test_statistics_and_forgetting(folder: Path) -> None:
    evergold("curate", cwd=folder)
    assert "golden, unconfirmed\t1" in evergold("stats", cwd=folder).out
    assert evergold("traces", "prune", "--older-than", "90d", "--dry-run", "--json", cwd=folder).json["deleted"] == 1
    assert evergold("traces", "erase", "--user", "ana", "--json", cwd=folder).json["traces"] == 1
    assert "deleted 0 traces" in evergold("traces", "prune", "--older-than", "90d", cwd=folder).out
    assert evergold("traces", "prune", "--older-than", "soon", cwd=folder).code == 2
    assert evergold("curate", "--undo", "x", "--backfill", cwd=folder).code == 2


def test_a_tagger_and_a_detector_of_ones_own(folder: Path) -> None:
    site = folder / "site"
    (site / "own-1.dist-info").mkdir(parents=True)
    (site / "own-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1\n")
    (site / "own-1.dist-info" / "entry_points.txt").write_text(
        "[evergold.taggers]\nlength = own:Length\n[evergold.detectors]\nstern = own:Stern\n"
    )
    (site / "own.py").write_text(
        "class Length:\n"
        "    def tags(self, trace):\n"
        "        return ['short' if len(trace.output or '') < 10 else 'long']\n"
        "class Stern:\n"
        "    def detect(self, message, reply=None):\n"
        "        return 0.0 if message == 'Pfui!' else None\n"
    )
    (folder / "own.toml").write_text('tags = ["length"]\n')
    after = {"id": "next", "input": "Pfui!", "output": "?", "session_id": "s", "started_at": "2026-01-02T00:00:00Z"}
    reply = {**TRACES[0], "id": "reply", "session_id": "s", "started_at": "2026-01-01T00:00:00Z"}
    evergold("ingest", "-", cwd=folder, stdin=f"{json.dumps(reply)}\n{json.dumps(after)}\n")
    env = {"PYTHONPATH": str(site), "EVERGOLD_CURATION_POLICIES": "own.toml", "EVERGOLD_CURATION_DETECTOR": "stern"}
    assert evergold("curate", cwd=folder, **env).code == 0
    stats = evergold("stats", "--json", cwd=folder, **env).json
    assert (stats["correction"], stats["failure"], stats["golden"]) == (1, 2, 1)
    assert stats["tags"] == {"short": 3}
