"""The verbs on an object store: each reads and writes URLs as it does paths."""

import gzip
import json
from pathlib import Path

import pytest
import zstandard

from evergold.errors import Conflict
from evergold.formats.dataset_pair import DatasetPair, lock_pair
from evergold.settings import Settings
from evergold.storage import find_matching, location
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.build.rag_builders import an_offline_record
from tests.builders import a_case
from tests.cli.running import evergold
from tests.storage.conftest import BUCKET, stored

ROOT = f"s3://{BUCKET}"


def a_line(number: int) -> bytes:
    return json.dumps({"type": "trace", "id": f"t{number}", "input": f"Q{number}", "output": "A"}).encode() + b"\n"


def put(name: str, data: bytes) -> None:
    location(f"{ROOT}/{name}").write_bytes(data)


def test_ingest_reads_a_glob_of_packed_files_and_tables(s3: str, tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    put("in/a.jsonl", a_line(1))
    put("in/b.jsonl.gz", gzip.compress(a_line(2)))
    put("in/c.jsonl.zst", zstandard.compress(a_line(3)))
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.Table.from_pylist([json.loads(a_line(4))]), sink)
    put("in/d.parquet", sink.getvalue().to_pybytes())
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        report = workspace.intake.ingest(find_matching(f"{ROOT}/in/*"))
    assert (report.counts()["traces"], report.rejected) == (4, 0)


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("faq.jsonl.gz", "case-jsonl"),
        ("faq.jsonl.zst", "live-jsonl"),
        ("faq.parquet", "parquet"),
        ("faq", "hf"),
        ("ft.jsonl.gz", "openai-ft"),
        ("faq.deepeval.json", "deepeval"),
        ("faq.yaml", "yaml"),
        ("faq.promptfoo.yaml", "promptfoo"),
    ],
)
def test_an_export_is_imported_again(s3: str, tmp_path: Path, name: str, format_name: str) -> None:
    path = location(f"{ROOT}/out/{name}")
    cases = [a_case(f"c{number}", dataset="faq", input=f"Q{number}?", expected="A.") for number in range(3)]
    with Workspace.open(Settings(home=tmp_path / "one")) as workspace:
        workspace.cases.put(cases)
        assert workspace.cases.export(CaseFilter(dataset="faq"), format_name, path) == 3
    with Workspace.open(Settings(home=tmp_path / "two")) as workspace:
        result, rejected = workspace.cases.import_file(path, format_name=format_name, dataset="again")
        assert (result.added, rejected) == (3, [])
        assert {case.input for case in workspace.cases.iterate(CaseFilter(dataset="again"))} == {"Q0?", "Q1?", "Q2?"}


CONFIG = b"""
generation: {documents: ../texts, output: ../made/offline.jsonl}
evaluation:
  offline_dataset: ../made/offline.jsonl
  manifest: ../made/manifest.json
  splits: {qa: {output: ../made/qa.jsonl}, summaries: {output: ../made/summaries.jsonl}}
"""


def test_documents_of_a_store_become_a_dataset_and_its_build_there(s3: str, tmp_path: Path) -> None:
    documents = Path(__file__).parents[2] / "src" / "evergold" / "samples" / "documents"
    put("texts/returns.md", (documents / "returns.md").read_bytes())
    put("texts/more/warranty.txt", (documents / "warranty.txt").read_bytes())
    put("texts/.cache/x.txt", b"hidden")
    put("settings/rag.yaml", CONFIG)
    workspace, config = Workspace(Settings(home=tmp_path)), location(f"{ROOT}/settings/rag.yaml")
    plan = workspace.generation.plan(config, {})
    corpus = workspace.generation.read(plan)
    assert list(corpus.documents) == ["more/warranty.txt", "returns.md"]
    assert [(one.name, one.reason) for one in corpus.skipped] == [(".cache", "hidden")]
    workspace.generation.generate(plan, corpus)
    workspace.rag.build(config, {})
    assert not workspace.rag.check(location(f"{ROOT}/made/manifest.json")).failed
    assert {"made/offline.jsonl", "made/qa.jsonl", "made/manifest.json"} < stored()


