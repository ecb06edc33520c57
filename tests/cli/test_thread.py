"""The thin thread on the command line: ingest, curate, list, export; and the ways to get it wrong."""

import json
from pathlib import Path

import pytest

from tests.cli.running import evergold

LINES = [
    {
        "id": "t1",
        "session_id": "s1",
        "input": "hi",
        "output": "hello",
        "scores": [{"name": "no_pii", "value": 1.0, "source": "system"}],
    },
    {"id": "t2", "input": "why?", "output": "no", "scores": [{"name": "no_pii", "value": 0.1}]},
    {"type": "score", "trace_id": "t1", "name": "rating", "value": 1.0, "source": "user"},
    {"type": "correction", "trace_id": "t2", "text": "because"},
]


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


def test_from_traces_to_an_exported_dataset(traces: Path, tmp_path: Path) -> None:
    first = evergold("ingest", "traces.jsonl", "--json", cwd=tmp_path)
    assert first.code == 0, first.err
    assert first.json | {"pending": 0} == {
        "traces": 2,
        "spans": 0,
        "reactions": 0,
        "scores": 3,
        "corrections": 1,
        "duplicates": 0,
        "rejected": 0,
        "pending": 0,
    }
    again = evergold("ingest", "traces.jsonl", "--json", cwd=tmp_path)
    assert (again.json["traces"], again.json["scores"], again.json["corrections"]) == (0, 0, 0)
    assert again.json["duplicates"] > 0

    curated = evergold("curate", "--json", cwd=tmp_path).json
    assert (curated["golden_confirmed"], curated["failure"], curated["correction"]) == (1, 1, 1)
    listed = evergold("cases", "list", "--json", cwd=tmp_path).json
    assert sorted(case["entry_type"] for case in listed["cases"]) == ["correction", "failure", "golden"]

    out = evergold("export", "live", "--format", "live-jsonl", "--type", "golden", "--json", cwd=tmp_path)
    assert out.json["cases"] == 1
    (line,) = [json.loads(text) for text in (tmp_path / "live.jsonl").read_text().splitlines()]
    assert (line["trace_id"], line["input"], line["output"], line["metadata"]["confirmed"]) == (
        "t1",
        "hi",
        "hello",
        True,
    )


def test_bad_lines_are_named_and_the_good_ones_stored(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(
        '{"id":"a","input":"x"}\nnot json\n{"type":"score","trace_id":"a","name":"n","value":2}\n{"id":"b","sppans":[]}\n'
    )
    ran = evergold("ingest", "t.jsonl", "--json", cwd=tmp_path)
    assert ran.code == 1
    assert (ran.json["traces"], ran.json["rejected"]) == (1, 3)
    assert "t.jsonl:2: not JSON" in ran.err
    assert "t.jsonl:3: value: " in ran.err
    assert "t.jsonl:4: unknown field 'sppans'; did you mean 'spans'?" in ran.err


def test_strict_stores_nothing(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"id":"a","input":"x"}\nnot json\n')
    ran = evergold("ingest", "t.jsonl", "--strict", "--json", cwd=tmp_path)
    assert (ran.code, ran.json["traces"], ran.json["rejected"]) == (1, 0, 1)
    assert evergold("ingest", "-", "--json", cwd=tmp_path, stdin='{"id":"a","input":"y"}').json["traces"] == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("ingest", "nowhere.jsonl"), "no file 'nowhere.jsonl'"),
        (("ingest", "x", "--source", "fax"), "unknown source 'fax'"),
        (("cases", "list", "--wrong"), "--wrong"),
        (("ingset",), "did you mean 'ingest'"),
        (("export", "live", "--format", "live-json"), "did you mean 'live-jsonl'"),
        (("--db", "notes.txt", "cases", "list"), "not an SQLite file"),
        (("--db", "mongo://x", "cases", "list"), "database URL 'mongo://x'"),
        (("--home", "notes.txt/x", "cases", "list"), "cannot create the workspace folder"),
        (("serve", "--host", "0.0.0.0"), "without a token"),
        (("serve", "--port", "99999"), "99999"),
    ],
)
def test_what_cannot_run_says_so_in_one_line_and_exits_2(args: tuple[str, ...], said: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("just some notes, certainly not a database\n" * 50)
    (tmp_path / "x").write_text('{"id":"a"}')
    before = sorted(path.name for path in tmp_path.iterdir())
    ran = evergold(*args, cwd=tmp_path)
    assert ran.code == 2
    assert said in ran.err
    assert "Traceback" not in ran.err
    assert notes.read_text().startswith("just some notes")
    assert [name for name in sorted(path.name for path in tmp_path.iterdir()) if name != ".evergold"] == before


def test_a_taken_port_is_said(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = evergold("serve", "--port", str(taken.getsockname()[1]), cwd=tmp_path)
    assert ran.code == 2
    assert "choose one with --port" in ran.err


def test_settings_tell_where_a_value_comes_from(tmp_path: Path) -> None:
    (tmp_path / "evergold.toml").write_text('eval_auto_curate = false\n[server]\nport = 9000\nhost = "127.0.0.2"\n')
    ran = evergold("--home", "here", "settings", "--json", cwd=tmp_path, EVERGOLD_SERVER_PORT="9001")
    found = {row["name"]: (row["value"], row["origin"]) for row in ran.json}
    assert found["server.port"] == (9001, "EVERGOLD_SERVER_PORT")
    assert found["server.host"] == ("127.0.0.2", "evergold.toml")
    assert found["eval_auto_curate"] == (False, "evergold.toml")
    assert found["home"] == ("here", "flag")
    assert found["tracing_sample_rate"] == (1.0, "default")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[server]\nprot = 1\n", "did you mean 'server.port'"),
        ("[server]\nport = 'many'\n", "server.port = 'many' is not a int"),
        ("= 3", "not valid TOML"),
    ],
)
def test_a_bad_settings_file_is_explained(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "evergold.toml").write_text(text)
    ran = evergold("settings", cwd=tmp_path)
    assert ran.code == 2
    assert said in ran.err


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys, evergold.cli; evergold.cli.invoke(['--help']); "
        "heavy = {'pydantic', 'sqlalchemy', 'fastapi', 'numpy', 'openai', 'rich', 'orjson'} & set(sys.modules); "
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (0, "")
