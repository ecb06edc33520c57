"""What is printed: control characters of other people's texts never reach a terminal."""

import json
import re
from pathlib import Path

import pytest

from evergold.cli import invoke, output
from evergold.cli.output import CONTROL, echo, emit_json, make_printable, table

CLI = Path(output.__file__).parent
ATTACKS = (
    "\x1b]0;owned\x07 title",
    "\x1b[2J\x1b[1;1H cleared",
    "100 % passed\rreal: 3 %",
    "\x9b31m eight bits",
    "\x1b]8;;http://evil.example\x1b\\\\link",
    "back\x08\x08\x08\x7f",
    "\x00",
    "\x85",
)
STYLED = {"output.py", "demo.py", "__init__.py", "serve.py"}
"""Files that print texts of their own alone, or print what `printable` gave them."""


@pytest.mark.parametrize("text", ATTACKS)
def test_no_control_character_is_printed(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    echo(text)
    echo(text, err=True)
    table(text, (text,), [(text,)])
    emit_json({"text": text})
    printed = capsys.readouterr()
    assert not CONTROL.search(printed.out + printed.err)
    assert json.loads(printed.out[printed.out.index("{") :]) == {"text": text}


def test_plain_texts_are_printed_as_they_are() -> None:
    text = "tab\tline\r\nnext\n é 日本語 العربية \U0001f600 \u00a0"
    assert make_printable(text) == text.replace("\r\n", "\n")
    assert make_printable("\x1b[0m\x7f\x9b") == "␛[0m␡\\x9b"


def test_names_in_tables_are_no_markup(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    table("[red]a[/red] \x1b[2J", ("[b]c[/b]",), [("[link=http://evil.example]x[/link]",)])
    printed = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "[red]a[/red] ␛[2J" in printed and "[b]c[/b]" in printed and "[link=" in printed
    assert "\x1b" not in printed


def test_errors_and_lists_show_signs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = tmp_path / "traces.jsonl"
    trace = {"id": "t\x1b[2J", "input": "\x1b]0;x\x07", "output": "ok\rno"}
    hostile.write_text(json.dumps(trace) + "\n" + json.dumps({"id": 5, "\x1b[31m": 1}) + "\n")
    commands = (
        ("ingest", str(hostile)),
        ("traces", "list"),
        ("traces", "show", trace["id"]),
        ("traces", "show", "\x1b"),
    )
    for words in commands:
        invoke(["--home", str(tmp_path / "home"), *words])
        printed = capsys.readouterr()
        assert not CONTROL.search(printed.out + printed.err), words


def test_every_command_prints_through_echo() -> None:
    direct = [file.name for file in CLI.glob("*.py") if file.name not in STYLED and "click.echo(" in file.read_text()]
    assert not direct, f"print with evergold.cli.output.echo in: {direct}"
