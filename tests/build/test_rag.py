"""The RAG builder from end to end: what it writes, what it refuses, and what is left after a disaster."""

import gzip
import hashlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard

from evergold.build import rag
from evergold.build.check import check
from evergold.build.compare import compare
from evergold.build.manifest import verify
from evergold.build.offline_records import Block, SeenIds, read_blocks
from evergold.build.service import build_rag
from evergold.build.spec import load_spec
from evergold.errors import BadInput, Conflict, EvergoldError, NotFound, Unavailable
from evergold.spread import in_order, spread_here
from tests.build.rag_builders import a_spec, an_offline_record, offline_file, read_jsonl


def summaries(count: int) -> list[dict[str, Any]]:
    return [an_offline_record(f"s{number}", task_type="summaries") for number in range(count)]


def test_splits_manifest_and_hashes(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record("a"), *summaries(2), an_offline_record("c", task_type="citations")])
    manifest = rag.build(spec)
    assert {name: entry.count for name, entry in manifest.splits.items()} == {"qa": 1, "summaries": 2}
    assert manifest.excluded_task_types == {"citations": 1}
    for name, entry in manifest.splits.items():
        data = spec.outputs[name].read_bytes()
        assert entry.sha256 == hashlib.sha256(data).hexdigest()
        assert entry.bytes == len(data)
    written = json.loads(spec.manifest.read_bytes())
    assert written["source"]["sha256"] == hashlib.sha256(spec.source.read_bytes()).hexdigest()
    assert written["source"]["records"] == 4
    assert written["builder"].startswith("evergold ")
    assert written["splits"]["qa"]["path"].endswith("out/qa_pairs.jsonl")
    assert not Path(written["splits"]["qa"]["path"]).is_absolute()


def test_order_is_kept_and_jobs_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    lines: list[dict[str, Any] | bytes] = [
        an_offline_record(f"r{number % 700}", pad="x" * 20_000) for number in range(900)
    ]
    lines[4] = b"{not json"
    spec = a_spec(tmp_path, lines, force=True)
    rag.build(spec)
    outputs = [*spec.outputs.values(), spec.rejected, spec.manifest]
    alone = [path.read_bytes() for path in outputs]
    manifest = build_rag(spec, jobs=2)
    assert [path.read_bytes() for path in outputs] == alone
    rag.build(spec, spread_here)
    assert [path.read_bytes() for path in outputs] == alone
    assert manifest.rejected == {"duplicate task_id": 199, "not JSON": 1}
    ids = [record["task_id"] for record in read_jsonl(spec.outputs["qa"])]
    assert ids == [*(f"r{number}" for number in range(700) if number != 4), "r4"]


def test_rejected_records_are_kept_with_line_and_reason(tmp_path: Path) -> None:
    good = an_offline_record("same")
    bad = an_offline_record("e", expected_response="")
    spec = a_spec(tmp_path, [good, b"", b"{oops", bad, good, b'{"x": "\xff"}'])
    manifest = rag.build(spec)
    assert manifest.rejected == {"duplicate task_id": 1, "missing reference_answer": 1, "not JSON": 1, "not UTF-8": 1}
    rows = read_jsonl(spec.rejected)
    assert [(row["line"], row["reason"], row["task_id"]) for row in rows] == [
        (3, "not JSON", None),
        (4, "missing reference_answer", "e"),
        (5, "duplicate task_id", "same"),
        (6, "not UTF-8", None),
    ]
    assert rows[0]["text"] == "{oops"
    assert rows[1]["record"] == bad
    assert rows[2]["record"] == good
    for row in rows:
        with spec.source.open("rb") as source:
            source.seek(row["offset"])
            assert source.read(row["bytes"]).endswith(b"\n")


def test_not_json_on_line_4711(tmp_path: Path) -> None:
    lines: list[dict[str, Any] | bytes] = [{"task_type": "other"}] * 5000
    lines[4710] = b"broken"
    spec = a_spec(tmp_path, lines)
    rag.build(spec)
    assert [row["line"] for row in read_jsonl(spec.rejected)] == [4711]


