"""Corrections as cases, on both databases."""

from evergold.model.trace import Correction
from evergold.store import Store
from evergold.store.trace.traces import put_correction, put_traces
from evergold.store.verdict.corrections import put_correction_cases
from tests.builders import a_trace


def test_only_corrected_traces_become_corrections(store: Store) -> None:
    store.db.write(lambda connection: put_traces(connection, [a_trace("t1"), a_trace("t2")]))
    store.db.write(lambda connection: put_correction(connection, Correction(trace_id="t2", text="It is Lima.")))
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1"], "live")) == 0
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1", "t2"], "live")) == 1
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1", "t2"], "live")) == 0
