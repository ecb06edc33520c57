"""Commands whose result are rows: ingest, curate, import, run. Each row they leave is whole, each is there once."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from sqlalchemy import func, select

from evergold.model.case import Case
from evergold.model.run import RunStatus
from evergold.model.trace import Score, Trace
from evergold.store.schema import (
    attempts,
    case_revisions,
    eval_dataset,
    measurements,
    runs,
    spans,
    trace_scores,
    traces,
)
from tests.faults.killing import Fault, Room

TRACES, SPANS, CASES = 60, 3, 80


class Ingest:
    name = "ingest"

    def __init__(self, room: Room) -> None:
        self._room = room

    def begin(self, number: int) -> Sequence[str]:
        with (self._room.folder / "traces.jsonl").open("w", encoding="utf-8") as file:
            for at in range(TRACES):
                steps = [{"id": f"{step}", "name": "step", "input": "x" * 200} for step in range(SPANS)]
                scores = [{"name": "ok", "value": 1.0, "source": "system"}]
                trace = {"id": f"i{number}-{at}", "input": "What?", "output": "That.", "spans": steps, "scores": scores}
                file.write(json.dumps(trace) + "\n")
        return ("ingest", "traces.jsonl")

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        with self._room.opened() as workspace, workspace.store.db.read() as connection:
            mine = traces.c.id.like(f"i{number}-%")
            seqs = dict(connection.execute(select(traces.c.seq, traces.c.id).where(mine)).all())
            steps = Counter(connection.execute(select(spans.c.trace_seq).where(spans.c.trace_seq.in_(seqs))).scalars())
            scores = Counter(
                connection.execute(
                    select(trace_scores.c.trace_id).where(trace_scores.c.trace_id.like(f"i{number}-%"))
                ).scalars()
            )
        for seq, ident in seqs.items():
            if (steps[seq], scores[ident]) != (SPANS, 1):
                yield Fault("half", f"trace {ident}: {steps[seq]} spans, {scores[ident]} scores")
        if done and len(seqs) != TRACES:
            yield Fault("lost", f"ingest ended well with {len(seqs)} of {TRACES} traces")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)


class Curate:
    name = "curate"

    def __init__(self, room: Room) -> None:
        self._room = room

    def begin(self, number: int) -> Sequence[str]:
        good = Score(name="ok", value=1.0, source="system")
        made = [
            Trace(id=f"c{number}-{at}", input=f"What is {at}?", output="That.", scores=[good]) for at in range(TRACES)
        ]
        with self._room.opened() as workspace:
            workspace.intake.accept(made)
        return self.again(number)

    def again(self, number: int) -> Sequence[str]:
        return ("curate",)

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        with self._room.opened() as workspace, workspace.store.db.read() as connection:
            newest = select(func.max(case_revisions.c.version)).where(case_revisions.c.entry_id == eval_dataset.c.id)
            query = select(eval_dataset.c.trace_id, eval_dataset.c.version, newest.scalar_subquery())
            rows = connection.execute(query.where(eval_dataset.c.trace_id.like(f"c{number}-%"))).all()
        entries = Counter(trace_id for trace_id, _, _ in rows)
        for trace_id, version, revision in rows:
            if version != revision:
                yield Fault("half", f"the case of {trace_id} has version {version}, its newest revision is {revision}")
        for trace_id, count in entries.items():
            if count > 1:
                yield Fault("doubled", f"{trace_id} has {count} cases")
        if done and len(entries) != TRACES:
            yield Fault("lost", f"curate ended well with cases of {len(entries)} of {TRACES} traces")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)


class Import:
    name = "import"

    def __init__(self, room: Room) -> None:
        self._room = room
        cases = [
            Case(id=f"k{at}", input=f"What is {at}?", output=f"It is {at}.", expected=f"It is {at}.")
            for at in range(CASES)
        ]
        (room.folder / "cases.jsonl").write_text("".join(f"{case.model_dump_json()}\n" for case in cases))

    def begin(self, number: int) -> Sequence[str]:
        return ("import", "cases.jsonl", "--format", "case-jsonl", "--dataset", f"imported{number}")

    again = begin

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        with self._room.opened() as workspace, workspace.store.db.read() as connection:
            rows = select(eval_dataset.c.case_id, func.count(case_revisions.c.version)).select_from(
                eval_dataset.outerjoin(case_revisions, case_revisions.c.entry_id == eval_dataset.c.id)
            )
            mine = rows.where(eval_dataset.c.dataset == f"imported{number}").group_by(eval_dataset.c.case_id)
            counts: dict[str, int] = dict(connection.execute(mine).all())
        for case_id, revisions in counts.items():
            if revisions != 1:
                yield Fault("half" if not revisions else "doubled", f"case {case_id} has {revisions} revisions")
        if done and len(counts) != CASES:
            yield Fault("lost", f"import ended well with {len(counts)} of {CASES} cases")

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)


class Run:
    """The cases are those that the first import brought."""

    name = "run"

    def __init__(self, room: Room) -> None:
        self._room = room
        self._known: set[str] = set()

    def begin(self, number: int) -> Sequence[str]:
        self._known = set(self._runs())
        log = self._room.folder / "run.log.jsonl"
        log.unlink(missing_ok=True)
        return ("run", "bench", "--model", "recorded", "--metric", "exact_match", "--log", log.name)

    def again(self, number: int) -> Sequence[str]:
        begun = set(self._runs()) - self._known
        unfinished = [run_id for run_id in begun if self._runs()[run_id] != RunStatus.COMPLETED]
        log = ("--log", "run.log.jsonl")
        if unfinished:
            return ("run", "--resume", unfinished[0], *log)
        return ("runs", "list") if begun else self.begin(number)

    def look(self, number: int, done: bool) -> Iterator[Fault]:
        statuses = self._runs()
        begun = set(statuses) - self._known
        if len(begun) > 1:
            yield Fault("doubled", f"one command began {len(begun)} runs")
        if done and not begun:
            yield Fault("lost", "run ended well and there is no run")
        for run_id in begun:
            if statuses[run_id] == RunStatus.COMPLETED or done:
                yield from self._complete(run_id)

    def after(self, number: int) -> Iterator[Fault]:
        yield from self.look(number, done=True)
        log = self._room.folder / "run.log.jsonl"
        lines = log.read_bytes().splitlines() if log.exists() else []
        whole = [json.loads(line)["case_id"] for line in lines if _is_json(line)]
        if len(whole) != len(lines):
            yield Fault("half", f"{len(lines) - len(whole)} lines of the log are no JSON")

    def _runs(self) -> dict[str, str]:
        with self._room.opened() as workspace, workspace.store.db.read() as connection:
            return dict(connection.execute(select(runs.c.id, runs.c.status)).all())

    def _complete(self, run_id: str) -> Iterator[Fault]:
        with self._room.opened() as workspace, workspace.store.db.read() as connection:
            tried, measured = (
                connection.execute(select(func.count()).select_from(table).where(table.c.run_id == run_id)).scalar_one()
                for table in (attempts, measurements)
            )
        if (tried, measured) != (CASES, CASES):
            yield Fault(
                "lost", f"run {run_id} is complete with {tried} attempts and {measured} measurements of {CASES}"
            )


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
