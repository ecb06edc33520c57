"""Measurements: what a command line names, the table of figures, exit codes; a peer that cannot be installed is one line."""

import os
from pathlib import Path

import pytest

import perf
from perf.__main__ import ALL, chosen, measurements, rows_of, run
from perf.measuring import print_figure
from perf.peers import python_of

KNOWN = ("runner", "reports", "otlp_ingest")


def a_uv(folder: Path, script: str) -> Path:
    """A program named uv that does what the script says."""
    program = folder / "uv"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_a_peer_that_cannot_be_installed_is_left_out_with_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    a_uv(tmp_path, 'echo "no network\n  at all" >&2; exit 2')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert python_of("deepeval", tmp_path / "peers") is None
    assert capsys.readouterr().out == "  deepeval: left out, it cannot be installed: no network at all\n"


def test_without_uv_the_line_names_the_command_that_brings_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert python_of("deepeval", tmp_path / "peers") is None
    assert "run `make setup`" in capsys.readouterr().out


def test_an_interrupted_installation_is_made_anew_and_a_whole_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = tmp_path / "calls"
    a_uv(tmp_path, f'echo "$1" >> {calls}')
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    python = tmp_path / "peers" / "deepeval" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()  # what a killed installation leaves: an interpreter without packages
    assert python_of("deepeval", tmp_path / "peers") == python
    assert calls.read_text().split() == ["venv", "pip"]
    assert python_of("deepeval", tmp_path / "peers") == python
    assert calls.read_text().split() == ["venv", "pip"]


def test_a_command_line_is_several_names_or_one_with_arguments() -> None:
    assert chosen([], KNOWN) == []
    assert chosen(["runner", "reports"], KNOWN) == [("runner", []), ("reports", [])]
    assert chosen(["otlp_ingest", "--peers", "--rounds", "1"], KNOWN) == [("otlp_ingest", ["--peers", "--rounds", "1"])]
    with pytest.raises(SystemExit, match="unknown measurement 'nothing' \\(valid: runner, reports, otlp_ingest\\)"):
        chosen(["nothing"], KNOWN)


def test_every_measurement_has_a_line_that_describes_it() -> None:
    listed = measurements()
    assert "runner" in listed and "peers" not in listed
    assert all(line.endswith((".", "?")) for line in listed.values())


def test_a_figure_with_its_goal_is_a_row_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_figure("10 cases: read", 0.25, "s of CPU", 0.6)
    assert not print_figure("spans a second", 0.5, "of the floor", 0.6, at_least=True)
    assert rows_of("store", capsys.readouterr().out, 1) == [
        ("store: 10 cases: read", "0.25 s of CPU", "at most 0.6", "yes"),
        ("store: spans a second", "0.5 of the floor", "at least 0.6", "no"),
    ]


def test_a_measurement_that_fails_is_shown_as_not_met() -> None:
    assert rows_of("archive", "Traceback\nValueError: no disk\n", 1) == [
        ("archive", "ValueError: no disk", "", ""),
        ("archive", "exit code 1", "", "no"),
    ]
    assert set(ALL) <= set(measurements())


def test_the_exit_code_of_a_measurement_comes_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "failing.py").write_text("def main(arguments=()):\n    return 3 if arguments else None\n")
    monkeypatch.setattr("perf.__path__", [*perf.__path__, str(tmp_path)])
    assert [run("failing", []), run("failing", ["--more"])] == [0, 3]
