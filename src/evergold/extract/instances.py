"""Instances of SWE-bench and its kin in and out, and the task folders that Harbor and runners like it read.

An instance is a line of JSON (or a row of Parquet): an issue, the commit it was solved on, the patch that solved it and
the tests that show it. The issue is the query of a context case and the base lines of `patch` its gold; `test_patch` and
the names of its tests are the case's tests (`metadata["tests"]`), and are no gold: nobody is asked to find a file that does
not exist yet. The patch stands in `extra["evidence"]`, where the validator and `check` look for the change to prove.

A task folder asks for the fix where the case has tests, and otherwise for the files that have to change; its verifier
writes the reward.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.errors import BadInput
from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.golden import DATASET
from evergold.extract.ranges import PathRanking, PathSource, RangeRanking, RangeSource, spans_of
from evergold.formats.atomic import FileSet
from evergold.formats.lines import Record, first_record, read_lines, write_lines
from evergold.formats.records import metadata_of, rebuild_case, unread_of
from evergold.model.case import Case, CaseKind, written_case
from evergold.model.faults import Rejected
from evergold.model.flow import CodeChange
from evergold.model.values import content_hash

HELD = {"id", "input", "base_commit"}
OURS = "evergold"
KNOWN = ("instance_id", "repo", "base_commit", "problem_statement", "patch", "test_patch", OURS)
TESTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
ChangeOf = Callable[[Case], CodeChange]


class SweBench:
    """Instances as JSON lines, with the columns of SWE-bench."""

    suffix: ClassVar[str] = ".swe.jsonl"
    needs_changes: ClassVar[bool] = True
    expresses: ClassVar[frozenset[str]] = frozenset({"paths", "ranges", "base_commit"})

    def accepts(self, head: bytes) -> bool:
        return {"instance_id", "problem_statement", "base_commit"} <= first_record(head).keys()

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, case_of_instance)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines((instance_of(case, patch) for case, patch in _with_patches(cases, options)), path)


def _with_patches(cases: Iterable[Case], options: Mapping[str, Any]) -> Iterator[tuple[Case, str]]:
    """The context cases whose patch is known; of the others it is said that theirs is not."""
    change_of: ChangeOf = options.get("change_of", lambda case: CodeChange())
    for case in cases:
        evidence = case.extra.get("evidence")
        patch = evidence.get("diff") if isinstance(evidence, Mapping) else None
        patch = patch or (change_of(case).diff if case.kind is CaseKind.CONTEXT else None)
        if patch and case.base_commit:
            yield case, patch
        else:
            reason = f"case {case.id!r} is no instance: no patch of it is known (set review.repo_dir) or it has no base"
            options.get("rejected", []).append(Rejected(where=f"{case.dataset}/{case.id}", reason=reason))


def case_of_instance(record: Record) -> Case:
    """The case of an instance, ours or another's; a patch that somebody changed in ours makes its gold anew."""
    patch = str(record.get("patch") or "")
    carried = _decode(record.get(OURS))
    held = {
        "id": str(record["instance_id"]),
        "input": str(record["problem_statement"]),
        "base_commit": record.get("base_commit"),
    }
    test_patch = str(record.get("test_patch") or "")
    test_files = _files_of(test_patch, "test_patch") if test_patch else []
    tests = {"patch": test_patch, "files": [file.new_path or file.path for file in test_files]}
    tests |= {name.lower(): _names(record.get(name)) for name in TESTS}
    if isinstance(carried, Mapping) and carried.get("patch") == content_hash(patch):
        case = rebuild_case(held, carried.get("metadata"))
        # The columns win: they are what somebody edits.
        return case.model_copy(update={"metadata": {**case.metadata, "tests": tests}}) if any(tests.values()) else case
    unread = unread_of(record, *KNOWN) | {"evidence": {"diff": patch}}
    guessed = {
        **_gold_of(patch),
        "kind": CaseKind.CONTEXT,
        "metadata": {"tests": tests},
        "provenance": {"source": "swe-bench", "repository": record.get("repo")},
    }
    return rebuild_case(held, None, guessed=guessed, dataset=DATASET, unread=unread)


def _files_of(patch: str, column: str) -> list[FileDiff]:
    try:
        return parse_diff(patch if patch.endswith("\n") else f"{patch}\n")
    except BadInput as problem:
        raise ValueError(f"{column}: {problem.message}") from problem


def _gold_of(patch: str) -> Record:
    """The paths and base lines that a patch touches."""
    paths, ranges = PathRanking(), RangeRanking()
    files = _files_of(patch, "patch")
    if not files:
        raise ValueError("patch: it changes no file")
    paths.add_golden(files)
    for file in files:
        for start, end in spans_of(file):
            ranges.add(file.path, start, end, RangeSource.GOLDEN_DIFF)
    return {"paths": paths.rank(), "ranges": ranges.rank()}


def instance_of(case: Case, patch: str) -> Record:
    """The instance of a case; what the columns have no place for travels in one of its own, as JSON."""
    tests = case.metadata.get("tests")
    tests = tests if isinstance(tests, Mapping) else {}
    plain = {name: value for name, value in case.extra.items() if name != "evidence" and name not in KNOWN}
    return {
        "instance_id": case.id,
        "repo": case.provenance.repository or "",
        "base_commit": case.base_commit,
        "problem_statement": case.input,
        "patch": patch,
        "test_patch": str(tests.get("patch") or ""),
        # Lists are JSON texts there, and that is what the harness decodes.
        **{name: orjson.dumps(tests.get(name.lower()) or []).decode() for name in TESTS},
        **{name: value for name, value in plain.items() if name not in TESTS},
        OURS: orjson.dumps({"patch": content_hash(patch), "metadata": metadata_of(case, HELD)}).decode(),
    }


