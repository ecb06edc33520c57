"""What writes much does it in many short transactions, with the same result as in one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, event, text

from evergold import Workspace
from evergold.model.case import Case
from evergold.model.trace import Score, Trace
from evergold.settings import Settings
from evergold.store import facts as portions
from evergold.store.facts import FEW, Portion

TRACES = 24
DUMPED = {
    "traces": "SELECT id FROM traces ORDER BY 1",
    "scores": "SELECT trace_id, name, value FROM trace_scores ORDER BY 1, 2, 3",
    "entries": "SELECT dataset, case_id, entry_type, version, status, input_text, output_text FROM eval_dataset ORDER BY 1, 2",
    "revisions": "SELECT action, count(*) FROM case_revisions GROUP BY 1 ORDER BY 1",
}


def test_the_size_follows_what_the_last_transaction_took() -> None:
    portion = Portion(1000)
    sizes = [portion.size]
    for seconds in (0.4, 0.01, 0.2, 0.0, 0.0, 0.0):
        portion.adapt(seconds)
        sizes.append(portion.size)
    assert sizes == [100, 50, 200, 200, 800, 1000, 1000]


def test_costs_that_do_not_shrink_leave_a_few_items_to_a_transaction_and_slow_items_do_not() -> None:
    portion = Portion(1000)
    for _ in range(20):
        portion.adapt(1.0)
    assert portion.size == FEW
    for _ in range(5):
        portion.adapt(9.0)
    assert portion.size == 1
    portion.adapt(0.01)
    assert portion.size == 4


def test_lists_have_the_size_of_the_moment_and_nothing_is_left_out() -> None:
    portion = Portion(100, first=3)
    given = portion.of(range(20))
    assert list(next(given)) == [0, 1, 2]
    portion.adapt(0.05)
    assert [list(each) for each in given] == [list(range(3, 15)), list(range(15, 20))]


def fill(workspace: Workspace) -> None:
    for at in range(TRACES):
        scores = [Score(name="ok", value=float(at % 3 > 0), source="system")] if at % 2 else []
        question = "No, that is wrong, I said Tuesday." if at % 4 == 3 else f"What is {at}?"
        one = Trace(id=f"t{at:02}", session_id=f"s{at // 4}", input=question, output=f"It is {at}.", scores=scores)
        workspace.intake.accept([one])


def ingest(workspace: Workspace, folder: Path) -> None:
    lines = (f'{{"id": "i{at}", "input": "What is {at}?", "output": "It is {at}."}}\n' for at in range(TRACES))
    (folder / "more.jsonl").write_text("".join(lines), encoding="utf-8")
    workspace.intake.ingest([folder / "more.jsonl"])


def import_cases(workspace: Workspace, folder: Path) -> None:
    made = [Case(id=f"k{at}", input=f"What is {at}?", expected=f"{at}.") for at in range(TRACES)]
    (folder / "cases.jsonl").write_text("".join(f"{one.model_dump_json()}\n" for one in made), encoding="utf-8")
    result, rejected = workspace.cases.import_file(folder / "cases.jsonl", format_name="case-jsonl", dataset="bench")
    assert (result.added, result.changed, rejected) == (TRACES, 0, [])


def undo(workspace: Workspace, folder: Path) -> None:
    workspace.live.curate()
    workspace.live.undo(workspace.live.policies()[0].label)


VERBS: dict[str, Callable[[Workspace, Path], object]] = {
    "ingest": ingest,
    "import": import_cases,
    "curate": lambda workspace, _: workspace.live.curate(),
    "backfill": lambda workspace, _: workspace.live.curation.backfill(),
    "undo": undo,
    "check-traces": lambda workspace, _: workspace.live.checks.backfill(),
    "prune": lambda workspace, _: workspace.retention.prune("0s"),
    "archive": lambda workspace, folder: workspace.archives.move("0s", folder / "archive"),
}


@contextmanager
def transactions_counted(workspace: Workspace) -> Iterator[list[int]]:
    counted = [0]

    def begun(connection: Connection) -> None:
        counted[0] += 1

    engine = workspace.store.db._writer_engine
    event.listen(engine, "begin", begun)
    yield counted
    event.remove(engine, "begin", begun)


def dumped(workspace: Workspace) -> dict[str, list[tuple[object, ...]]]:
    with workspace.store.db.read() as connection:
        return {name: [tuple(row) for row in connection.execute(text(query))] for name, query in DUMPED.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_in_the_smallest_portions_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    results, counts = [], []
    for number, first in enumerate((10_000, 1)):
        monkeypatch.setattr(portions, "FIRST", first)
        monkeypatch.setattr("evergold.ingest.ingest.BATCH", first)  # the size of its first portion
        monkeypatch.setattr(Portion, "adapt", lambda self, seconds: None)
        folder = tmp_path / str(number)
        folder.mkdir()
        with Workspace.open(Settings(home=folder)) as workspace:
            fill(workspace)
            with transactions_counted(workspace) as counted:
                VERBS[verb](workspace, folder)
            results.append(dumped(workspace))
            counts.append(counted[0])
    assert results[0] == results[1]
    assert counts[1] >= counts[0] + 8, counts
