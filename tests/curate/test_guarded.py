"""A detector or tagger that raises costs its own result; the trace is curated all the same."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from evergold import plugins
from evergold.curate.live import Curation
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.facts import read_counters
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace


class Raising:
    """A detector and a tagger in one."""

    def detect(self, message: str, reply: str | None = None) -> float | None:
        raise RuntimeError(f"cannot read {message!r}")

    def tags(self, trace: Trace) -> Iterable[str]:
        yield "half"
        raise RuntimeError("no tags today")


def failures(workspace: Workspace) -> dict[str, int]:
    with workspace.store.db.read() as connection:
        return read_counters(connection, "plugin_failed:")


def test_a_detector_that_raises_is_counted_and_left_out(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        turns = [
            a_trace(f"t{n}", session_id="s", scores=[a_score()], started_at=f"2026-01-01T00:00:0{n}Z") for n in (1, 2)
        ]
        workspace.intake.accept(turns)
        curation = Curation(workspace.store, workspace.live.curation.policies, Raising())
        assert curation.drain().traces == 2
        assert workspace.live.stats().golden == 2
        assert failures(workspace) == {"plugin_failed:detector": 1}


def test_a_tagger_that_raises_is_counted_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = plugins.load
    monkeypatch.setattr(plugins, "load", lambda seam, name: Raising() if name == "broken" else load(seam, name))
    names = plugins.names
    monkeypatch.setattr(plugins, "names", lambda seam: [*names(seam), "broken"] if seam == "taggers" else names(seam))
    (tmp_path / "p.toml").write_text('name = "default"\ntags = ["broken"]\n')
    settings = Settings(home=tmp_path / "home", curation_policies=(str(tmp_path / "p.toml"),))
    with Workspace.open(settings) as workspace:
        workspace.intake.accept([a_trace("t1", scores=[a_score()])])
        assert workspace.live.curate().traces == 1
        assert workspace.live.stats().unconfirmed == 1
        assert failures(workspace) == {"plugin_failed:tagger broken": 1}