def _decode(value: object) -> Any:
    try:
        return orjson.loads(value) if isinstance(value, str) else None
    except orjson.JSONDecodeError:
        return None


def _names(value: object) -> list[str]:
    """Names of tests: a list, or the JSON text of one."""
    listed = value if isinstance(value, list) else _decode(value)
    return [str(name) for name in listed] if isinstance(listed, list) else []


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_GITHUB = re.compile(r"[\w.-]+/[\w.-]+")
WORKDIR = "/testbed"
ANSWER = "/app/answer.txt"
CASE_FILE = "tests/case.json"

DOCKERFILE = """\
FROM python:3.12
RUN mkdir -p /app /logs/verifier
ARG REPOSITORY={repository}
RUN git clone "$REPOSITORY" {workdir} && git -C {workdir} checkout -q {base}
WORKDIR {workdir}
"""
TASK_TOML = """\
version = "1.0"

[metadata]
author_name = "evergold"
category = {category}
tags = {tags}
case_id = {case_id}
base_commit = {base}

[verifier]
timeout_sec = 1800.0

[agent]
timeout_sec = 1800.0

[environment]
build_timeout_sec = 1800.0
"""
ASK_FOR_FILES = """

Do not solve it. Find the files in {workdir} that have to change for it, and write their paths relative to {workdir}, one a
line, the likeliest first, into {answer}.
"""
SOLVE = """\
#!/bin/bash
set -e
cd {workdir}
git apply --whitespace=nowarn /solution/solution.patch
"""
SOLVE_FILES = """\
#!/bin/bash
cat > {answer} <<'END_OF_PATHS'
{paths}
END_OF_PATHS
"""
RUN_TESTS = """\
#!/bin/bash
cd {workdir}
echo 0 > /logs/verifier/reward.txt
git apply --whitespace=nowarn /tests/test.patch || exit 1
{command} && echo 1 > /logs/verifier/reward.txt
"""
SCORE_FILES = """\
#!/bin/bash
python3 - <<'END_OF_SCORE' > /logs/verifier/reward.txt
import json, pathlib
wanted = set(json.load(open("/tests/golden.json")))
answer = pathlib.Path("{answer}")
given = [line.strip() for line in answer.read_text().splitlines() if line.strip()] if answer.exists() else []
right = len(wanted & set(given))
print(2 * right / (len(wanted) + len(set(given))) if right else 0.0)
END_OF_SCORE
"""


class Harbor:
    """A folder of tasks, one for each context case: `instruction.md`, `task.toml`, `environment`, `solution`, `tests`."""

    suffix: ClassVar[str] = ""
    needs_changes: ClassVar[bool] = True
    expresses: ClassVar[frozenset[str]] = frozenset({"paths", "ranges", "base_commit"})

    def accepts(self, head: bytes) -> bool:
        return False

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        """The cases of task folders that this format wrote."""
        files = sorted(path.glob(f"*/{CASE_FILE}"))
        if not files:
            raise BadInput(f"{path}: no task folder of ours: none holds {CASE_FILE}")
        yield from (written_case(orjson.loads(file.read_bytes())) for file in files)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        count = 0
        for case, patch in _with_patches(cases, options):
            count += 1
            folder = _UNSAFE.sub("-", case.id)
            # Ids that differ only in what a folder cannot be named after are told apart by their hashes.
            folder = folder if folder == case.id else f"{folder}-{content_hash(case.id)[7:15]}"
            with FileSet() as files:
                for name, text in task_files(case, patch).items():
                    files.open(path / folder / name).write(text.encode())
        return count


def task_files(case: Case, patch: str) -> dict[str, str]:
    """The files of a case's task folder, by name."""
    tests = case.metadata.get("tests")
    test_patch = str(tests.get("patch") or "") if isinstance(tests, Mapping) else ""
    edited = [path for path in case.paths if PathSource.REVIEW_MERGE_DIFF in path.sources]
    golden = [path.path for path in edited if path.extra.get("atBase", True)]
    repository = case.provenance.repository or ""
    where = {"workdir": WORKDIR, "answer": ANSWER, "base": case.base_commit, "paths": "\n".join(golden)}
    source = f"https://github.com/{repository}.git" if _GITHUB.fullmatch(repository) else repository
    words = {"category": "bug-fix" if test_patch else "retrieval", "case_id": case.id, "base": case.base_commit}
    shared = {
        "task.toml": TASK_TOML.format(
            **{name: _toml(text) for name, text in words.items()}, tags=_toml(list(case.tags))
        ),
        "environment/Dockerfile": DOCKERFILE.format(repository=source, **where),
        CASE_FILE: orjson.dumps(case.model_dump(mode="json")).decode(),
    }
    if test_patch and isinstance(tests, Mapping):
        wanted = [str(name) for key in TESTS for name in tests.get(key.lower()) or ()]
        command = str(case.extra.get("test_cmd") or "python -m pytest -q")
        return shared | {
            "instruction.md": case.input.rstrip() + "\n",
            "solution/solve.sh": SOLVE.format(**where),
            "solution/solution.patch": patch,
            "tests/test.patch": test_patch,
            "tests/test.sh": RUN_TESTS.format(command=f"{command} {shlex.join(wanted)}", **where),
        }
    return shared | {
        "instruction.md": case.input.rstrip() + ASK_FOR_FILES.format(**where),
        "solution/solve.sh": SOLVE_FILES.format(**where),
        "tests/golden.json": orjson.dumps(golden).decode(),
        "tests/test.sh": SCORE_FILES.format(**where),
    }


def _toml(value: object) -> str:
    # A JSON text or list of texts is one of TOML too.
    return orjson.dumps(value).decode()
