"""Recorded conversations of an agent sent in four ways: is every case whole, rightly judged, the same after each export?

    python -m perf.whole_cases historical_trajectories/gpt-4o-airline.json

The file is part of the public repository sierra-research/tau-bench and is not shipped here; any file of that shape (`traj`,
`reward`) will do. Each conversation is sent natively per turn (with and without the model calls), as OTLP JSON per
conversation and as OTLP protobuf per turn, each into a workspace with today's defaults, redaction off. Counted per way:
cases that lack a message, call, result or tool; golden where the reward is 1 and failure where it is 0; a frozen version of
all. Of the case of each whole conversation: runs of the recorded answers, of a target that is right and of two that are wrong
(`perf.answering`), with how many answers got 0.4 or more; per format: written, left out for want of a reference, changed when
read back. Seconds are CPU time of this process.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import Any

from evergold import plugins
from evergold.conversation.notations import decode_json
from evergold.model.case import Case, EntryType
from evergold.model.rejected import Rejected
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.cases import CaseFilter
from evergold.workspace import Workspace
from perf import answering
from perf.conversations_sent import FIRST_NS, SECOND, WAYS, Message, Recorded

WRONG_BELOW = 0.4
SKIPPED = ("dataset-a", "dataset-b", "qa", "summaries")  # rows of other kinds of cases
TARGETS = ("recorded", *(f"python:perf.answering:{name}" for name in ("right", "refusing", "of_another")))


def conversations(path: Path) -> list[Recorded]:
    """The conversations of a log: up to the last thing the assistant did, with the tools as their calls show them."""
    runs = json.loads(path.read_text(encoding="utf-8"))
    tools = tuple(_schemas(runs))
    return [_recorded(number, run, tools) for number, run in enumerate(runs)]


def _recorded(number: int, run: dict[str, Any], tools: tuple[dict[str, Any], ...]) -> Recorded:
    messages = list(run["traj"])
    while messages[-1]["role"] == "user":
        messages.pop()
    user = run.get("info", {}).get("task", {}).get("user_id", f"user-{number}")
    began = FIRST_NS + number * 3600 * SECOND
    return Recorded(f"conversation-{number}", user, float(run["reward"]), tuple(messages), tools, began)


def _schemas(runs: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    known: dict[str, dict[str, Any]] = {}
    for run in runs:
        for message in run["traj"]:
            for call in message.get("tool_calls") or ():
                properties = known.setdefault(call["function"]["name"], {})
                properties.update({key: {} for key in json.loads(call["function"]["arguments"])})
    for name, properties in sorted(known.items()):
        parameters = {"type": "object", "properties": properties}
        yield {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


def send(workspace: Workspace, way: str, sent: Sequence[Recorded]) -> None:
    """Send every conversation; the turns of different ones are mixed, as on a server."""
    bodies = [list(WAYS[way](recorded)) for recorded in sent]
    turns = [turn[number] for number in range(max(map(len, bodies))) for turn in bodies if number < len(turn)]
    if way.startswith("native"):
        report = workspace.intake.ingest([BytesIO(b"\n".join(turns) + b"\n")])
        assert not report.problems, report.problems
        return
    wire = Wire.JSON if "JSON" in way else Wire.PROTOBUF
    for written in [workspace.intake.receive_traces(body, wire) for body in turns]:
        assert not written.result().refused


def expected_messages(recorded: Recorded, way: str) -> list[Any]:
    """What a case has to say. A trace that has only steps of its tools holds no instructions and no words beside calls."""
    if "alone" not in way:
        return [_plain(message) for message in recorded.messages]
    spoken = (_plain(message) for message in recorded.messages if message["role"] != "system")
    return [(role, "" if calls else text, calls) for role, text, calls in spoken]


def _plain(message: Message) -> Any:
    calls = [
        (call["function"]["name"], decode_json(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    return message["role"], message.get("content") or "", calls


def case_of(cases: Sequence[Case], recorded: Recorded) -> Case | None:
    """The case of a conversation: the one of its last turn."""
    own = [case for case in cases if case.provenance.session_id == recorded.id]
    return max(own, key=lambda case: len(case.messages) + len(case.turn), default=None)


def losses(case: Case | None, recorded: Recorded, way: str) -> Iterator[str]:
    """What a case lacks or says wrongly, one word each."""
    if case is None:
        yield "case"
        return
    whole = [*case.messages, *case.turn, *case.extra.get("after", ())]
    if [_plain(message) for message in whole] != expected_messages(recorded, way):
        yield "messages"
    if not case.messages or case.messages[-1]["role"] != "user":
        yield "question"
    made = [(name, args) for message in recorded.messages for _, _, calls in [_plain(message)] for name, args in calls]
    if made and {tool["function"]["name"] for tool in case.tools} != {t["function"]["name"] for t in recorded.tools}:
        yield "tools"
    if case.provenance.user_id != recorded.user:
        yield "user"
    if case.entry_type is not (EntryType.GOLDEN if recorded.reward >= 1 else EntryType.FAILURE):
        yield "verdict"
    if case.extra.get("problems"):
        yield "problems"


def changed_by(cases: Sequence[Case], name: str, folder: Path) -> tuple[int, int, int]:
    """Cases written in a format, left out of it with a reason, and changed after they were read back."""
    chosen = plugins.load("formats", name)
    unfit: list[Rejected] = []
    path = folder / f"live-{name}{chosen.suffix}"
    written = chosen.write(iter(cases), path, rejected=unfit)
    left_out = {item.where for item in unfit}
    before = {case.id: case for case in cases if f"{case.dataset}/{case.id}" not in left_out}
    # Where no case is written, a format of one file per dataset writes none.
    back = {case.id: case for case in chosen.read(path) if isinstance(case, Case)} if written else {}
    changed = sum(id not in back or before[id].content() != back[id].content() for id in before)
    return written, len(unfit), changed


def measured(way: str, sent: Sequence[Recorded]) -> tuple[Counter[str], dict[str, Any]]:
    """Losses by kind, and the figures of run, version and formats."""
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(home=Path(name), redact_redactor="")
        with Workspace.open(settings) as workspace:
            send(workspace, way, sent)
            workspace.live.curate()
            cases = list(workspace.cases.iterate(CaseFilter(dataset="live")))
            lost = Counter(loss for one in sent for loss in losses(case_of(cases, one), one, way))
            figures: dict[str, Any] = {"cases": len(cases), "kinds": Counter(case.entry_type.value for case in cases)}
            whole = [case for one in sent if (case := case_of(cases, one))]
            answering.remember(whole)
            figures |= {f"run of {model}": _run(workspace, model, whole) for model in TARGETS}
            build, _ = workspace.builds.freeze_as("live")
            frozen = {case.id: case for case in workspace.bench.datasets.freeze(f"live@{build.version}").cases}
            figures["frozen, changed"] = sum(
                case.id not in frozen or frozen[case.id].content() != case.content() for case in cases
            )
            names = sorted({*plugins.names("formats")} - {*SKIPPED})
            figures["formats"] = {name: changed_by(whole, name, settings.home) for name in names}
    return lost, figures


def _run(workspace: Workspace, model: str, cases: Sequence[Case]) -> dict[str, str]:
    metrics = ("correctness", "tool_correctness")
    began = process_time()
    spec = RunSpec(dataset="live", model=model, metrics=metrics, cases=tuple(case.id for case in cases))
    run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    printed = {mean.metric: str(mean) for mean in workspace.bench.results.means(run)}
    values = [
        scored.value
        for attempt in workspace.bench.attempts(run.id)
        if (scored := attempt.measurements.get("correctness")) and scored.value is not None
    ]
    high = sum(value >= WRONG_BELOW for value in values)
    printed[f"correctness of {WRONG_BELOW} or more"] = f"{high} of {len(values)}"
    return printed | {"seconds": f"{process_time() - began:.0f}"}


def main(arguments: Sequence[str] = ()) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--limit", type=int, help="only the first conversations of the file")
    parser.add_argument("--way", choices=list(WAYS), action="append", help="only these ways in")
    given = parser.parse_args(arguments or None)
    sent = conversations(given.file)[: given.limit]
    failed = False
    for way in given.way or WAYS:
        lost, figures = measured(way, sent)
        failed |= bool(lost)
        print(f"{way}: {len(sent)} conversations, lost {dict(lost) or 'nothing'}")
        for what, value in figures.items():
            print(f"  {what}: {value}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