def test_a_line_too_long_is_set_aside_without_being_held(tmp_path: Path) -> None:
    source = offline_file(tmp_path, [an_offline_record("a")])
    with source.open("ab") as out:
        out.write(b'{"task_id": "huge", "x": "')
        for _ in range(200):
            out.write(b"x" * 1_000_000)
        out.write(b'"}\n' + json.dumps(an_offline_record("b")).encode())
    code = (
        "import re, sys; from evergold.build import rag; "
        "from evergold.build.spec import load_spec; from pathlib import Path; folder = Path(sys.argv[1]); "
        "spec = load_spec(None, {'offline_dataset': folder / 'offline.jsonl', 'manifest': folder / 'm.json',"
        " 'outputs': {'qa': folder / 'q', 'summaries': folder / 's'}}); print(rag.build(spec).model_dump_json()); "
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    manifest, peak = done.stdout.splitlines()
    assert json.loads(manifest)["rejected"] == {"too long": 1}
    assert [record["task_id"] for record in read_jsonl(tmp_path / "q")] == ["a", "b"]
    assert int(peak) < 100_000


def test_crlf_byte_order_mark_and_missing_last_line_break(tmp_path: Path) -> None:
    spec = a_spec(tmp_path)
    lines = [json.dumps(an_offline_record(name)).encode() for name in "abc"]
    spec.source.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(lines))
    assert rag.build(spec).splits["qa"].count == 3
    assert b"\r" not in spec.outputs["qa"].read_bytes()


def test_limit_counts_records_not_lines(tmp_path: Path) -> None:
    lines: list[dict[str, Any] | bytes] = [
        b"",
        b"",
        an_offline_record("a"),
        b"{",
        an_offline_record("b"),
        an_offline_record("c"),
    ]
    manifest = rag.build(a_spec(tmp_path, lines, limit=2))
    assert manifest.splits["qa"].count == 2
    assert manifest.filters == {"limit": 2}


def test_strict_makes_a_rejection_fatal_and_writes_nothing(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record("a"), b"{"], strict=True)
    with pytest.raises(BadInput, match="line 2: not JSON"):
        rag.build(spec)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("flags", "error", "message"),
    [
        ({"limit": 0}, BadInput, "--limit 0"),
        ({"limit": -3}, BadInput, "--limit -3"),
        ({"version": "1.0"}, BadInput, "v1, v2"),
        ({"version": "v1-beta"}, BadInput, "v1, v2"),
        ({"offline_dataset": "nowhere.jsonl"}, NotFound, "nowhere.jsonl"),
    ],
)
def test_flags_that_make_no_sense_stop_it_before_reading(
    tmp_path: Path, flags: dict[str, Any], error: type[EvergoldError], message: str
) -> None:
    with pytest.raises(error, match=message):
        rag.build(a_spec(tmp_path, [an_offline_record()], **flags))
    assert not (tmp_path / "out").exists()


def test_existing_outputs_need_force(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record()])
    rag.build(spec)
    with pytest.raises(Conflict, match="--force"):
        rag.build(spec)
    rag.build(a_spec(tmp_path, [an_offline_record("b")], force=True))
    assert read_jsonl(spec.outputs["qa"])[0]["task_id"] == "b"


def test_an_output_that_appears_while_building_is_not_written_over(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record()])

    def another(_size: int) -> None:
        spec.manifest.write_text("of another build")

    with pytest.raises(Conflict, match="already there"):
        rag.build(spec, advance=another)
    assert [path.name for path in spec.manifest.parent.iterdir()] == ["manifest.json"]


def test_an_output_equal_to_the_input_or_to_another_is_refused(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record()])
    (tmp_path / "link.jsonl").symlink_to(spec.source)
    (tmp_path / "same.jsonl").hardlink_to(spec.source)
    for qa in (spec.source, tmp_path / "link.jsonl", tmp_path / "same.jsonl", spec.manifest, spec.outputs["summaries"]):
        outputs = {"qa": qa, "summaries": spec.outputs["summaries"]}
        with pytest.raises(BadInput, match="path of its own"):
            rag.build(a_spec(tmp_path, [an_offline_record()], outputs=outputs, force=True))
    assert read_jsonl(spec.source)[0]["task_id"] == "r1"


def test_a_folder_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    spec = a_spec(tmp_path, [an_offline_record()], manifest=tmp_path / "file" / "manifest.json")
    with pytest.raises(Unavailable, match="no file was changed"):
        rag.build(spec)
    assert list((tmp_path / "out").iterdir()) == []


