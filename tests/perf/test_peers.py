"""Measurements beside peers: a peer that cannot be installed is one line, and a command line names what is measured."""

import os
from pathlib import Path

import pytest

from perf.__main__ import chosen, measurements
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
    assert "runner_peers" in listed and "peers" not in listed
    assert all(line.endswith((".", "?")) for line in listed.values())
