"""`python -m tests.faults.watched FILE VERB …`: run one command of Evergold and note how long its transactions waited and took.

It listens to the events of SQLAlchemy, so it measures any version of the program as it is.
"""

import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from sqlalchemy import Connection, Engine, event
from sqlalchemy.pool import Pool

from evergold.cli import main

WRITING = "BEGIN IMMEDIATE"
LONGEST = 5


@dataclass
class Waits:
    """Of the transactions that write: how many, the longest wait for the lock, and which held it longest."""

    transactions: int = 0
    waited: float = 0.0
    held: float = 0.0
    longest: list[tuple[float, str]] = field(default_factory=list)

    def note(self, waited: float, held: float, name: str) -> None:
        self.transactions += 1
        self.waited, self.held = max(self.waited, waited), max(self.held, held)
        self.longest = sorted([*self.longest, (round(held, 3), name)], reverse=True)[:LONGEST]


def listen(waits: Waits) -> None:
    """Note every transaction of this process that takes SQLite's lock for writing."""

    @event.listens_for(Pool, "checkout")
    def taken(_: Any, record: Any, __: Any) -> None:
        record.info["taken"] = time.perf_counter()

    @event.listens_for(Engine, "before_cursor_execute")
    def working(connection: Connection, _: Any, statement: str, *__: Any) -> None:
        if "began" in connection.info and not connection.info.get("name"):
            connection.info["name"] = _work_of(sys._getframe())

    @event.listens_for(Engine, "after_cursor_execute")
    def begun(connection: Connection, _: Any, statement: str, *__: Any) -> None:
        if statement == WRITING:
            connection.info.update(began=time.perf_counter(), name="")

    @event.listens_for(Pool, "checkin")
    def ended(_: Any, record: Any) -> None:
        began = record.info.pop("began", None)
        if began is not None:
            waits.note(began - record.info["taken"], time.perf_counter() - began, record.info["name"])


def _work_of(frame: FrameType | None) -> str:
    """The function that the writer calls."""
    names: list[str] = []
    while frame is not None and frame.f_code.co_name != "_run_job":
        if "evergold" in frame.f_code.co_filename:
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names[-1] if names else ""


if __name__ == "__main__":
    noted = Waits()
    listen(noted)
    try:
        main(sys.argv[2:])
    finally:
        Path(sys.argv[1]).write_text(json.dumps(asdict(noted)), encoding="utf-8")
