"""Plug-ins: a package outside this repository, really installed, and the door it comes through."""

import subprocess
from pathlib import Path

import pytest

from evergold import plugins
from evergold.errors import BadInput, NotFound
from tests.cli.running import evergold

PACKAGE = Path(__file__).parent / "plugin_package"


@pytest.mark.release
def test_an_installed_package_is_found_and_used(tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        ["uv", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(PACKAGE)],
        check=True,
        capture_output=True,
        env=_with_own_tools(),
    )
    (tmp_path / "t.txt").write_text("!so it goes\n")
    listed = evergold("plugins", "--json", cwd=tmp_path, PYTHONPATH=str(site)).json
    assert "shout" in listed["formats"]
    assert "live-jsonl" in listed["formats"]
    assert evergold("ingest", "t.txt", "--json", cwd=tmp_path, PYTHONPATH=str(site)).json["traces"] == 1
    (tmp_path / "in.txt").write_text("SHOUT c1 HELLO THERE\n")
    assert evergold("import", "in.txt", "--json", cwd=tmp_path, PYTHONPATH=str(site)).json["added"] == 1
    ran = evergold("export", "shouted", "--format", "shout", cwd=tmp_path, PYTHONPATH=str(site))
    assert ran.code == 0, ran.err
    assert (tmp_path / "shouted.txt").read_text() == "SHOUT c1 HELLO THERE\n"
    (tmp_path / "c.yaml").write_text("generation: {writer: shout, tasks: {summaries: 0}}\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("Boots are fine.")
    words = ("generate", "--config", "c.yaml", "--documents", "docs", "--out", "out.jsonl", "--json")
    made = evergold(*words, cwd=tmp_path, PYTHONPATH=str(site))
    assert (made.json["label"], made.json["records"]) == ("shouted", {"qa": 1})
    assert "BOOTS!" in (tmp_path / "out.jsonl").read_text()
    assert "unknown format 'shout'" in evergold("export", "live", "--format", "shout", cwd=tmp_path).err


def _with_own_tools() -> dict[str, str]:
    import os
    import sys

    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "VIRTUAL_ENV": sys.prefix}


def test_every_registered_built_in_loads() -> None:
    for group in plugins.GROUPS:
        for name in plugins.names(group):
            assert plugins.factory(group, name) is not None


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(NotFound, match="live-jsonl"):
        plugins.load("formats", "nope")
    with pytest.raises(BadInput, match="plug-in group"):
        plugins.names("gadgets")
    with pytest.raises(BadInput, match="does not take"):
        plugins.load("formats", "live-jsonl", colour="red")