def test_a_rag_build_in_a_store_is_checked_and_verified_there(s3: str, tmp_path: Path) -> None:
    put(
        "offline.jsonl.gz",
        gzip.compress(b"".join(json.dumps(an_offline_record(f"r{n}")).encode() + b"\n" for n in range(5))),
    )
    options = {
        "offline_dataset": f"{ROOT}/offline.jsonl.gz",
        "manifest": f"{ROOT}/v1/manifest.json",
        "outputs": {name: location(f"{ROOT}/v1/{name}.jsonl") for name in ("qa", "summaries")},
    }
    workspace = Workspace(Settings(home=tmp_path))
    built = workspace.rag.build(None, options)
    assert {entry.path for entry in built.manifest.splits.values()} == {"qa.jsonl", "summaries.jsonl"}
    assert stored() == {
        "offline.jsonl.gz",
        *(f"v1/{name}" for name in ("qa.jsonl", "summaries.jsonl", "rejected.jsonl", "manifest.json")),
    }
    manifest = location(f"{ROOT}/v1/manifest.json")
    assert not workspace.rag.check(manifest).failed
    assert not workspace.rag.verify(manifest).failed
    with pytest.raises(Conflict, match="add --force"):
        workspace.rag.build(None, options)
    put("v1/qa.jsonl", b"{}\n")
    assert workspace.rag.verify(manifest).failed


def test_a_dataset_frozen_into_a_store_is_run_and_backed_up(s3: str, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        workspace.cases.put([a_case(f"c{n}", dataset="faq", input=f"Q{n}?", expected="A.") for n in range(3)])
        _, manifest = workspace.builds.freeze_as("faq", "v1", location(f"{ROOT}/builds/faq"))
        assert str(manifest) == f"{ROOT}/builds/faq/manifest.json"
        assert len(workspace.bench.datasets.freeze("faq@v1").cases) == 3
        report = workspace.backups.write(location(f"{ROOT}/backup.zip"))
        assert report.missing and "stay there" in report.missing[0]
    restored = Workspace(Settings(home=tmp_path / "other"))
    assert restored.backups.check(location(f"{ROOT}/backup.zip")).rows["eval_dataset"] == 3
    restored.backups.restore(location(f"{ROOT}/backup.zip"))


def test_extraction_goes_on_where_it_was_and_sees_another_writer(s3: str) -> None:
    folder = location(f"{ROOT}/pair")

    def a_context(name: str) -> None:
        pair.put(a_case(name, kind="context", dataset="context", input="Q", base_commit="a" * 40))

    with lock_pair(folder):
        pair = DatasetPair(folder)
        a_context("c1")
        pair.commit()
        pair.close()
    pair, other = DatasetPair(folder), DatasetPair(folder)
    assert not pair.wants("c1")
    a_context("c2")
    pair.commit()
    other.put(a_case("c3", kind="context", dataset="context", input="Q", base_commit="a" * 40))
    with pytest.raises(Conflict, match="somebody else wrote"):
        other.commit()
    for one in (pair, other):
        one.close()
    assert len(location(f"{ROOT}/pair/dataset_a_file_paths.unvalidated.jsonl").read_bytes().splitlines()) == 2


def test_retrieval_is_scored_from_a_store_by_the_command_line(s3: str, tmp_path: Path) -> None:
    rows = [
        {"caseId": f"c{n}", "lineRanges": [{"path": "a.py", "startLine": 1, "endLine": 2, "sources": ["golden_diff"]}]}
        for n in range(2)
    ]
    for number, row in enumerate(rows):
        put(f"gold/{number}.jsonl", json.dumps(row).encode())
    put(
        "predictions.jsonl.gz",
        gzip.compress(
            b"".join(
                json.dumps({"caseId": row["caseId"], "ranges": row["lineRanges"]}).encode() + b"\n" for row in rows
            )
        ),
    )
    done = evergold(
        "score-retrieval", f"{ROOT}/gold/*.jsonl", f"{ROOT}/predictions.jsonl.gz",
        "--per-case", f"{ROOT}/scores.jsonl", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert done.json["n"] == 2
    assert location(f"{ROOT}/scores.jsonl").read_bytes().count(b"\n") == 2


def test_traces_are_archived_in_a_store_and_brought_back(s3: str, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        lines = [json.loads(a_line(number)) | {"started_at": "2026-01-05T10:00:00Z"} for number in range(3)]
        put("in.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        workspace.intake.ingest([location(f"{ROOT}/in.jsonl")])
        assert workspace.archives.move("1d", f"{ROOT}/archive").traces == 3
        assert workspace.archives.restore("2026-01-05", f"{ROOT}/archive") == 3
        assert workspace.intake.get("t1").input == "Q1"
        assert workspace.intake.get("t2").output == "A"
