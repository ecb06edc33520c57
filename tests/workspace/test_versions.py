"""Frozen versions by name, on both databases: run, ranked apart, and followed from a case to the runs that tried it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evergold.build.groups import parse_shares
from evergold.build.service import build_rag
from evergold.build.spec import load_spec
from evergold.errors import BadInput, Conflict, NotFound
from evergold.model.build import Build
from evergold.model.case import Case, Provenance
from evergold.model.run import Run, RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.build.rag_builders import freeze
from tests.builders import a_case


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as workspace:
        yield workspace


def run(ws: Workspace, dataset: str, limit: int | None = None, dataset_type: str | None = None) -> Run:
    spec = RunSpec(dataset=dataset, model="recorded", metrics=("contains",), limit=limit)
    return ws.bench.work_on(ws.bench.run_here(spec, dataset_type=dataset_type).id)


def frozen(ws: Workspace) -> Build:
    shares = parse_shares("train=0.5,test=0.5")
    return ws.builds.freeze(ws.builds.spec_of("live", shares=shares, canary=True))


def offline(folder: Path, *answers: str) -> Path:
    """An offline dataset with one question per answer, and a summary."""
    lines: list[dict[str, Any]] = [
        {
            "task_id": f"q{number}",
            "task_type": "qa",
            "instruction": f"Question {number}?",
            "expected_response": answer,
            "metadata": {"document": "help.md"},
        }
        for number, answer in enumerate(answers)
    ]
    lines.append(
        {"task_id": "s", "task_type": "summaries", "instruction": "Sum up.", "expected_response": "All of it."}
    )
    path = folder / "help.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def registered(ws: Workspace, root: Path, version: str, *answers: str) -> Build:
    config = root / "config.yaml"
    splits = {name: {"output": f"{version}/{name}.jsonl"} for name in ("qa", "summaries")}
    manifest = f"{version}/manifest.json"
    section = {"offline_dataset": str(offline(root, *answers)), "manifest": manifest, "splits": splits}
    config.write_text(json.dumps({"evaluation": section}))
    spec = load_spec(config, {"version": version, "force": True})
    return ws.builds.register(spec, build_rag(spec))


def test_a_version_is_run_by_name_and_says_so(ws: Workspace) -> None:
    ws.cases.put(a_case(f"c{n}", input=f"Question {n}", output="An answer.") for n in range(6))
    build = frozen(ws)
    whole = run(ws, "live@v1")
    assert whole.provenance["dataset"] == {
        "name": "live",
        "version": "v1",
        "content_hash": build.content_hash,
        "build": {"dataset": "live", "version": "v1", "split": None, "content_hash": build.content_hash},
    }
    assert (whole.spec.dataset, whole.total) == ("live", 6)
    part = run(ws, "live@v1:test")
    assert part.provenance["dataset"]["version"] == "v1:test"
    assert part.provenance["dataset"]["content_hash"] == f"sha256:{build.manifest['splits']['test']['sha256']}"
    assert part.total == build.manifest["splits"]["test"]["count"]


def test_a_version_is_what_was_frozen_not_what_the_dataset_says_now(ws: Workspace) -> None:
    ws.cases.put([a_case("c1", input="Before", output="An answer.")])
    frozen(ws)
    ws.cases.put([a_case("c1", input="After", output="An answer.")])
    assert [case.input for case in ws.bench.cases(run(ws, "live@v1").id)] == ["Before"]
    assert [case.input for case in ws.bench.cases(run(ws, "live").id)] == ["After"]


def test_versions_splits_and_parts_are_ranked_apart(ws: Workspace) -> None:
    ws.cases.put(a_case(f"c{n}", input=f"Question {n}", output="An answer.") for n in range(6))
    frozen(ws)
    ws.cases.put([a_case("c6", input="Question 6", output="An answer.")])
    frozen(ws)
    for name in ("live@v1", "live@v2", "live@v1:test"):
        run(ws, name)
    run(ws, "live@v1", limit=2)
    boards = ws.bench.results.leaderboard()
    found = {(board.dataset, board.version): len(board.entries) for board in boards}
    assert found == {("live", "v1"): 1, ("live", "v2"): 1, ("live", "v1:test"): 1, ("live", "v1 (first 2)"): 1}
    assert len({board.content_hash for board in boards}) == 4


def test_lineage_leads_from_the_case_over_its_build_to_its_runs(ws: Workspace) -> None:
    ws.cases.put([a_case("c1", input="Before", output="An answer.")])
    frozen(ws)
    of_build, of_now = run(ws, "live@v1"), run(ws, "live")
    trail = ws.builds.lineage("live", "c1")
    assert [step.version for step in trail.builds] == ["v1"]
    assert {step.id: step.build for step in trail.runs} == {of_build.id: "v1", of_now.id: None}
    assert {step.rev for step in trail.runs} == {trail.rev} == {trail.builds[0].rev}
    ws.cases.put([a_case("c1", input="After", output="An answer.")])
    later = ws.builds.lineage("live", "c1")
    assert later.builds[0].rev == later.runs[0].rev != later.rev


def test_rag_builds_are_versions_like_any_other(ws: Workspace, tmp_path: Path) -> None:
    registered(ws, tmp_path, "v1", "At nine.", "At ten.")
    second = registered(ws, tmp_path, "v2", "At nine.", "At noon.", "Never.")
    assert (second.dataset, second.parent) == ("help", "v1")
    [dataset] = ws.builds.datasets()
    assert [build.version for build in dataset.builds] == ["v1", "v2"]
    assert ws.builds.diff("v1", "v2", "help").counts.model_dump() == {
        "added": 1,
        "removed": 0,
        "changed": 1,
        "moved": 0,
        "unchanged": 2,
    }
    apart = ws.builds.compare("help", "v1", "v2")
    assert (apart.before.records, apart.after.types) == (3, {"qa": 3, "summaries": 1})
    assert ws.builds.sample("help", "v2", count=10, seed=1).of == 4
    assert sorted(ws.builds.files("help", "v2")) == ["manifest.json", "qa.jsonl", "rejected.jsonl", "summaries.jsonl"]


def test_the_lineage_of_a_rag_case_is_read_from_its_builds(ws: Workspace, tmp_path: Path) -> None:
    registered(ws, tmp_path, "v1", "At nine.", "At ten.")
    registered(ws, tmp_path, "v2", "At nine.", "At noon.")
    by_name = run(ws, "help@v1:qa")
    by_path = run(ws, str(tmp_path / "v1" / "manifest.json"), dataset_type="qa")
    trail = ws.builds.lineage("help", "q1")
    assert (trail.provenance.document, trail.status) == ("help.md", "in builds only")
    assert [(step.version, step.split) for step in trail.builds] == [("v1", "qa"), ("v2", "qa")]
    assert trail.builds[0].rev != trail.builds[1].rev == trail.rev
    assert {step.id: step.build for step in trail.runs} == {by_name.id: "v1", by_path.id: "v1"}
    assert {step.rev for step in trail.runs} == {trail.builds[0].rev}
    with pytest.raises(NotFound, match="nor in the files of 2 builds"):
        ws.builds.lineage("help", "q9")


def test_a_build_that_was_made_again_is_remembered_as_it_is(ws: Workspace, tmp_path: Path) -> None:
    first = registered(ws, tmp_path, "v1", "At nine.")
    assert registered(ws, tmp_path, "v1", "At nine.").content_hash == first.content_hash
    again = registered(ws, tmp_path, "v1", "At ten.")
    assert again.content_hash != first.content_hash
    assert [build.content_hash for build in ws.builds.versions("help")] == [again.content_hash]


def test_a_file_that_is_not_the_one_that_was_built_is_not_run(ws: Workspace, tmp_path: Path) -> None:
    registered(ws, tmp_path, "v1", "At nine.")
    split = tmp_path / "v1" / "qa.jsonl"
    split.write_bytes(split.read_bytes().replace(b"nine", b"five"))
    with pytest.raises(Conflict, match="not the file that v1 was built with"):
        run(ws, "help@v1")
    split.unlink()
    with pytest.raises(BadInput, match="is missing"):
        run(ws, "help@v1:qa")


def test_a_version_or_split_that_is_not_there_is_named(ws: Workspace, tmp_path: Path) -> None:
    registered(ws, tmp_path, "v1", "At nine.")
    with pytest.raises(BadInput, match=r"no build 'v2' of dataset 'help' \(there are: v1\)"):
        run(ws, "help@v2")
    with pytest.raises(BadInput, match="unknown split of help v1 'exam'"):
        run(ws, "help@v1:exam")
    assert ws.bench.page()[1] == 0


def test_a_version_of_other_content_leaves_files_and_store_as_they_are(ws: Workspace) -> None:
    ws.cases.put(a_case(f"c{n}", input=f"Question {n}", output="An answer.") for n in range(6))
    build = frozen(ws)
    folder = Path(build.location or "")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ws.cases.put([a_case("new", input="One more?", output="Yes.")])
    for spec in (
        ws.builds.spec_of("live", "v1"),
        ws.builds.spec_of("live", "v1", force=True),
        ws.builds.spec_of("live", "v1", folder.with_name("elsewhere")),
    ):
        with pytest.raises(Conflict):
            ws.builds.freeze(spec)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not any(folder.with_name("elsewhere").iterdir())
    assert ws.builds.get("live", "v1") == build


def test_a_version_whose_files_were_replaced_is_not_passed_off_as_another(ws: Workspace, tmp_path: Path) -> None:
    source = offline(tmp_path, "One.", "Two.")
    for version, answers in (("v1", ["One.", "Two."]), ("v2", ["One."])):
        offline(tmp_path, *answers)
        outputs = {name: tmp_path / "out" / f"{name}.jsonl" for name in ("qa", "summaries")}
        flags = {"offline_dataset": source, "manifest": tmp_path / "out" / "manifest.json", "outputs": outputs}
        spec = load_spec(None, {**flags, "version": version, "force": True})
        ws.builds.register(spec, build_rag(spec))
    gone = "the files of help v1 are gone"
    for ask in (
        lambda: ws.builds.diff("v1", "v2", "help"),
        lambda: ws.builds.sample("help", "v1", count=1, seed=0),
        lambda: ws.builds.compare("help", "v1", "v2"),
        lambda: ws.builds.files("help", "v1"),
        lambda: run(ws, "help@v1:qa"),
    ):
        with pytest.raises(Conflict, match=gone):
            ask()
    assert [step.version for step in ws.builds.lineage("help", "q0").builds] == ["v2"]
    assert run(ws, "help@v2:qa").total == 1


def split_of(ws: Workspace, build: Build) -> dict[str, str]:
    return {
        record.id: record.split for record in ws.builds.sample(build.dataset, build.version, count=200, seed=0).records
    }


def test_a_session_stays_in_its_split_whatever_happened_in_between(ws: Workspace) -> None:
    def of_session(number: int, name: str, **more: Any) -> Case:
        where = Provenance(session_id=f"s{number}")
        return a_case(f"{name}{number}", input=f"{name} of {number}?", output="Yes.", provenance=where, **more)

    ws.cases.put(of_session(n, "old") for n in range(20))
    first = split_of(ws, frozen(ws))
    ws.builds.freeze(ws.builds.spec_of("live"))  # one split of another name
    ws.cases.put(of_session(n, "old", status="dismissed") for n in range(10))
    ws.cases.put(of_session(n, "new") for n in range(20))
    again = ws.builds.spec_of("live", shares=parse_shares("train=0.5,test=0.5"), seed=99)
    later = split_of(ws, ws.builds.freeze(again))
    assert len(later) == 30
    assert {name: later[name.replace("old", "new")] for name in first} == first
    filtered = ws.builds.spec_of("live", shares=again.shares, filters={"search": "new"})
    assert split_of(ws, ws.builds.freeze(filtered)) == {name: at for name, at in later.items() if "new" in name}


def test_a_build_is_the_same_from_any_database(ws: Workspace, tmp_path: Path) -> None:
    cases = [
        a_case(f"c{n}é", input=f"Question {n} \u2028?", output="A.", metadata={"n": 0.1 * n, "big": 2**63, "ü": None})
        for n in range(12)
    ]
    ws.cases.put(reversed(cases))
    build = frozen(ws)
    spec = ws.builds.spec_of("live", "v1", tmp_path / "again", shares=parse_shares("train=0.5,test=0.5"), canary=True)
    assert freeze(spec, cases).manifest.content_hash == build.content_hash


def test_the_parent_of_a_version_is_the_one_below_it(ws: Workspace, tmp_path: Path) -> None:
    for version in ("v9", "v10", "v9.1", "v2"):
        registered(ws, tmp_path, version, f"Answer of {version}.")
    assert {build.version: build.parent for build in ws.builds.versions("help")} == {
        "v2": None,
        "v9": None,
        "v9.1": "v9",
        "v10": "v9",
    }
    registered(ws, tmp_path, "v9", "Another answer.")
    assert ws.builds.get("help", "v9").parent == "v2"
