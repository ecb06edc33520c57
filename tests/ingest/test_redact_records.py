"""Records that are looked at together are cleaned as each would be by itself."""

from evergold.ingest.records import TOGETHER, redact_all, redact_record
from evergold.model.faults import Rejected
from evergold.model.trace import Correction, Reaction, ScoreLine, SpanLine
from evergold.redact.default import DefaultRedactor
from evergold.redact.fields import FIELDS, FieldRedactor
from evergold.seams import Incoming
from tests.builders import a_score, a_trace

MAIL = "write to ana@example.com, please"
RECORDS: list[Incoming | Rejected] = [
    a_trace("t1"),
    a_trace("t2", input=MAIL),
    a_trace("t3", output=MAIL),
    a_trace("t4", metadata={"note": {"deep": [MAIL]}}),
    a_trace("t5", tags=(MAIL,)),
    a_trace("t6", scores=(a_score("check", 0.5, comment=MAIL),)),
    SpanLine(trace_id="t7", id="a", name=MAIL),
    SpanLine(trace_id="t7", id="b", metadata={"attributes": {"to": MAIL}}),
    ScoreLine(trace_id="t1", name="check", value=0.5, comment=MAIL),
    Correction(trace_id="t1", text=MAIL),
    Reaction(trace_id="t1", emoji="👍"),
    Rejected(where="file:1", reason="not JSON", record=MAIL),
]


def a_cleaner() -> FieldRedactor:
    return FieldRedactor(DefaultRedactor(), FIELDS)


def test_each_record_is_as_if_it_had_come_alone() -> None:
    many = [record for record in RECORDS for _ in range(TOGETHER // 2)]
    together, one_by_one = a_cleaner(), a_cleaner()
    expected = [record if isinstance(record, Rejected) else redact_record(record, one_by_one) for record in many]
    assert redact_all(many, together) == expected
    assert together.counts == one_by_one.counts and together.counts["EMAIL"] == 9 * (TOGETHER // 2)


def test_with_nothing_to_redact_records_stay_as_they_are() -> None:
    assert redact_all(RECORDS, FieldRedactor(None, ())) == RECORDS
