"""`evergold doctor`: what it finds, what it advises, and how it ends. It changes nothing and prints no key."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from tests.cli.running import Ran, evergold

AREAS = {"installation", "settings", "disk", "database", "plug-ins", "judge", "model endpoints"}
QUIET = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}


def doctor(folder: Path, **env: str) -> tuple[Ran, list[dict[str, Any]]]:
    ran = evergold("doctor", "--json", cwd=folder, **{**QUIET, **env})
    assert set(ran.json) == {"ok", "findings"}, ran.err
    assert all(set(one) == {"area", "level", "message", "todo"} for one in ran.json["findings"])
    return ran, ran.json["findings"]


def messages(findings: list[dict[str, Any]], *levels: str) -> str:
    return "\n".join(f"{one['message']} → {one['todo']}" for one in findings if one["level"] in levels)


def ingest(folder: Path, *traces: dict[str, Any], **env: str) -> None:
    lines = "\n".join(json.dumps(trace) for trace in traces)
    assert evergold("ingest", "-", cwd=folder, stdin=lines, **env).code == 0


def test_a_folder_without_a_workspace_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    ran, findings = doctor(tmp_path)
    assert {one["area"] for one in findings} >= AREAS
    assert "no workspace" in messages(findings, "note")
    assert ran.json["ok"] == (ran.code == 0)
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_in_order_is_fine(tmp_path: Path) -> None:
    whole = {"input": "Boots?", "output": "Yes.", "session_id": "s", "user_id": "u"}
    ingest(tmp_path, *({"id": f"t{n}", **whole} for n in range(3)))
    ran, findings = doctor(tmp_path)
    wrong = messages(findings, "warning", "error")
    assert (ran.code, ran.json["ok"]) == ((1, False) if wrong else (0, True))
    assert wrong in ("", "the web app is not built: pages are empty → make setup, or install a wheel")
    assert "the newest 3 traces: none is known to be incomplete" in messages(findings, "fine")
    printed = evergold("doctor", cwd=tmp_path, **QUIET)
    assert "schema" in printed.out and printed.code == ran.code


def test_settings_that_are_not_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "evergold.toml").write_text('[server]\nprot = 1\nport = 9000\n[benchmark]\ntries = "many"\n')
    ran, findings = doctor(tmp_path, EVERGOLD_SERVER_PORT="9001", EVERGOLD_SERVER_PROT="1")
    text = messages(findings, "warning")
    assert "unknown setting 'server.prot'; did you mean 'server.port'?" in text
    assert "benchmark.tries = 'many'" in text
    assert "unknown environment variable 'EVERGOLD_SERVER_PROT'; did you mean 'EVERGOLD_SERVER_PORT'?" in text
    assert "server.port is set in evergold.toml and otherwise by EVERGOLD_SERVER_PORT" in messages(findings, "note")
    assert ran.code == 1


def test_a_settings_file_that_cannot_be_read_ends_the_look(tmp_path: Path) -> None:
    (tmp_path / "evergold.toml").write_text("[server\n")
    ran, findings = doctor(tmp_path)
    assert (ran.code, "not valid TOML" in messages(findings, "error")) == (2, True)


def test_a_database_that_is_damaged_or_newer_cannot_be_looked_at(tmp_path: Path) -> None:
    home = tmp_path / ".evergold"
    home.mkdir(mode=0o700)
    (home / "evergold.db").write_bytes(b"this is no database" * 1000)
    ran, findings = doctor(tmp_path)
    assert (ran.code, "cannot be read" in messages(findings, "error")) == (2, True)
    (home / "evergold.db").unlink()
    ingest(tmp_path, {"id": "t1"})
    with sqlite3.connect(home / "evergold.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    ran, findings = doctor(tmp_path)
    assert (ran.code, "newer than this program knows" in messages(findings, "error")) == (2, True)


def test_files_that_others_may_read_are_named_and_not_changed(tmp_path: Path) -> None:
    ingest(tmp_path, {"id": "t1", "input": "a", "output": "b"})
    (tmp_path / ".evergold").chmod(0o755)
    ran, findings = doctor(tmp_path)
    assert "mode 755: others may read it → chmod go-rwx" in messages(findings, "warning")
    assert ran.code == 1


def test_an_endpoint_that_does_not_answer_is_named_without_its_key(tmp_path: Path) -> None:
    url = "http://user:hush-hush@127.0.0.1:9/v1"
    ran, findings = doctor(tmp_path, OPENAI_API_KEY="sk-very-secret-123456", EVERGOLD_MODEL_BASE_URL=url)
    assert "does not answer" in messages(findings, "warning")
    assert "a key is set" in messages(findings, "warning")
    assert "sk-very-secret-123456" not in ran.out and "hush-hush" not in ran.out
    assert ran.code == 1


def test_an_exporter_that_sends_no_answers_is_named_with_what_to_do(tmp_path: Path) -> None:
    ingest(tmp_path, *({"id": f"t{n}", "input": "Boots?", "started_at": "2026-11-01T09:00:00Z"} for n in range(3)))
    assert evergold("curate", cwd=tmp_path, EVERGOLD_CHECKS_BUILTIN="true").code == 0
    _, findings = doctor(tmp_path)
    assert "3 traces are incomplete: no answer" in messages(findings, "warning")
    assert "most of the newest 3 traces come without a session" in messages(findings, "note")