def _build_as_nobody(folder: Path) -> None:
    if os.getuid() == 0:
        os.setuid(65534)
    try:
        rag.build(load_spec(None, {**_flags(folder), "force": True}))
    except Unavailable as problem:
        os._exit(0 if "ermission denied" in problem.message and "no file was changed" in problem.message else 3)
    os._exit(4)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine may read, unlike pytest's own."""
    with TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_read_only_folder_says_so_and_stays_as_it_is(open_folder: Path) -> None:
    spec = a_spec(open_folder, [an_offline_record("old")])
    rag.build(spec)
    out = open_folder / "out"
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    out.chmod(0o555)
    child = multiprocessing.get_context("fork").Process(target=_build_as_nobody, args=(open_folder,))
    child.start()
    child.join()
    out.chmod(0o755)
    assert child.exitcode == 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_one_line_that_is_not_utf8_is_refused_alone(tmp_path: Path) -> None:
    lines: list[dict[str, Any] | bytes] = [
        json.dumps(
            an_offline_record(f"r{number}", metadata={"text": "é" * 3 + "x" * number}), ensure_ascii=False
        ).encode()
        for number in range(400)
    ]
    lines[200] = b'{"task_id": "\xe9"}'
    spec = a_spec(tmp_path, lines)
    assert rag.build(spec).rejected == {"not UTF-8": 1}
    assert [row["line"] for row in read_jsonl(spec.rejected)] == [201]
    assert len(read_jsonl(spec.outputs["qa"])) == 399


def _flags(folder: Path) -> dict[str, Any]:
    out = folder / "out"
    outputs = {"qa": out / "qa_pairs.jsonl", "summaries": out / "summaries.jsonl"}
    return {"offline_dataset": folder / "offline.jsonl", "manifest": out / "manifest.json", "outputs": outputs}


