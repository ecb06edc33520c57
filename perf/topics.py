"""Topics, drift and problems against labelled intents: how well groups match, how stable they are, what alarms when.

`python -m perf.topics FOLDER [--weeks 40]` reads `*.csv` (`text,category` with a heading: banking77) and `*.json` (lists of
`[text, intent]` under `train`, `val`, `test`: clinc150) in FOLDER; `--cost 200000` measures time and memory over so many
traces instead. Each set goes through a workspace of its own, by the doors that a server uses.
"""

import argparse
import csv
import json
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from evergold import Score, Trace, Workspace
from evergold.model.trace import ScoreSource
from evergold.model.upkeep import RecurringProblem
from evergold.settings import Settings
from evergold.store.database.rows import stamp
from evergold.store.topics import TopicTrace, traffic_of_topics
from evergold.upkeep.coverage import BEFORE, RECENT, measure_drift
from perf.measuring import print_figure

START = datetime(2026, 1, 5, tzinfo=UTC)
WEEK = 1000  # traces
Row = tuple[str, str]  # text, intent


def read_sets(folder: Path) -> dict[str, list[Row]]:
    """Read every labelled set of a folder; files of one name before `_` are one set."""
    sets: dict[str, list[Row]] = {}
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8") as lines:
            rows = [(row["text"], row["category"]) for row in csv.DictReader(lines)]
        sets.setdefault(path.stem.partition("_")[0], []).extend(rows)
    for path in sorted(folder.glob("*.json")):
        parts = json.loads(path.read_text(encoding="utf-8"))
        sets[path.stem] = [(text, intent) for part in ("train", "val", "test") for text, intent in parts[part]]
    return sets


