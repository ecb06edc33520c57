"""Whether every changed document and tool result is found and no unchanged one alarms, and what comparing costs a trace.

`python -m perf.staleness [--cases 500] [--traces 2000]` makes passages, order states and questions by rule. Each case rests on a
passage and a call. In the traffic each passage comes again: half of them as it was, with other white space, or as another
passage of its document; the other half with a figure, a word or a sentence changed. Of calls, every fourth result changes.
"""

import argparse
import json
import resource
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from evergold import Workspace
from evergold.model.case_actions import Picking
from evergold.model.trace import Span, Trace
from evergold.settings import Settings
from perf.measuring import print_figure

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
GOODS = ("shoes", "bicycles", "lamps", "tables", "phones", "tents", "coats", "books")
PLACES = ("Lisbon", "Utrecht", "Graz", "Turin", "Bergen", "Ghent", "Porto")


def passage(number: int) -> str:
    goods, place = GOODS[number % len(GOODS)], PLACES[number % len(PLACES)]
    return (
        f"In {place} we take back {goods} of series {number} within {10 + number % 50} days of the purchase. "
        f"Bring the receipt to counter {1 + number % 9}, where a colleague looks at the {goods} and pays the price in cash."
    )


def come_again(number: int, text: str) -> tuple[str, bool]:
    """Give what the document says when it comes again, and whether that is a change."""
    days = f"{10 + number % 50} days"
    ways = (
        (text, False),
        (text.replace(" the ", f" the {days} old "), True),
        (text.replace(". ", ".  \n"), False),
        (text.replace(days, f"{70 + number % 20} days"), True),
        (
            f"Our shop number {number} opens at nine. It closes at six, on Sundays at noon, and has a garage behind it.",
            False,
        ),
        (text.replace("in cash", "by bank transfer"), True),
        (text, False),
        (f"{text} Goods on sale are left out of this.", True),
    )
    return ways[number % len(ways)]


def make_trace(name: str, number: int, question: str, text: str, state: str, at: datetime) -> Trace:
    call = {"id": "c", "type": "function", "function": {"name": "order", "arguments": json.dumps({"id": number})}}
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": json.dumps({"state": state, "request_id": name})},
    ]
    spans = (
        Span(id="r", kind="retriever", output=json.dumps([{"text": text, "source": f"terms-{number}.md"}])),
        Span(
            id="l",
            kind="llm",
            input=json.dumps(talk),
            output=json.dumps({"role": "assistant", "content": "An answer."}),
        ),
    )
    return Trace(id=name, input=question, output="An answer.", started_at=at, spans=spans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--traces", type=int, default=2000)
    given = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="evergold-staleness-"))
    with Workspace.open(Settings(home=home, checks_builtin="false")) as workspace:
        texts = [passage(number) for number in range(given.cases)]
        workspace.intake.accept(
            [make_trace(f"a{n}", n, f"How is order {n}?", text, "packed", BEGIN) for n, text in enumerate(texts)]
        )
        picked = tuple(f"a{number}" for number in range(given.cases))
        workspace.case_actions.pick(Picking(trace_ids=picked, dataset="d"), "perf")
        workspace.staleness.refresh()
        changed: set[tuple[str, str]] = set()
        sent = []
        for number in range(given.traces):
            case, at = number % given.cases, BEGIN + timedelta(days=1, minutes=number)
            text, is_change = come_again(case, texts[case])
            state = "sent" if case % 4 == 0 else "packed"
            changed |= {(f"a{case}", "document")} if is_change else set()
            changed |= {(f"a{case}", "tool")} if state == "sent" else set()
            sent.append(make_trace(f"b{number}", case, f"Please tell me of order {case} ({number})", text, state, at))
        workspace.intake.accept(sent)
        before = resource.getrusage(resource.RUSAGE_SELF)
        workspace.staleness.refresh()
        after = resource.getrusage(resource.RUSAGE_SELF)
        cost = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = {(one.id, one.because.split()[1]) for one in workspace.staleness.all()}
    for kind in ("document", "tool"):
        known, listed = ({one for one in group if one[1] == kind} for group in (changed, found))
        print(f"{kind}: {len(known)} of {given.cases} changed")
        print_figure(f"{kind}: changed ones that are found", len(known & listed) / len(known), "", 1, at_least=True)
        print_figure(f"{kind}: alarms on unchanged ones", len(listed - known), "", 0)
    print_figure("CPU a trace in the background", 1000 * cost / given.traces, "ms", 5)


if __name__ == "__main__":
    main()
