"""Builds of stored datasets, on both databases."""

from pathlib import Path

import pytest

from evergold.errors import BadInput, Conflict, Incomplete, NotFound
from evergold.model.case import Provenance
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_case


def fill(workspace: Workspace, count: int = 12) -> None:
    workspace.cases.put(
        a_case(f"c{n}", input=f"Question {n}", provenance=Provenance(session_id=f"s{n % 4}")) for n in range(count)
    )


def test_versions_are_kept_and_compared(settings: Settings, tmp_path: Path) -> None:
    halves = {"train": 0.5, "test": 0.5}
    with Workspace.open(settings) as workspace:
        fill(workspace)
        builds = workspace.builds
        first = builds.freeze(builds.spec_of("live", shares=halves, seed=7))
        assert (first.version, first.parent) == ("v1", None)
        assert Path(first.location or "", "train.jsonl").exists()
        again = builds.freeze(builds.spec_of("live", "v1", shares=halves, seed=7))
        assert again.content_hash == first.content_hash
        fill(workspace, 16)
        second = builds.freeze(builds.spec_of("live", shares=halves, seed=1))
        assert (second.version, second.parent) == ("v2", "v1")
        found = builds.diff("v1", "v2", "live")
        assert (found.added, found.removed, found.moved) == (["c12", "c13", "c14", "c15"], [], {})
        assert [build.version for build in builds.versions("live")] == ["v1", "v2"]
        (dataset,) = builds.datasets()
        assert (dataset.cases, len(dataset.builds)) == (16, 2)
        with pytest.raises(Conflict):
            builds.freeze(builds.spec_of("live", "v1", tmp_path / "elsewhere", shares=halves))


def test_filters_and_names_that_make_no_sense(settings: Settings) -> None:
    with Workspace.open(settings) as workspace:
        fill(workspace)
        builds = workspace.builds
        only = builds.freeze(builds.spec_of("live", filters={"session_id": "s1"}))
        assert only.manifest["splits"]["all"]["count"] == 3
        for filters in ({"colour": "red"}, {"entry_type": "great"}):
            with pytest.raises(BadInput):
                builds.freeze(builds.spec_of("live", filters=filters))
        for name, folder in (("../etc", "%2E.%2Fetc"), (".hidden", "%2Ehidden"), ("a/b", "a%2Fb"), ("b c", "b%20c")):
            assert builds.spec_of(name).out == settings.home / "builds" / folder / "v1"
        with pytest.raises(NotFound, match="unknown dataset 'liv'; did you mean 'live'"):
            builds.freeze(builds.spec_of("liv"))
        with pytest.raises(Incomplete, match="none has session_id=s99"):
            builds.freeze(builds.spec_of("live", filters={"session_id": "s99"}))
        with pytest.raises(NotFound, match="v1"):
            builds.get("live", "v9")
        with pytest.raises(NotFound):
            builds.diff("v1", "v9", "live")
