"""Two workspaces on one PostgreSQL: slow checks and backfills are done by one of them, and both work side by side."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from evergold.errors import Conflict
from evergold.model.check import Turn
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.patience import PATIENCE

CHECK = '[[check]]\nname = "asked"\nkind = "python"\nfunction = "tests.workspace.test_many_servers:asks"\n'
ASKED: Counter[str] = Counter()
BOTH = Barrier(2)


def asks(turn: Turn) -> float:
    ASKED[turn.id] += 1
    # The first question of each server waits for that of the other: both are at it at the same time.
    if ASKED.total() <= 2:
        BOTH.wait(PATIENCE)
    return 1.0


@pytest.fixture
def servers(postgres_url: str, tmp_path: Path) -> Iterator[tuple[Workspace, Workspace]]:
    path = tmp_path / "checks.toml"
    path.write_text(CHECK)
    settings = Settings(home=tmp_path, database_url=postgres_url, checks_files=(str(path),))
    with Workspace.open(settings) as one, Workspace.open(replace(settings, home=tmp_path / "other")) as other:
        yield one, other


def test_each_trace_is_checked_by_one_of_two_servers(servers: tuple[Workspace, Workspace]) -> None:
    ids = [f"t{number}" for number in range(20)]
    servers[0].intake.accept(a_trace(one, scores=(a_score(),)) for one in ids)
    with ThreadPoolExecutor(2) as threads:
        steps = threads.map(lambda server: server.live.step(10)[0], servers)
        assert sum(steps) == len(ids)
    assert Counter(ids) == ASKED
    assert servers[1].live.count_waiting() == 0


def test_a_backfill_on_one_server_is_refused_on_the_other_while_it_runs(servers: tuple[Workspace, Workspace]) -> None:
    ASKED.update(["done", "done"])  # nobody waits for another question
    one, other = servers
    one.intake.accept([a_trace("t1"), a_trace("t2")])
    refused: list[bool] = []

    def meanwhile(_: int) -> None:
        for everything in (True, False):
            with pytest.raises(Conflict, match="a check of all traces is under way in"):
                other.live.checks.backfill(everything=everything)
            refused.append(everything)

    one.live.checks.backfill(meanwhile)
    assert refused == [True, False]
    assert other.live.checks.backfill().traces == 2
