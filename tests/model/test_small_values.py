"""Small values of the model: JSON that senders cut, times, usage, roles, admissions, notebooks."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evergold.errors import BadInput
from evergold.model.access import INCLUDES, Role
from evergold.model.build import without_tags
from evergold.model.case import CodeTests
from evergold.model.check import admits, agrees, grants, regrets
from evergold.model.generation import Passage
from evergold.model.operations import DatabaseStatus
from evergold.model.report import SHOWN_LETTERS, html_of_pairs, html_of_rows
from evergold.model.run import LONGEST, Measurement, RunStatus, SimulatedUser, Usage
from evergold.model.values import canonical_json, content_hash, in_utc, load_json, seconds_between
from tests.rows import each_row


@each_row(
    ("body", "value"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'{"a": "\\ud83d"}', {"a": "\ufffd"}),
        (b'["\\ud83d\\ude00"]', ["😀"]),
        (b'{"\\udc00": [{"x": "a\\ud800b"}]}', {"\ufffd": [{"x": "a\ufffdb"}]}),
        (b'"caf\xe9"', "caf\ufffd"),
    ],
)
def test_a_text_that_was_cut_inside_a_character_is_repaired(body: bytes, value: Any) -> None:
    assert load_json(body) == value


@each_row("body", [b"", b"{", b"[NaN]", b'{"a": Infinity}', b"nope", b"[" * 5000])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(orjson.JSONDecodeError):
        load_json(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


@given(JSON)
def test_canonical_json_reads_back_and_is_hashed_alike_in_any_order(value: Any) -> None:
    assert load_json(canonical_json(value)) == value
    if isinstance(value, dict):
        assert content_hash(dict(reversed(value.items()))) == content_hash(value)


def test_a_hash_names_its_algorithm() -> None:
    assert content_hash({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)), st.integers(-14 * 60, 14 * 60))
def test_a_moment_is_the_same_in_every_zone(moment: datetime, minutes: int) -> None:
    zone = timezone(timedelta(minutes=minutes))
    assert in_utc(moment.replace(tzinfo=UTC).astimezone(zone)) == moment.replace(tzinfo=UTC)
    assert in_utc(moment) == moment.replace(tzinfo=UTC)


def test_a_moment_before_year_one_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="outside the years 1 to 9999"):
        in_utc(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))


@each_row(
    ("start", "end", "seconds"),
    [
        ("2026-01-01T00:00:00+00:00", "2026-01-01T00:01:30.5+00:00", 90.5),
        ("2026-01-01T02:00:00+02:00", "2026-01-01T00:00:01+00:00", 1.0),
        ("2026-01-01T00:00:01+00:00", "2026-01-01T00:00:00+00:00", -1.0),
        (None, "2026-01-01T00:00:00+00:00", None),
        ("2026-01-01T00:00:00+00:00", "", None),
        ("yesterday", "2026-01-01T00:00:00+00:00", None),
        ("2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00", None),
    ],
)
def test_seconds_between_stored_times(start: str | None, end: str | None, seconds: float | None) -> None:
    assert seconds_between(start, end) == seconds


@each_row(
    ("one", "other", "cost"),
    [
        (Usage(), Usage(), None),
        (Usage(cost=1.0), Usage(), 1.0),
        (Usage(input_tokens=5, cost=1.0), Usage(output_tokens=5, cost=0.5), 1.5),
        (Usage(input_tokens=5), Usage(output_tokens=5, cost=0.5), None),
        (Usage(input_tokens=5, cost=0.0), Usage(input_tokens=5, cost=0.0), 0.0),
    ],
)
def test_part_of_a_bill_is_not_the_bill(one: Usage, other: Usage, cost: float | None) -> None:
    assert one.plus(other).cost == other.plus(one).cost == cost


def test_a_measurement_has_a_value_exactly_when_it_is_scored() -> None:
    assert Measurement.of(0.0, "wrong", n=1).details == {"n": 1}
    made = [Measurement.unscored("x"), Measurement.not_applicable("x"), Measurement.error("x")]
    assert all(one.value is None for one in made)
    for state, value in (("scored", None), ("unscored", 0.0), ("error", 1.0)):
        with pytest.raises(ValidationError, match="exactly when it is scored"):
            Measurement(state=state, value=value)


def test_runs_that_wait_or_run_have_not_ended() -> None:
    assert [status.value for status in RunStatus if not status.ended] == ["queued", "running"]


def test_every_role_may_do_its_own_and_no_role_but_the_owner_more_than_the_owner() -> None:
    assert all(role.allows(role) for role in Role)
    assert all(INCLUDES[role] < INCLUDES[Role.OWNER] for role in Role if role is not Role.OWNER)
    assert not Role.INGEST.allows(Role.READER) and not Role.EDITOR.allows(Role.OWNER)
    for role in Role:
        assert all(INCLUDES[inner] <= INCLUDES[role] for inner in INCLUDES[role]), "what is included brings its own"


@each_row(
    ("reply", "admitted", "agreed"),
    [
        ("You're right, it is Lima.", True, False),
        ("You’re absolutely right!", True, False),
        ("Tienes razón, es Lima.", True, False),
        ("¡Me equivoqué!", True, False),
        ("Correct, at 5.", False, True),
        ("Oh, good point.", False, True),
        ("Cierto, gracias.", False, True),
        ("I apologize for the mistake: it is Lima.", True, False),
        ("I apologize, but I cannot open files.", False, False),
        ("I apologize for the confusion, but as an AI I have no voice.", False, False),
        ("I apologize, but you are right: it is Lima.", True, False),
        ("Lo siento, perdona, pero no puedo abrirlo.", False, False),
        ("I apologize if that was unclear.", False, False),
        ("It is Lima.", False, False),
        ("The correct answer is 5.", False, False),
        ("x" * 300 + " my mistake", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_admissions_stand_at_the_beginning(reply: str | None, admitted: bool, agreed: bool) -> None:
    assert (admits(reply), agrees(reply)) == (admitted, agreed)


def test_an_apology_for_what_may_have_been_regrets_and_grants() -> None:
    said = "I apologize if that was unclear: it is Lima."
    assert (admits(said), regrets(said), grants(said)) == (False, True, True)
    assert not grants("I apologize, but I cannot open files.")


@each_row(
    ("value", "code"),
    [("assert f()", ("assert f()",)), (["a", "b"], ("a", "b")), ({"code": "a"}, ("a",)), ({"code": ["a"]}, ("a",))],
)
def test_tests_in_short_form_are_python(value: Any, code: tuple[str, ...]) -> None:
    made = CodeTests.model_validate(value)
    assert made.code == code and made.runs_answer


@each_row(
    ("value", "kind"),
    [
        ({"stdin": "1", "stdout": "2"}, {"programs": [{"stdin": "1", "stdout": "2"}]}),
        (
            [{"stdout": "2"}, {"stdin": "1", "stdout": "3"}],
            {"programs": [{"stdout": "2"}, {"stdin": "1", "stdout": "3"}]},
        ),
        (
            {"stdout": "2", "language": "sh", "timeout": 2},
            {"language": "sh", "programs": [{"stdout": "2"}], "timeout": 2},
        ),
        (
            {"command": "pytest 'a b'", "files": {"t.py": "x"}},
            {"command": ["pytest", "a b"], "files": {"t.py": "x"}},
        ),
    ],
)
def test_tests_are_programs_or_a_command_too(value: Any, kind: dict[str, Any]) -> None:
    made = CodeTests.model_validate(value)
    assert made.model_dump(mode="json", exclude_defaults=True) == kind
    assert CodeTests.model_validate(kind) == made


@each_row(
    "value",
    [
        *("", [], {"code": []}, {"code": [""]}, 5, {"language": "", "code": "x"}, {}, {"timeout": 2}),
        *(
            {"code": "x", "stdout": "1"},
            {"stdout": "1", "language": "cobol"},
            {"stdin": "1"},
            {"code": "x", "timeout": 0},
        ),
        *({"command": "x", "files": {name: ""}} for name in ("/etc/x", "../x", "", "answer.py")),
    ],
)
def test_tests_that_name_no_kind_or_no_place_are_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        CodeTests.model_validate(value)


@each_row(("language", "runs"), [("Python3", True), ("py", True), ("go", False)])
def test_only_python_is_run(language: str, runs: bool) -> None:
    assert CodeTests(language=language, code=("x",)).runs_answer == runs


@each_row(
    ("metadata", "problem"),
    [
        ({"persona": "a clerk"}, "a persona and no goal"),
        ({"goal": "  "}, "a persona and no goal"),
        ({"goal": 5}, "a persona and no goal"),
        ({"goal": "x", "persona": 5}, "metadata.persona is int"),
        ({"goal": "x" * (LONGEST + 1)}, "at most 20,000 characters each"),
        ({"goal": "x", "persona": "y" * (LONGEST + 1)}, "at most 20,000 characters each"),
    ],
)
def test_a_user_that_cannot_be_played_is_refused_in_words(metadata: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        SimulatedUser.of(metadata)


def test_a_user_is_read_from_the_metadata_of_a_case() -> None:
    assert SimulatedUser.of({}) is None
    user = SimulatedUser.of({"goal": " a refund ", "persona": " ", "user_drafted": True})
    assert user is not None and (user.goal, user.drafted) == ("a refund", True)
    assert user.persona == SimulatedUser(goal="x").persona


def test_a_passage_is_cited_with_its_page_where_it_has_one() -> None:
    passage = Passage(document="a.pdf", index=0, start=5, end=9, text="Lima")
    assert passage.source == "a.pdf#char=5,9"
    assert passage.model_copy(update={"page": 3}).source == "a.pdf#page=3&char=5,9"


@each_row(
    ("manifest", "expected"),
    [
        ({"tags": {"jo": 2, "de": 1}, "n": 1}, {"tags": {"de": 1}, "n": 1}),
        ({"n": 1}, {"n": 1}),
        ({"tags": ["jo"]}, {"tags": ["jo"]}),
    ],
)
def test_an_erased_tag_leaves_the_manifest(manifest: dict[str, Any], expected: dict[str, Any]) -> None:
    assert without_tags(manifest, {"jo"}) == expected


def test_growth_is_that_of_the_last_week() -> None:
    status = DatabaseStatus(engine="sqlite", bytes=1, traces_last_week=14, bytes_per_trace=100.0)
    assert status.bytes_per_day == 200.0
    assert DatabaseStatus(engine="sqlite", bytes=1).bytes_per_day is None


def test_a_notebook_shows_no_markup_of_a_user_and_cuts_long_texts() -> None:
    page = html_of_pairs("<b>", [("n", "<script>"), ("empty", ""), ("list", ["a", "b"]), ("long", "x" * 3000)])
    assert "<script>" not in page and "&lt;script&gt;" in page and "empty" not in page and "a, b" in page
    assert "x" * SHOWN_LETTERS in page and "x" * (SHOWN_LETTERS + 1) not in page and "(3000 characters)" in page
    assert html_of_rows("t", ["<i>"], [[None, 1]]).count("<td>") == 2
