"""A package whose plug-ins of every kind are broken costs their own results alone, and is named wherever one looks."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evergold
from evergold import plugins
from evergold.errors import EvergoldError, Unavailable
from evergold.settings import Settings
from evergold.workspace import Workspace
from evergold.workspace.doctor import diagnose
from evergold.workspace.operations import plugin_states
from tests.builders import a_case, a_score, a_trace

MODULES = {
    "import": 'raise RuntimeError("no licence")',
    "make": 'def make(*_, **__):\n    raise RuntimeError("no licence")',
    "call": """
class Broken:
    name = identity = label = "hostile"
    version = "1"
    suffix = ".hostile"

    def fail(self, *_, **__):
        raise RuntimeError("no licence")

    accepts = read = redact = detect = check = tags = measure = ask = attempt = retrieve = fail
    ideas = write = rewrite = count = flows = fail


def make(*_, **__):
    return Broken()
""",
}
TRACES = [a_trace(f"t{n}", session_id="s", scores=[a_score()], started_at=f"2026-01-01T00:0{n}:00Z") for n in range(4)]


ADDRESSED = {"judges", "targets", "writers", "flow_sources"}  # made when one is asked for, with its address
SEEN = {"import": set(plugins.GROUPS), "make": set(plugins.GROUPS) - ADDRESSED, "call": set[str]()}


@pytest.fixture(params=list(MODULES))
def broken(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The package, installed as pip leaves it behind; which way it is broken."""
    site = tmp_path / "site"
    install(site, MODULES[request.param], dict.fromkeys(plugins.GROUPS, "hostile"))
    monkeypatch.syspath_prepend(str(site))
    with fresh_plugins(monkeypatch):
        yield request.param


def install(site: Path, code: str, entries: dict[str, str]) -> None:
    info = site / "hostile-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    lines = [f"[evergold.{group}]\n{name} = hostile_package:make\n" for group, name in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
    (site / "hostile_package.py").write_text(code)


class fresh_plugins:
    """Forget which plug-ins there are, and what is known of them, before and after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def __enter__(self) -> None:
        self._patch.setattr(plugins, "_faults", {})
        self._patch.setattr(plugins, "_failed", Counter())
        self._forget()

    def __exit__(self, *_: object) -> None:
        self._forget()

    def _forget(self) -> None:
        plugins._read_entry_points.cache_clear()
        plugins._entry_points.cache_clear()
        sys.modules.pop("hostile_package", None)


def workspace_settings(folder: Path, **more: object) -> Settings:
    (folder / "p.toml").write_text('name = "default"\ntags = ["hostile"]\n')
    given = {"home": folder / "home", "curation_policies": (str(folder / "p.toml"),), "checks_builtin": "true"}
    return Settings(**{**given, "curation_detector": "hostile", **more})  # type: ignore[arg-type]


def test_traces_are_taken_in_and_curated_without_it(broken: str, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(trace.model_dump_json() for trace in TRACES))
    with Workspace.open(workspace_settings(tmp_path)) as workspace:
        assert workspace.intake.ingest([file]).traces == 4
        assert workspace.live.curate().traces == 4
        stats = workspace.live.stats()
        assert stats.golden + stats.candidate > 0
        states = {one.group: one for one in workspace.operations.plugins(workspace.settings)}
        assert {one.package for one in states.values()} == {"hostile"}
        seen = {"checks", "detectors", "taggers", "sources"} | (SEEN[broken])
        assert seen <= {group for group, one in states.items() if one.problem or one.failed}
        assert [switch.name for switch in workspace.rules.view().checks if switch.name == "answered"]


def test_benchmarks_run_without_it_and_say_what_it_cost(broken: str, tmp_path: Path) -> None:
    cases = [a_case("a", expected="Lima."), a_case("b", expected="Lima.")]
    with evergold.open(tmp_path) as ws:
        assert len(ws.workspace.bench.metrics()) > 20
        assert ws.run(cases, "recorded", "token_f1")["token_f1"].value == 1.0
        wanted: list[tuple[str, dict[str, Any]]] = [
            ("recorded", {"metrics": ["token_f1", "hostile"]}),
            ("hostile/x", {"metrics": ["token_f1"]}),
        ]
        wanted.append(("recorded", {"metrics": ["token_f1", "correctness"], "judge": "hostile"}))
        for model, options in wanted:
            if broken == "call":
                result = ws.run(cases, model, **options)
                # A model of which every call fails fails its run; a metric or a judge costs its own values.
                assert result.run.status.value == ("failed" if model == "hostile/x" else "completed")
                lost = [mean for mean in result.means if mean.n < 2 or mean.errors]
                assert [mean.metric for mean in lost] == [options["metrics"][-1]]
            else:
                try:
                    problem = ws.run(cases, model, **options).run.error
                except EvergoldError as refused:
                    problem = refused.message
                assert "no licence" in str(problem)


def test_files_are_written_and_recognised_without_it(broken: str, tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        written = ws.export([a_case()], "case-jsonl", tmp_path / "c.jsonl")
        assert [case.id for case in ws.cases(str(written.path))] == ["c1"]
        assert "case-jsonl" in ws.workspace.cases.file_formats()
        with pytest.raises(EvergoldError, match="no licence"):
            ws.export([a_case()], "hostile", tmp_path / "c.hostile")
        with pytest.raises(EvergoldError, match="no licence"):
            ws.extract("hostile", files=tmp_path)


def test_without_its_redactor_nothing_is_taken_in(broken: str, tmp_path: Path) -> None:
    with Workspace.open(workspace_settings(tmp_path, redact_redactor="hostile")) as workspace:
        with pytest.raises(Unavailable, match=r"nothing (is taken in|was stored), because it cannot be redacted"):
            workspace.intake.accept(TRACES)
        assert workspace.live.trace_count() == 0
        state = next(one for one in workspace.operations.plugins(workspace.settings) if one.group == "redactors")
        assert state.problem


def test_the_doctor_names_it(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with evergold.open(tmp_path) as ws:
        ws.ingest(TRACES)
        plugin_states(ws.workspace.settings, ws.workspace.store)
    diagnosis = diagnose()
    lines = [one for one in diagnosis.findings if one.area == "plug-ins"]
    assert len(lines) == len(plugins.GROUPS)
    assert diagnosis.ok == (broken == "call")
    assert len([one for one in lines if "no licence" in one.message and one.todo]) == len(SEEN[broken])


def test_a_built_in_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", MODULES["call"], {"checks": "answered"})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    with fresh_plugins(monkeypatch):
        assert plugins.factory("checks", "answered").__module__.startswith("evergold.")
        assert "has the same name" in plugins.faults()["checks", "answered"][0]
