"""10,000 cases into the store and back. Goals: written in 1.5 s, read in 0.6 s."""

import tempfile
import time
from pathlib import Path

from evergold.model.case import Case, Provenance
from evergold.settings import Settings
from evergold.store.cases import CaseFilter
from evergold.workspace import Workspace

COUNT = 10_000


def main() -> None:
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
        began = time.perf_counter(), time.process_time()
        workspace.cases.put(cases)
        written = time.perf_counter() - began[0], time.process_time() - began[1]
        began = time.perf_counter(), time.process_time()
        back = list(workspace.cases.iterate(CaseFilter()))
        read = time.perf_counter() - began[0], time.process_time() - began[1]
    assert len(back) == COUNT
    assert [case.content() for case in back] == [case.content() for case in cases]
    print(f"  written in {written[0]:.2f} s ({written[1]:.2f} s of CPU; goal 1.5), ", end="")
    print(f"read in {read[0]:.2f} s ({read[1]:.2f} s of CPU; goal 0.6)")


if __name__ == "__main__":
    main()