def adjusted_rand(one: Sequence[object], other: Sequence[object]) -> float:
    """Give the adjusted Rand index of two groupings."""
    _, a = np.unique(np.array(one, dtype=str), return_inverse=True)
    _, b = np.unique(np.array(other, dtype=str), return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(table, (a, b), 1)
    pairs, rows, columns = ((x * (x - 1) / 2).sum() for x in (table, table.sum(1), table.sum(0)))
    expected = rows * columns / (len(a) * (len(a) - 1) / 2)
    return float((pairs - expected) / ((rows + columns) / 2 - expected))


def open_workspace() -> Workspace:
    home = Path(tempfile.mkdtemp(prefix="evergold-topics-"))
    return Workspace.open(Settings(home=home, checks_builtin="false"))


def send(workspace: Workspace, name: str, rows: Iterable[Row], at: datetime, failing: Iterable[int] = ()) -> list[str]:
    """Send rows as traces spread over the week that begins then; those with these numbers fail."""
    listed, low = list(rows), Score(name="helpful", value=0.0, source=ScoreSource.USER)
    bad = set(failing)
    traces = [
        Trace(
            id=f"{name}-{number}",
            input=text,
            output="An answer.",
            started_at=at + timedelta(days=7) * number / len(listed),
            scores=[low] if number in bad else [],
        )
        for number, (text, _) in enumerate(listed)
    ]
    for start in range(0, len(traces), 2000):
        workspace.intake.accept(traces[start : start + 2000])
    if bad:
        workspace.live.curate()
    workspace.topics.refresh()
    return [trace.id for trace in traces]


def topics_of(workspace: Workspace) -> dict[str, int | None]:
    with workspace.store.db.read() as connection:
        return {row[0]: row[1] for row in connection.exec_driver_sql("SELECT trace_id, topic FROM trace_topics")}


def measure_groups(name: str, rows: list[Row]) -> None:
    """Compare topics with intents, and see which members keep their topic when a tenth is added."""
    with open_workspace() as workspace:
        cut = len(rows) * 10 // 11
        ids = send(workspace, "first", rows[:cut], START)
        before = topics_of(workspace)
        print(f"{name}: {len(rows)} texts, {len({i for _, i in rows})} intents, {len(workspace.topics.all())} topics")
        # A text without a topic is a group of its own.
        mine = [before[one] or one for one in ids]
        print_figure(
            "adjusted Rand index", adjusted_rand(mine, [intent for _, intent in rows[:cut]]), "", 0.55, at_least=True
        )
        inside = sum(topic is not None for topic in before.values()) / len(before)
        print(f"  share in a topic: {inside:.3f}")
        send(workspace, "more", rows[cut:], START + timedelta(days=7))
        after = topics_of(workspace)
        kept = np.mean([after[one] == topic for one, topic in before.items() if topic is not None])
        print_figure("members that keep their id with a tenth more", float(kept), "", 0.9, at_least=True)


def measure_drift_of(rows: list[Row], weeks: int, random: np.random.Generator) -> None:
    """Count alarms in unchanged weeks, and in weeks in which a tenth is an intent that never came before."""
    intents = sorted({intent for _, intent in rows})
    new = set(random.choice(intents, size=min(20, len(intents) // 4), replace=False).tolist())
    known = [row for row in rows if row[1] not in new]
    alarms, caught = 0, 0
    with open_workspace() as workspace:
        for week in range(weeks + 5):
            drawn = [known[i] for i in random.integers(0, len(known), WEEK)]
            send(workspace, f"w{week}", drawn, START + timedelta(weeks=week))
            if week >= 5:
                alarms += workspace.coverage.measure().drift.alarm
        end = START + timedelta(weeks=weeks + 5)
        with workspace.store.db.read() as connection:
            before = traffic_of_topics(connection, str(stamp(end - BEFORE)), 10**6)
        space = workspace.topics._load()
        assert space is not None
        for intent in sorted(new):
            fresh = [row for row in rows if row[1] == intent]
            drawn = [known[i] for i in random.integers(0, len(known), WEEK * 9 // 10)]
            drawn += [fresh[i] for i in random.integers(0, len(fresh), WEEK // 10)]
            topics = workspace.topics._find_nearest(space, [text for text, _ in drawn])
            now = str(stamp(end + RECENT / 2))
            week_traffic = [TopicTrace(now, topic, f"n{n}") for n, topic in enumerate(topics)]
            caught += measure_drift([*week_traffic, *before], str(stamp(end))).alarm
    print_figure("alarms in unchanged weeks", alarms / weeks, "", 0.05)
    print_figure("new intents of a tenth of the traffic that alarm", caught / len(new), "", 0.9, at_least=True)


def measure_problems(rows: list[Row], random: np.random.Generator, tries: int, noise: float = 0.03) -> None:
    """Let one intent fail every time, mend it, let it fail again; noise fails at random everywhere."""
    intents = sorted({intent for _, intent in rows})
    needed: list[int] = []
    extra, single, reopened, later, apart, week, came = 0, 0, 0, 0, 0, 0, 0
    with open_workspace() as workspace:

        def fix_all() -> None:
            for one in workspace.problems.all():
                if one.state != "fixed":
                    workspace.problems.fix(one.id, "perf")

        def pass_week(name: str, broken: str | None) -> list[str]:
            nonlocal week, came
            drawn = [rows[i] for i in random.integers(0, len(rows), WEEK)]
            bad = [n for n, row in enumerate(drawn) if row[1] == broken or random.random() < noise]
            came, week = sum(row[1] == broken for row in drawn), week + 1
            return send(workspace, f"{name}{week}", drawn, START + timedelta(weeks=week), bad)

        for _ in range(5):
            pass_week("quiet", None)
        for intent in random.choice(intents, size=tries, replace=False):
            occurrences = 0
            fresh: list[RecurringProblem] = []
            while occurrences < 60 and not fresh:
                of_intent = [row for row in rows if row[1] == intent]
                drawn = [of_intent[i] for i in random.integers(0, len(of_intent), 5)]
                at = START + timedelta(weeks=week + 1, seconds=occurrences)
                send(workspace, f"bad{week}-{occurrences}", drawn, at, range(5))
                occurrences += 5
                fresh = [one for one in workspace.problems.all() if one.state != "fixed"]
            needed.append(occurrences)
            pass_week("broken", intent)
            fresh = [one for one in workspace.problems.all() if one.state != "fixed"]
            single += len(fresh) == 1
            for one in fresh:
                workspace.problems.fix(one.id, "perf")
            for _ in range(2):
                pass_week("mended", None)
                false = [one for one in workspace.problems.all() if one.state != "fixed"]
                extra += len(false)
                for one in false:
                    workspace.problems.fix(one.id, "perf")
            seen, back = 0, False
            while seen < 20 and not back:
                pass_week("again", intent)
                seen += came
                states = {one.id: one.state for one in workspace.problems.all()}
                back = any(states[one.id] == "reopened" for one in fresh)
                reopened += back and seen == came
            later += back
            fix_all()
            pair = random.choice(intents, size=2, replace=False).tolist()
            for one_of in pair:
                of_intent = [row for row in rows if row[1] == one_of]
                drawn = [of_intent[i] for i in random.integers(0, len(of_intent), 20)]
                send(workspace, f"pair{week}-{one_of}", drawn, START + timedelta(weeks=week + 1), range(20))
            pass_week("pair", None)
            fresh = [one for one in workspace.problems.all() if one.state != "fixed"]
            held = [Counter(trace.rpartition("-")[0].rpartition("-")[2] for trace in one.traces) for one in fresh]
            apart += sorted(held_by.most_common(1)[0][0] for held_by in held if held_by) == sorted(pair)
            for _ in range(4):
                pass_week("quiet", None)
            fix_all()
    print_figure("occurrences until a problem is open, nine of ten", float(np.quantile(needed, 0.9)), "", 20)
    print_figure("injected failures that are one problem", single / tries, "", 0.9, at_least=True)
    print_figure("problems that open again in the first week", reopened / tries, "", 0.9, at_least=True)
    print_figure("problems that open again within 20 occurrences", later / tries, "", 0.9, at_least=True)
    print_figure("pairs of failing intents that are two problems", apart / tries, "", 0.9, at_least=True)
    print_figure("false problems in a week", extra / (2 * tries), "", 1.0)


def measure_cost(rows: list[Row], traces: int) -> None:
    """Measure the first build over so many traces, half of them repeats, and what comes after."""
    with open_workspace() as workspace:
        texts = [
            f"{rows[n % len(rows)][0]} ({n // len(rows)})" if n % 2 else rows[n % len(rows)][0] for n in range(traces)
        ]
        for start in range(0, traces, 2000):
            many = [
                Trace(id=f"t{start + n}", input=text, output="x") for n, text in enumerate(texts[start : start + 2000])
            ]
            workspace.intake.accept(many)
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        began = time.process_time()
        workspace.topics.refresh()
        print_figure("first build", time.process_time() - began, " CPU-s", 600)
        print_figure("memory of the process", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, " MB", 500)
        print(f"  before the build: {held:.0f} MB")
        workspace.intake.accept([Trace(id=f"n{n}", input=f"{rows[n][0]} again", output="x") for n in range(1000)])
        began = time.process_time()
        workspace.topics.refresh()
        print_figure("each trace after that", time.process_time() - began, " ms", 5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--weeks", type=int, default=40)
    parser.add_argument("--tries", type=int, default=10)
    parser.add_argument("--only", help="The name of one set.")
    parser.add_argument("--cost", type=int, default=0)
    given = parser.parse_args()
    random = np.random.default_rng(0)
    for name, rows in read_sets(given.folder).items():
        if given.only not in (None, name):
            continue
        shuffled = [rows[i] for i in random.permutation(len(rows))]
        if given.cost:
            measure_cost(shuffled, given.cost)
            return
        if given.weeks:
            measure_groups(name, shuffled)
            measure_drift_of(shuffled, given.weeks, random)
        if given.tries:
            measure_problems(shuffled, random, given.tries)


if __name__ == "__main__":
    main()
