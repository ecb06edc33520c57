"""10,000 cases into the store and back. Goals: written in 1.5 s of CPU, read in 0.6 s."""

import sys
import tempfile
import time
from pathlib import Path

from evergold.model.case import Case, Provenance
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from perf.measuring import print_figure

COUNT = 10_000


def main() -> int:
    cases = [
        Case(
            id=f"case-{number}",
            input=f"Question {number}: " + "what is assumed? " * 10,
            output="An answer. " * 20,
            expected="The answer. " * 20,
            tags=("a", f"t{number % 7}"),
            provenance=Provenance(session_id=f"s{number % 500}"),
        )
        for number in range(COUNT)
    ]
    with tempfile.TemporaryDirectory() as folder, Workspace.open(Settings(home=Path(folder))) as workspace:
        began = time.process_time()
        workspace.cases.put(cases)
        written = time.process_time() - began
        began = time.process_time()
        back = list(workspace.cases.iterate(CaseFilter()))
        read = time.process_time() - began
    assert len(back) == COUNT
    assert [case.content() for case in back] == [case.content() for case in cases]
    good = print_figure(f"{COUNT} cases written", written, "s of CPU", 1.5)
    return 0 if print_figure(f"{COUNT} cases read", read, "s of CPU", 0.6) and good else 1


if __name__ == "__main__":
    sys.exit(main())