def _build_with_a_full_disk(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        rag.build(load_spec(None, {**_flags(folder), "force": True}))
    except Unavailable as problem:
        os._exit(0 if "no file was changed" in problem.message else 3)
    os._exit(4)


def test_a_full_disk_leaves_the_old_files(tmp_path: Path) -> None:
    spec = a_spec(tmp_path, [an_offline_record("old")])
    rag.build(spec)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    offline_file(tmp_path, [an_offline_record(f"n{number}") for number in range(300)])
    child = multiprocessing.get_context("fork").Process(target=_build_with_a_full_disk, args=(tmp_path,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupted_build_leaves_the_old_files(tmp_path: Path, how: signal.Signals, jobs: int) -> None:
    spec = a_spec(tmp_path, [an_offline_record("old")])
    rag.build(spec)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    source = offline_file(tmp_path, [an_offline_record(f"n{n}", pad="x" * 60_000) for n in range(300)])
    code = (
        "import os, signal, sys; from pathlib import Path; from evergold.build.spec import load_spec; "
        "from evergold.build.service import build_rag\n"
        # A suite that was started in the background ignores the interrupt, and so would its children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "done = []\ndef die(size):\n    done.append(size)\n    if sum(done) > 5_000_000: os.kill(os.getpid(), int(sys.argv[2]))\n"
        "def go():\n"
        "    folder = Path(sys.argv[1]); out = folder / 'out'\n"
        "    spec = load_spec(None, {'offline_dataset': folder / 'offline.jsonl', 'manifest': out / 'manifest.json',"
        " 'force': True, 'outputs': {'qa': out / 'qa_pairs.jsonl', 'summaries': out / 'summaries.jsonl'}})\n"
        "    build_rag(spec, jobs=int(sys.argv[3]), advance=die)\n"
        "if __name__ == '__main__': go()\n"
    )
    script = tmp_path / "build_it.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, str(script), str(tmp_path), str(int(how)), str(jobs)], capture_output=True)
    assert done.returncode != 0
    left = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    if how is signal.SIGINT:
        assert left == before
    assert {name: data for name, data in left.items() if not name.startswith(".")} == before
    rag.build(a_spec(tmp_path, [an_offline_record("new")], force=True))
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]
    assert source.exists()


@pytest.mark.slow
def test_a_worker_that_dies_is_one_clear_line(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1) as pool, pytest.raises(Unavailable, match="--jobs 1"):
        list(in_order(pool, os._exit, [1], 2))


def test_an_object_in_a_store_is_read_like_a_file(tmp_path: Path) -> None:
    from fsspec import filesystem

    data = b"".join(json.dumps(an_offline_record(name)).encode() + b"\n" for name in "abb")
    filesystem("memory").pipe("/bucket/offline.jsonl", data)
    spec = a_spec(tmp_path, offline_dataset="memory://bucket/offline.jsonl")
    manifest = rag.build(spec)
    assert manifest.source_offline_dataset == "memory://bucket/offline.jsonl"
    assert manifest.rejected == {"duplicate task_id": 1}
    assert (manifest.model_extra or {})["source"]["sha256"] == hashlib.sha256(data).hexdigest()
    with pytest.raises(NotFound, match="memory://bucket/none"):
        rag.build(a_spec(tmp_path, offline_dataset="memory://bucket/none"))
    with pytest.raises(BadInput, match="nowhere://x: Protocol not known"):
        rag.build(a_spec(tmp_path, offline_dataset="nowhere://x"))


def test_blocks_cover_the_file_and_end_at_line_breaks() -> None:
    for text in (b"", b"a", b"a\n", b"\n\n\n", b"ab\ncdefgh\n" * 50, b"x" * 400 + b"\nab\n", b"ab\n" + b"x" * 400):
        for size in (1, 3, 16, 100, 1000):
            read: list[bytes] = []
            blocks = list(read_blocks(BytesIO(text), max_line=20, block_bytes=size, on_read=read.append))
            assert (
                b"".join(read) == b"".join(text[block.offset : block.offset + block.size] for block in blocks) == text
            )
            assert all(text[: block.offset].endswith(b"\n") or block.offset == 0 for block in blocks)
            assert all(block.data in (None, text[block.offset : block.offset + block.size]) for block in blocks)
            assert all(block.size <= size + 20 for block in blocks if block.data is not None)
            # What is not held is one line, and too long.
            assert all(_is_long_line(text, block) for block in blocks if block.data is None)


def _is_long_line(text: bytes, block: Block) -> bool:
    line = text[block.offset : block.offset + block.size]
    return len(line) > 20 and b"\n" not in line[:-1]


def test_seen_ids_answer_like_a_set() -> None:
    seen = SeenIds()
    known: set[int] = set()
    for number in (*range(150_000), *range(0, 150_000, 7), *range(149_000, 151_000)):
        assert seen.add(b"%d" % number) == (number not in known)
        known.add(number)


def test_further_splits_come_from_the_config(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    config = tmp_path / "configs" / "default.yaml"
    config.write_text(
        "evaluation:\n  offline_dataset: offline.jsonl\n  manifest: d/manifest.json\n  splits:\n"
        "    citations: {output: d/citations.jsonl}\n"
        "    rewrites:\n      output: d/rewrites.jsonl\n      task_types: [Rewrite]\n"
        "      fields:\n        before: {from: [draft], required: true}\n        after: {from: [final, answer]}\n"
    )
    offline_file(
        tmp_path, [an_offline_record(task_type="citations"), {"task_id": "w", "task_type": "rewrite", "draft": "x"}]
    )
    manifest = rag.build(load_spec(config, {}))
    assert {name: (entry.path, entry.count) for name, entry in manifest.splits.items()} == {
        "citations": ("d/citations.jsonl", 1),
        "rewrites": ("d/rewrites.jsonl", 1),
    }
    assert read_jsonl(tmp_path / "d" / "rewrites.jsonl")[0]["before"] == "x"


# A kilobyte of aliases that stand for ten million values.
BOMB = (
    "[&a [x], "
    + ", ".join(f"&{new} [{', '.join([f'*{old}'] * 10)}]" for old, new in zip("abcdefg", "bcdefgh", strict=True))
    + "]"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("evaluation: {offline: x}", "did you mean 'offline_dataset'"),
        ("evaluation: {splits: []}", "at least one split"),
        ("evaluation: {splits: {mine: {}}}", "give it `fields`"),
        ("evaluation: {splits: {qa: {task_types: [a]}, citations: {task_types: [A]}}}", "both take task type"),
        ("evaluation: {splits: {qa: {fields: {x: {from: [a.b]}}}}}", "too deep"),
        ("evaluation: {splits: {qa: {fields: [x]}}}", "fields must be a table"),
        ("evaluation: {splits: {qa: {fields: {}}}}", "fields must be a table"),
        ("evaluation: {splits: {qa: {fields: {x: {from: [1]}}}}}", "list of texts"),
        ("evaluation: {splits: {qa: {fields: {x: {from: a, requird: true}}}}}", "did you mean 'required'"),
        ("evaluation: {splits: {qa: {fields: {x: {from: a, required: 'no'}}}}}", "true or false"),
        ("evaluation: {splits: {qa: {fields: {task_id: a}}}}", "come by themselves"),
        ("evaluation: {splits: {qa: {task_types: []}}}", "list of texts"),
        ("evaluation: {splits: {qa: {task_types: [2]}}}", "list of texts"),
        ("evaluation: {splits: {qa: {output: 5}}}", "splits.qa.output must be a text"),
        ("evaluation: {splits: {qa: {file: ../x}}}", "name of a file"),
        ("evaluation: {splits: {../x: {fields: {a: b}}}}", "named by letters"),
        ("evaluation: {manifest: 5}", "manifest must be a text"),
        ("evaluation: {max_line_mb: abc}", "max_line_mb must be a number"),
        ("evaluation: {max_line_mb: 0}", "max_line_mb must be a number"),
        ("- a", "must be a table of settings"),
        ("evaluation: [", "cannot read config"),
        ("evaluation: " + "[" * 5000, "nested more than"),
        ("evaluation: {splits: {qa: " + BOMB + "}}", "aliases expand"),
        ("evaluation: &a {splits: *a}", "points back"),
        ("evaluation: !!python/object/apply:os.getpid []", "has no JSON value"),
        ("evaluation: {splits: [qa]}\nevaluation: {splits: [citations]}", "already set on line 1"),
    ],
)
def test_a_wrong_config_is_named(tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(text)
    with pytest.raises(BadInput, match=message):
        load_spec(config, {})


def test_settings_left_blank_are_not_given(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("evaluation:\n  offline_dataset:\n  splits:\n    qa:\n      task_types: question\n")
    spec = load_spec(config, {})
    assert (spec.source, [split.task_types for split in spec.splits]) == (
        tmp_path / "evaluation" / "datasets" / "offline_dataset.jsonl",
        [("question",)],
    )


def test_an_output_for_a_split_that_is_not_built_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("evaluation: {splits: [qa]}")
    with pytest.raises(BadInput, match="which the config does not list"):
        load_spec(config, {"outputs": {"summaries": tmp_path / "s.jsonl"}})


def test_a_source_that_is_no_plain_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("folder", "is a folder"), ("pipe", "more than once")):
        with pytest.raises(BadInput, match=message):
            rag.build(a_spec(tmp_path, [an_offline_record()], offline_dataset=tmp_path / name))


@pytest.mark.parametrize("kind", ["gzip", "zstd", "parquet"])
def test_a_packed_source_gives_the_splits_of_the_plain_one(tmp_path: Path, kind: str) -> None:
    import pyarrow
    from pyarrow import parquet

    spec = a_spec(tmp_path, [an_offline_record(f"r{number}") for number in range(5)])
    plain = build_rag(spec)
    lines = spec.source.read_bytes()
    rows = [json.loads(line) for line in lines.splitlines()]
    packed = tmp_path / "packed"
    if kind == "parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), packed)
    else:
        packed.write_bytes(gzip.compress(lines) if kind == "gzip" else zstandard.compress(lines))
    other = tmp_path / "other"
    outputs = {name: other / path.name for name, path in spec.outputs.items()}
    again = build_rag(replace(spec, source=packed, manifest=other / "manifest.json", outputs=outputs))
    assert {name: entry.count for name, entry in again.splits.items()} == {"qa": 5, "summaries": 0}
    if kind != "parquet":  # a table keeps no order of keys in nested values
        assert again.content_hash == plain.content_hash
    assert not verify(other / "manifest.json").failed


def test_a_split_of_ones_own_is_checked_like_the_others(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    fields = {"draft text": {"from": "draft", "required": True}, "after": {"from": ["final"], "required": True}}
    section = {"offline_dataset": "offline.jsonl", "splits": {"rewrites": {"task_types": "rewrite", "fields": fields}}}
    config.write_text(json.dumps({"evaluation": section}))
    rows = [{"task_id": f"{n}", "task_type": "rewrite", "draft": f"a{n}", "final": f"A{n} [1]."} for n in range(3)]
    offline_file(tmp_path, [{**row, "contexts": ["c"]} for row in rows])
    manifest = load_spec(config, {}).manifest
    rag.build(load_spec(config, {}))
    assert not check(manifest).failed
    assert compare(manifest, manifest).after.repeated == 0
    path = manifest.with_name("rewrites.jsonl")
    path.write_bytes(path.read_bytes().replace(b"A1 [1].", b" ").replace(b"A2 [1].", b"A2 [7]."))
    failed = {finding.check: finding.message for finding in check(manifest).failed}
    assert failed["references"] == "line 2 (1): after is empty"
    assert "[7] points at none of 1 contexts" in failed["citations"]
