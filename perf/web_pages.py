"""The pages over 1,000,000 traces and 100,000 cases: 95th percentile of what they ask for, first paint, a long conversation.

    python -m perf.web_pages --traces 1000000 --cases 100000 --data FOLDER

Limits: 100 ms (p95) for an answer, 1 s for the first paint and for a conversation of 200 turns and 5 MB, 350 KB compressed
for the files that a first visit loads. Questions go over HTTP to a real server; the first of each kind, which nobody asked
before, is printed apart. CPU is the server's, by question: what a clock shows depends on what else the machine does. `--data`
keeps the workspace.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

import httpx2 as httpx
from playwright.sync_api import Browser

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.data.web_workspace import CHECKS, LONG_SESSION, LONG_TRACE, MODELS, NAMES, RARE, TURNS, fill
from perf.otlp_load import WORDS
from tests.api.serving import calling, served
from tests.e2e.pages import a_browser, a_page

Query = dict[str, str | int]
Ask = Callable[[random.Random], tuple[str, Query]]
PAINTED = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null"""
PAGES = {
    "Overview": ("/", "Figures of the traffic"),
    "Traces": ("/traces", "Traces"),
    "Cases": ("/cases", "Cases"),
    "Review": ("/review", "Queue"),
    "Datasets": ("/datasets", ""),
    "Benchmarks": ("/benchmarks", ""),
    "Rules": ("/rules", ""),
}
SENT = """() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
  .filter(({ name }) => !name.includes("/api/")).reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)"""


def traces(**more: str | int) -> tuple[str, Query]:
    return "/traces", {"limit": 100, "preview": 500, **more}


def cases(**more: str | int) -> tuple[str, Query]:
    return "/cases", {"limit": 100, "preview": 500, **more}


QUESTIONS: dict[str, Ask] = {
    "traces, newest": lambda _: traces(),
    "traces, failed": lambda _: traces(status="failed"),
    "traces, model and name": lambda r: traces(model=r.choice(MODELS), name=r.choice(NAMES)),
    "traces, failing check": lambda r: traces(score=f"{r.choice(CHECKS)}<0.3"),
    "traces, any failing check": lambda _: traces(score="*<0.3"),
    "traces, latency and tag": lambda r: traces(took_min=r.randrange(500, 5000), tag="beta"),
    "traces, slowest of a model": lambda r: traces(model=r.choice(MODELS), order="slowest"),
    "traces, dearest": lambda _: traces(order="dearest"),
    "traces, rare word": lambda r: traces(search=f"w{r.randrange(RARE)}"),
    "traces, common word": lambda r: traces(search=r.choice(WORDS)),
    "traces, best match": lambda r: traces(search=" ".join(r.sample(WORDS, 2)), order="match"),
    "traces, facets": lambda r: ("/traces/facets", {"model": r.choice(MODELS)}),
    "cases, newest": lambda _: cases(),
    "cases, dataset and tag": lambda r: cases(dataset=f"dataset-{r.randrange(5)}", tag="t3"),
    "cases, rare word": lambda r: cases(search=f"w{r.randrange(RARE)}"),
    "cases, facets": lambda r: ("/cases/facets", {"dataset": f"dataset-{r.randrange(5)}"}),
    "overview": lambda _: ("/stats/overview", {}),
    "traffic by model": lambda _: ("/stats/traffic", {"by": "model"}),
    "traffic by name": lambda _: ("/stats/traffic", {"by": "name"}),
    "review queue": lambda _: ("/review/queue", {}),
}


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=20_000)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--asks", type=int, default=40)
    parser.add_argument("--data", type=Path, help="a folder where the filled workspace is kept")
    chosen = parser.parse_args(arguments)
    os.environ["EVERGOLD_CHECKS_BUILTIN"] = "false"
    with tempfile.TemporaryDirectory() as folder:
        home = chosen.data or Path(folder)
        if not (home / ".evergold").exists():
            with Workspace.open(Settings(home=home / ".evergold")) as workspace:
                fill(workspace, chosen.traces, chosen.cases)
        with served(home) as url:
            with calling(f"{url}/api/v1") as client:
                ask(client, chosen.asks)
            with a_browser() as browser:
                look(browser, url)
        print(f"  over {chosen.traces} traces and {chosen.cases} cases; limits: 100 ms (p95), 1 s, 350 KB")


def ask(client: httpx.Client, asks: int) -> None:
    source = random.Random(4)
    for name, make in QUESTIONS.items():
        (first,) = asked(client, make, source, 1)
        before = server_cpu()
        rest = sorted(asked(client, make, source, asks))
        cpu = (server_cpu() - before) / asks
        p95 = rest[int(len(rest) * 0.95)]
        clock = f"first {first:8.1f} ms   p50 {median(rest):7.1f} ms   p95 {p95:7.1f} ms"
        print(f"  {name:<28} {clock}   CPU {cpu:7.1f} ms", flush=True)


def server_cpu() -> float:
    """Milliseconds of CPU that the processes started from here have used: the server alone, while questions are asked."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            ticks[int(path.parent.name)] = int(fields[11]) + int(fields[12])
    ours, known = {os.getpid()}, 0
    while len(ours) > known:
        known = len(ours)
        ours |= {process for process, parent in parents.items() if parent in ours}
    return sum(ticks[process] for process in ours - {os.getpid()}) * 1000 / os.sysconf("SC_CLK_TCK")


def asked(client: httpx.Client, make: Ask, source: random.Random, asks: int) -> Iterator[float]:
    for _ in range(asks):
        path, query = make(source)
        began = time.perf_counter()
        client.get(path, params=query).raise_for_status()
        yield (time.perf_counter() - began) * 1000


def look(browser: Browser, url: str) -> None:
    """Open every page twice in a profile of its own; the second has the files of the app, as a day's work has."""
    for name, (path, landmark) in PAGES.items():
        page = a_page(browser)
        for visit in ("cold", "warm"):
            began = time.perf_counter()
            page.goto(url + path)
            (page.get_by_label(landmark, exact=True) if landmark else page.get_by_role("main")).first.wait_for()
            whole = (time.perf_counter() - began) * 1000
            painted = page.wait_for_function(PAINTED).json_value()
            clock = f"first paint {painted:7.0f} ms   content {whole:7.0f} ms"
            sent = f"   files {page.evaluate(SENT) / 1000:5.0f} KB compressed" if visit == "cold" else ""
            print(f"  {name:<16} {visit}  {clock}{sent}", flush=True)
        page.context.close()
    for name, trace in (("one trace of 200 messages", LONG_TRACE), ("a session of 200", f"{LONG_SESSION}-{TURNS - 1}")):
        page = a_page(browser)
        page.goto(f"{url}/traces")
        page.get_by_role("list", name="Traces").get_by_role("link").first.wait_for()
        began = time.perf_counter()
        page.evaluate(
            "path => { history.pushState({}, '', path); dispatchEvent(new PopStateEvent('popstate')) }",
            f"/traces/{trace}",
        )
        page.get_by_role("region", name="This trace").wait_for()
        print(f"  {name:<28} open in {(time.perf_counter() - began) * 1000:7.0f} ms", flush=True)
        page.context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
