"""The built-in checks on single turns, what user functions may return, schemas, languages and keys of likeness."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.checks.builtin import Finished, Grounded, LanguageMatch, NoSecret, ToolOk, ValidJson
from evergold.checks.own import CheckFailed, as_result, check_schema, import_function, read_checks, violations
from evergold.checks.signals import NotRepeated, same_answer
from evergold.checks.stage import question_keys
from evergold.checks.suite import Suite
from evergold.errors import BadInput
from evergold.model.check import CheckResult, ToolStep, Turn
from evergold.model.trace import TraceStatus
from evergold.redact.default import DefaultRedactor
from tests.rows import each_row


def a_turn(input: str = "What is the capital of Peru?", output: str | None = "Lima.", **more: Any) -> Turn:
    return Turn("t", input, output, **more)


def value_of(check: Any, turn: Turn) -> float | None:
    result = check.check(turn)
    return None if result is None else result.value


@each_row(
    ("more", "value"),
    [
        ({}, 1.0),
        ({"finish_reasons": ("stop",)}, 1.0),
        ({"finish_reasons": ("tool_calls", "LENGTH")}, 0.5),
        ({"finish_reasons": ("length", "stop")}, 1.0),
        ({"finish_reasons": ("content_filter",)}, 0.5),
        ({"status": TraceStatus.FAILED}, 0.0),
        ({"status": TraceStatus.STARTED}, None),
    ],
)
def test_how_a_turn_ended(more: dict[str, Any], value: float | None) -> None:
    assert value_of(Finished(), a_turn(**more)) == value


def test_a_failed_trace_shows_its_error() -> None:
    failed = Finished().check(a_turn(status=TraceStatus.FAILED, metadata={"error": "boom " * 100}))
    assert failed is not None and failed.evidence.startswith("boom") and len(failed.evidence) == 160


SPANISH = "¿Cuándo abre la tienda que está en el centro de la ciudad y cuánto cuesta la entrada?"
ENGLISH = "The shop in the centre of the town opens at nine and the entrance is free for you."


@each_row(
    ("asked", "answered", "value"),
    [
        (ENGLISH, ENGLISH, 1.0),
        (SPANISH, ENGLISH, 0.5),
        ("Translate this into Spanish: " + ENGLISH, SPANISH, None),
        ("Hi", "Ok", None),
        (ENGLISH, "", None),
        ("Где находится ближайший магазин?", "Магазин находится в центре.", 1.0),
        ("Где находится ближайший магазин?", ENGLISH, 0.5),
    ],
)
def test_the_answer_is_in_the_language_of_the_question(asked: str, answered: str, value: float | None) -> None:
    assert value_of(LanguageMatch(), a_turn(asked, answered)) == value


def test_a_placeholder_of_redaction_is_a_secret_that_was_there() -> None:
    assert value_of(NoSecret(), a_turn(output="Your key is [SECRET].")) == 0.0
    assert value_of(NoSecret(), a_turn("My key is [SECRET].", "I set it to [SECRET].")) == 0.5
    assert value_of(NoSecret(), a_turn(output="See [1] and [NAME].")) == 1.0
    assert value_of(NoSecret(), a_turn(output=None)) is None


@each_row(
    ("output", "value"),
    [
        ("'PASSWORD': 'testpassword'", 1.0),
        ("ARG DB_PASSWORD=testpwd\nENV DB_PASSWORD=${DB_PASSWORD:-securepassword}", 1.0),
        ("postgres://app:example-password@db/x", 1.0),
        ("Authorization: Bearer your-access-token-123", 1.0),
        ("Cookie: session=${SESSION}", 1.0),
        ("密码：testpassword123", 0.0),
        ("'PASSWORD': 'Gx81pqLm'", 0.0),
        ("DB_PASSWORD=testpwd_8Kq2", 0.0),
        ("Cookie: session=8f3aQz", 0.0),
        # In code that is shown, an example looks like a password; a secret that stands alone there is one.
        ('```json\n{"password": "password123"}\n```', 0.5),
        ("```sh\nDB_PASSWORD=testpwd_123\n```\nNow log in with password: Gx81pqLm", 0.0),
        ("Your key:\n```\nsk-proj-Ab12Cd34Ef56Gh78Ij90Kl12Mn34Op56\n```", 0.0),
    ],
)
def test_an_example_of_a_password_is_no_secret_and_is_kept(output: str, value: float) -> None:
    redactor = DefaultRedactor()
    assert value_of(NoSecret(redactor), a_turn(output=output)) == value
    assert (redactor.redact(output)[0] == output) == (value == 1.0)


@each_row(
    ("steps", "value"),
    [
        ((), None),
        ((ToolStep("search", False),), 1.0),
        ((ToolStep("search", True),), 0.0),
        ((ToolStep("search", True), ToolStep("search", False)), 1.0),
        ((ToolStep("search", True), ToolStep("read", False)), 0.0),
    ],
)
def test_a_failed_call_is_recovered_by_a_later_one_of_that_tool(
    steps: tuple[ToolStep, ...], value: float | None
) -> None:
    assert value_of(ToolOk(), a_turn(tools=steps)) == value


@each_row(
    ("asked", "answer", "kind", "value"),
    [
        ("Return it as JSON", '{"a": 1}', None, 1.0),
        ("Return it as JSON", '```json\n{"a": 1}\n```', None, 1.0),
        ("Return it as JSON", '{"a": 1', None, 0.5),
        ("Return it as JSON", "JSON is a format.", None, None),
        ("What is this?", '{"a": 1', "json_object", 0.0),
        ("What is this?", "plain", None, None),
        ("Return it as JSON", "  ", None, None),
    ],
)
def test_json_is_checked_where_it_was_asked_for(asked: str, answer: str, kind: str | None, value: float | None) -> None:
    assert value_of(ValidJson(), a_turn(asked, answer, output_type=kind)) == value


@each_row(
    ("more", "value"),
    [
        ({}, None),
        ({"next_input": "And of Chile?", "next_seconds": 5.0}, 1.0),
        ({"next_input": "what is the capital of peru??", "next_seconds": 5.0}, 0.5),
        ({"next_input": "what is the capital of peru", "next_seconds": 90_000.0}, None),
        (
            {
                "output": "Lima, of course, my friend.",
                "next_input": "Sure?",
                "next_output": "Lima, of course, my friend.",
            },
            0.5,
        ),
    ],
)
def test_a_question_or_an_answer_that_comes_again(more: dict[str, Any], value: float | None) -> None:
    assert value_of(NotRepeated(), a_turn(**more)) == value


def test_short_answers_may_come_twice() -> None:
    assert not same_answer("You are welcome", "You are welcome") and not same_answer(None, "x")


@each_row(
    ("returned", "value"),
    [(None, None), (True, 1.0), (False, 0.0), (0.25, 0.25), (1, 1.0), (CheckResult(0.5, "half"), 0.5)],
)
def test_what_a_function_may_return(returned: Any, value: float | None) -> None:
    result = as_result(returned, "f")
    assert (None if result is None else result.value) == value


@each_row("returned", ["yes", 2, -0.1, math.nan, math.inf, [1], CheckResult(1.5, "too much")])
def test_anything_else_is_an_error_and_never_a_score(returned: Any) -> None:
    with pytest.raises(CheckFailed, match="f returned"):
        as_result(returned, "f")


@each_row(
    ("name", "reason"),
    [
        ("no_such_module:f", "cannot be imported"),
        ("json:no_such", "cannot be imported"),
        ("json:__name__", "not a function"),
    ],
)
def test_a_function_that_is_none_is_named_when_the_file_is_read(name: str, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        import_function(name)
    assert import_function("json:dumps") is json.dumps


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string", "minLength": 2, "maxLength": 4},
        "age": {"type": ["integer", "null"], "minimum": 0, "maximum": 150},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 2},
        "kind": {"const": "person"},
    },
}


@each_row(
    ("value", "broken"),
    [
        ({"name": "Ada"}, []),
        ({"name": "Ada", "age": 36, "tags": ["a"], "kind": "person"}, []),
        ({"name": "Ada", "age": 3.0}, []),
        ({"name": "Ada", "age": None}, []),
        ([], ["$ is no object"]),
        ({}, ["$.name is missing"]),
        ({"name": "A"}, ["$.name is below minLength 2"]),
        ({"name": "Adela"}, ["$.name is above maxLength 4"]),
        ({"name": "Ada", "age": True}, ["$.age is no integer or null"]),
        ({"name": "Ada", "age": -1}, ["$.age is below minimum 0"]),
        ({"name": "Ada", "age": 3.5}, ["$.age is no integer or null"]),
        ({"name": "Ada", "tags": []}, ["$.tags is below minItems 1"]),
        ({"name": "Ada", "tags": ["a", "c"]}, ["$.tags[1] is none of ['a', 'b']"]),
        ({"name": "Ada", "kind": "dog"}, ["$.kind is not 'person'"]),
        ({"name": "Ada", "more": 1}, ["$.more is not allowed"]),
    ],
)
def test_each_place_that_breaks_a_schema_is_named(value: Any, broken: list[str]) -> None:
    check_schema(SCHEMA, "schema")
    assert list(violations(value, SCHEMA)) == broken


def test_further_properties_may_have_a_schema_of_their_own() -> None:
    schema = {"additionalProperties": {"type": "number"}}
    assert list(violations({"a": 1, "b": "x"}, schema)) == ["$.b is no number"]


@each_row(
    ("schema", "where"),
    [
        ([], "schema"),
        ({"typ": "object"}, "typ"),
        ({"type": "text"}, "text"),
        ({"type": 5}, "type"),
        ({"type": [5]}, "type"),
        ({"properties": ["a"]}, "properties"),
        ({"properties": {"a": "string"}}, "schema.a"),
        ({"properties": {"a": {"type": "x"}}}, "schema.a"),
        ({"required": "name"}, "required"),
        ({"enum": 5}, "enum"),
        ({"minimum": "0"}, "minimum"),
        ({"maxLength": True}, "maxLength"),
        ({"items": {"typ": 1}}, "schema.items"),
        ({"items": [1]}, "items"),
        ({"additionalProperties": "no"}, "additionalProperties"),
    ],
)
def test_a_schema_that_could_not_be_honoured_is_refused_when_it_is_read(schema: Any, where: str) -> None:
    with pytest.raises(BadInput, match=where):
        check_schema(schema, "schema")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "age", "tags", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_any_value_is_held_against_a_schema_without_an_exception(value: Any) -> None:
    assert all(place.startswith("$") for place in violations(value, SCHEMA))


def test_short_questions_are_alike_in_their_own_trace_only_and_long_ones_everywhere() -> None:
    long = "How can I return the boots that I bought in May 2025?"
    assert question_keys("a", "yes, please")[0] != question_keys("b", "yes, please")[0]
    assert question_keys("a", long)[0] == question_keys("b", long.upper())[0]
    assert question_keys("a", long)[1] == question_keys("b", long.replace("2025", "1999"))[1]
    assert question_keys("a", long)[2] != question_keys("b", long)[2]


class Raising:
    name, version = "raising", "1"

    def check(self, turn: Turn) -> CheckResult | None:
        raise RuntimeError("first line\nsecond line")


def test_a_check_that_raises_costs_its_own_result_alone() -> None:
    suite = Suite([Raising(), Finished()])
    broken, fine = suite.run([a_turn()])
    assert broken.error == "raising raised RuntimeError: first line" and broken.result is None
    assert fine.error is None and fine.result is not None and fine.result.value == 1.0
    (only,) = suite.run([a_turn()], frozenset({"finished"}))
    assert only.check == "finished"


def test_a_suite_changes_its_identity_with_its_checks() -> None:
    assert Suite([Finished()]).identity == Suite([Finished()]).identity != Suite([ToolOk()]).identity
    assert not Suite([]) and Suite([Finished()])


def test_slow_checks_run_ahead_reach_at_least_the_first_turn(tmp_path: Any) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[check]]\nname = "own"\nkind = "python"\nfunction = "tests.checks.test_builtin:always"\n')
    suite = Suite(read_checks([file]))
    turns = [Turn(str(number), "q", "a") for number in range(3)]
    assert suite.run_ahead(turns, seconds=-1.0) == turns[1:]
    assert suite.run_ahead(turns, seconds=60.0) == []
    assert [each.result.value for each in suite.run(turns) if each.result] == [1.0, 1.0, 1.0]


def always(turn: Turn) -> bool:
    return True


@each_row(
    "result, answer, value",
    [
        ('{"ok": false, "motivo": "ya fue enviado"}', "Tu pedido fue cancelado correctamente.", 0.0),
        ("ERROR service unavailable", "Your table is booked for eight.", 0.0),
        ('{"error": "card declined"}', "Your payment went through.", 0.0),
        ('{"status": "failed"}', "I could not book it, the restaurant is closed.", 0.5),
        ('{"ok": true, "error": null}', "Your payment went through.", 1.0),
        ("Errors fell by a third this year.", "They fell by a third.", 1.0),
        ("{'ok': False, 'motivo': 'sin saldo'}", "Your payment went through.", 0.0),
        ('{"result": {"success": "false", "reason": "no funds"}}', "Your payment went through.", 0.0),
        ('[{"type": "text", "text": "Error: no funds"}]', "Your payment went through.", 0.0),
        ("CallToolResult(isError=True, content=[])", "Your payment went through.", 0.0),
        ('{"éxito": false}', "Tu pago se hizo.", 0.0),
        ('{"statusCode": 503}', "Your payment went through.", 0.0),
        ("Fehler: Konto gesperrt", "Die Zahlung wurde ausgeführt.", 0.0),
        ("<tool_use_error>Card is locked</tool_use_error>", "Your payment went through.", 0.0),
        ("No se pudo procesar el pago", "Tu pago se hizo.", 0.0),
        ("HTTP 500 Internal Server Error", "Your payment went through.", 0.0),
        ("(no output)", "The folder was made.", 1.0),
        ("Error: none", "Your payment went through.", 1.0),
        ('{"orders": [{"id": 1, "status": "failed"}]}', "You have one order.", 1.0),
        ("Unable to log in? Reset your password here.", "Reset it on the login page.", 1.0),
    ],
)
def test_a_result_that_says_it_failed_counts_unless_the_answer_says_so(result: str, answer: str, value: float) -> None:
    assert value_of(ToolOk(), a_turn(output=answer, tools=(ToolStep("book", False, result),))) == value


def test_an_answer_that_is_only_followed_by_a_message_is_not_held_against_its_contexts_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    check = Grounded()
    turn = a_turn("When does it open?", "It opens at nine.", contexts=("The shop opens at nine.",))
    first = check.check(turn)
    monkeypatch.setattr(check, "_measure", lambda *_: pytest.fail("it was read before"))
    assert first is not None and check.check(replace(turn, next_input="Thanks!")) is first
