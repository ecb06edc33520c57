"""The long verbs, each done here or by a cluster, with a result that must be the same from both.

A verb is a function of a folder of its own, the inputs that all of them share, and the address of a cluster or None. `Kill` is
called when the first part is done, where the verb reports its progress.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import evergold
from evergold.bench.retrieval_run import ScoringQuery
from evergold.build.service import build_rag
from evergold.model.case import Case
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.agent_logs import ClaudeLog
from tests.build.rag_builders import a_spec, an_offline_record
from tests.builders import a_case
from tests.repos import GitRepo, numbered

SAMPLES = Path(evergold.__file__).parent / "samples"
PRIVATE = "write to jo.doe@example.org"


@dataclass(frozen=True)
class Inputs:
    """Files that workers see under the same paths."""

    traces: list[Path]
    golden: Path
    predictions: Path
    repo: Path
    logs: Path

    @classmethod
    def make(cls, folder: Path) -> "Inputs":
        repo = GitRepo(folder / "shop")
        repo.commit({"f.py": numbered(20)}, "Start of the shop")
        commits = [_session(repo, folder / "logs", line) for line in (3, 9, 15)]
        base = repo.commit({"g.py": "g = 1\n"}, "A file beside the first one")
        rows = [
            {"path": "f.py", "startLine": 2, "endLine": 4, "sources": ["golden_diff"]},
            {"path": "f.py", "startLine": 19, "endLine": 40, "sources": ["golden_diff"]},
        ]
        golden = [{"caseId": commit, "lineRanges": rows, "baseCommit": base} for commit in commits]
        found = [{"caseId": commit, "ranges": [{"path": "f.py", "startLine": 1, "endLine": 9}]} for commit in commits]
        return cls(
            traces=_traces(folder / "traces"),
            golden=_lines(folder / "golden.jsonl", golden),
            predictions=_lines(folder / "predictions.jsonl", found[:2]),
            repo=repo.path,
            logs=folder / "logs",
        )


def _session(repo: GitRepo, folder: Path, line: int) -> str:
    log = ClaudeLog(repo, folder / f"{line}.jsonl", f"session-{line}")
    log.ask(f"Please write line {line} in words")
    log.read("f.py", line, 3)
    log.edit("f.py", f"line {line}\n", "in words\n")
    return log.commit(f"Line {line} in words")


def _traces(folder: Path) -> list[Path]:
    folder.mkdir()
    lines = (SAMPLES / "traces.jsonl").read_text().splitlines(keepends=True)
    lines.append(json.dumps({"type": "trace", "id": "private", "input": PRIVATE}) + "\n{broken\n")
    paths = [folder / f"{number}.jsonl" for number in range(4)]
    for number, path in enumerate(paths):
        path.write_text("".join(lines[number::4]))
    return paths


def _lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


Kill = Callable[[], None]
Verb = Callable[[Path, Inputs, str | None, Kill], Any]


def _opened(home: Path) -> Workspace:
    return Workspace.open(Settings(home=home, checks_builtin="true"))


def ingest(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    with _opened(folder) as workspace:
        report = workspace.intake.ingest(inputs.traces, cluster=cluster, progress=lambda _: kill())
        assert "@" not in workspace.intake.get("private").input
        return report.counts(), report.problems, workspace.intake.counts()


def build(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    records = [an_offline_record(f"r{number % 35}", pad="x" * 1000) for number in range(40)]
    spec = a_spec(folder, records)
    manifest = build_rag(spec, cluster=cluster)
    assert manifest.rejected == {"duplicate task_id": 5}
    return [path.read_bytes() for path in (*spec.outputs.values(), spec.rejected)]


def export(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    with _opened(folder) as workspace:
        workspace.cases.put([a_case(f"c{number}", dataset="mine") for number in range(9)])
        path = folder / "mine.jsonl"
        count = workspace.cases.export(CaseFilter(dataset="mine"), "live-jsonl", path, cluster=cluster)
        rows = [json.loads(line) | {"created_at": ""} for line in path.read_text().splitlines()]
        return count, rows


def score_retrieval(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    retrieval = Workspace(Settings(home=folder)).retrieval
    query = ScoringQuery(repo_dir=inputs.repo)
    return retrieval.score(inputs.golden, inputs.predictions, None, query, cluster=cluster)


def extract_sessions(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    flows = Workspace(Settings(home=folder)).flows
    summary = flows.extract("claude-code", {"project": inputs.logs, "out_dir": folder, "cluster": cluster})
    path = folder / "dataset_b_line_ranges.unvalidated.jsonl"
    assert summary.counts["new"] == 3
    return path.read_bytes(), summary.remarks


def extract_git(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    flows = Workspace(Settings(home=folder)).flows
    summary = flows.extract("git", {"repo": inputs.repo, "out_dir": folder, "cluster": cluster})
    assert summary.counts["new"] == 3
    return summary.needs_query, [path.read_bytes() for path in sorted(folder.glob("*.jsonl"))]


def answered_cases() -> list[Case]:
    """Cases of which no two ask the judge the same: whether a reply is reused within a run depends on which ends first."""
    inputs = (f"What is the capital of Peru ({number})?" for number in range(6))
    return [
        a_case(f"c{number}", dataset="mine", input=text, output="Lima.", expected="Lima.")
        for number, text in enumerate(inputs)
    ]


def run(folder: Path, inputs: Inputs, cluster: str | None, kill: Kill) -> Any:
    spec = RunSpec(dataset="mine", model="recorded", metrics=("correctness", "length"), budget_tokens=10_000)
    with _opened(folder) as workspace, workspace.bench.workers(cluster) as workers:
        workspace.cases.put(answered_cases())
        ended = workspace.bench.work_on(workspace.bench.run_here(spec).id, workers)
        attempts = sorted(workspace.bench.attempts(ended.id), key=lambda one: one.case_id)
        return ended.status, [(one.case_id, one.output, one.error, one.measurements) for one in attempts]


VERBS: list[Verb] = [ingest, build, export, score_retrieval, extract_git, extract_sessions, run]
