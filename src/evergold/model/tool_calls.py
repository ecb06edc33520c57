"""Tool calls that a model made and that a task expects, and the rule that compares them, for scoring and for replay."""

import math
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Self

import orjson
from pydantic import BaseModel, Field, ValidationError, model_validator

from evergold.model.limits import Values
from evergold.model.values import compare_values, likeness


class ToolCall(BaseModel, frozen=True, extra="forbid"):
    """A call that was made. `result` is what the tool answered, text or any JSON; None where nothing was recorded."""

    name: str
    args: Values = Field(default_factory=dict)
    id: str | None = None
    result: Any = None
    failed: bool = False


class ArgumentMatch(StrEnum):
    """How an argument of an expected call is compared with the one that was given."""

    EXACT = "exact"
    IGNORE_CASE = "ignore_case"
    NUMBER = "number"
    REGEX = "regex"
    ANY = "any"
    ANY_OF = "any_of"


class ExpectedTool(BaseModel, frozen=True, extra="forbid"):
    """A call that is expected, and what may vary in it.

    `optional` names arguments that may be left out. `match` says per argument how it is compared; with `any_of` the
    argument's value in `args` is the list of values that are right. An argument without a rule is compared by likeness.
    A part of an argument that is an object is named by its path (`address.city`).
    """

    name: str
    args: Values = Field(default_factory=dict)
    # Formats are read in strict mode, where a JSON list would be refused for a tuple; `strict=False` takes it.
    optional: tuple[str, ...] = Field(default=(), strict=False)
    match: dict[str, Annotated[ArgumentMatch, Field(strict=False)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def rules_fit_their_values(self) -> Self:
        values = dict(_paths(self.args))
        for argument, rule in self.match.items():
            # `any` asks for an argument without saying its value, so it needs none in `args`.
            if argument not in values and rule is not ArgumentMatch.ANY:
                raise ValueError(f"match names {argument!r}, which is not in args; add it there or use `any`")
            wanted = values.get(argument)
            if rule is ArgumentMatch.ANY_OF and not (isinstance(wanted, list) and wanted):
                raise ValueError(f"{argument!r} is matched by any_of, so its value in args is a list of right values")
            if rule is ArgumentMatch.REGEX and not isinstance(wanted, str):
                raise ValueError(f"{argument!r} is matched by regex, so its value in args is the pattern as text")
            if rule is ArgumentMatch.REGEX and (problem := _problem_of(str(wanted))):
                raise ValueError(f"{argument!r}: {wanted!r} is not a regular expression: {problem}")
        return self

    def example(self) -> ToolCall | None:
        """A concrete call that meets the expectation: first alternatives; None where only a pattern is known."""
        if any(rule is ArgumentMatch.REGEX for rule in self.match.values()):
            return None
        return ToolCall(name=self.name, args=_first_values(self.args, self.match, ""))


def path_of(at: str, key: str) -> str:
    return f"{at}.{key}" if at else key


def _paths(values: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield path_of(at, key), value
        if isinstance(value, Mapping):
            yield from _paths(value, path_of(at, key))


def _first_values(values: Mapping[str, Any], match: Mapping[str, ArgumentMatch], at: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in values.items():
        path = path_of(at, key)
        if match.get(path) is ArgumentMatch.ANY_OF:
            made[key] = value[0]
        else:
            made[key] = _first_values(value, match, path) if isinstance(value, Mapping) else value
    return made


def _problem_of(pattern: str) -> str | None:
    """Why a pattern cannot be used; patterns run in time linear in the text, so no look-around or back-reference."""
    import re2

    try:
        re2.compile(pattern)
    except re2.error as problem:
        return str(problem)
    return None


def expected_of(calls: Iterable[ToolCall]) -> tuple[ExpectedTool, ...]:
    """Expect exactly these calls; a call without a name cannot be expected."""
    return tuple(ExpectedTool(name=call.name, args=call.args) for call in calls if call.name)


def calls_in(messages: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """Collect the calls of assistant messages in order, each with the result that a later tool message gives it.

    Results are tied by id. An id used twice ties first to first; a result without an id goes to the oldest open call of
    its name, or the oldest open call at all.
    """
    made: list[ToolCall] = []
    waiting: list[int] = []
    for message in messages:
        if message.get("role") == "tool":
            # A result that belongs to no call is left out: half a record is better than a wrong pair.
            if (number := _answer_key(message, made, waiting)) is not None:
                waiting.remove(number)
                result, failed = message.get("content"), _is_failed(message)
                made[number] = made[number].model_copy(update={"result": result, "failed": failed})
            continue
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                waiting.append(len(made))
                made.append(_call_key(call))
    return tuple(made)


def arguments_of(given: Any) -> dict[str, Any]:
    """Arguments as a mapping: JSON text is read, and what is no JSON object is kept under `arguments`."""
    if isinstance(given, Mapping):
        return dict(given)
    if given is None or given == "":
        return {}
    try:
        read = orjson.loads(given) if isinstance(given, str) else given
    except orjson.JSONDecodeError:
        read = given
    return read if isinstance(read, dict) else {"arguments": read}


def _is_failed(message: Mapping[str, Any]) -> bool:
    extra = message.get("extra")
    marked = extra if isinstance(extra, Mapping) else {}
    return any(bool(held.get(mark)) for held in (message, marked) for mark in ("failed", "is_error"))


def _call_key(call: Mapping[str, Any]) -> ToolCall:
    # OpenAI's shape nests name and arguments under `function`; the flat shape of others has them beside the id.
    function = call.get("function")
    held = function if isinstance(function, Mapping) else call
    name, ident = held.get("name"), call.get("id")
    given = held.get("arguments", held.get("args"))
    made = ToolCall(name=name if isinstance(name, str) else "", id=ident if isinstance(ident, str) and ident else None)
    # Arguments that are JSON text were never checked: what is nested too deep to be stored stays the text that it was.
    try:
        return ToolCall(name=made.name, args=arguments_of(given), id=made.id)
    except ValidationError:
        return made.model_copy(update={"args": {"arguments": str(given)}})


def _answer_key(message: Mapping[str, Any], made: list[ToolCall], waiting: list[int]) -> int | None:
    ident, name = message.get("tool_call_id"), message.get("name")
    # An id that fits no open call ties to nothing, even if a name would: the sender knew better.
    if ident:
        return next((number for number in waiting if made[number].id == ident), None)
    named = (number for number in waiting if name and made[number].name == name)
    return next(named, waiting[0] if waiting and not name else None)


def matches(want: ExpectedTool, got: ToolCall) -> bool:
    """Whether a call meets an expectation in every argument."""
    return call_likeness(want, got) == 1.0


def call_likeness(want: ExpectedTool, got: ToolCall) -> float:
    """0 for another tool; else the share of arguments that are right, over those of either side.

    An optional argument that was left out is no argument of either side; one that `optional` names and `args` does not
    may have any value.
    """
    return _object_likeness(want, want.args, got.args, "") if want.name == got.name else 0.0


def differing_arguments(want: ExpectedTool, got: ToolCall) -> list[str]:
    """The arguments by which a call of the same tool differs from the expected one."""
    keys = want.args.keys() | got.args.keys() | {path for path in want.match if "." not in path}

    def only(values: Mapping[str, Any], key: str) -> dict[str, Any]:
        return {key: values[key]} if key in values else {}

    rules = {key: {path: rule for path, rule in want.match.items() if path.split(".")[0] == key} for key in keys}
    return [
        key
        for key in sorted(keys)
        if _object_likeness(
            want.model_copy(update={"match": rules[key]}), only(want.args, key), only(got.args, key), ""
        )
        < 1
    ]


def _object_likeness(want: ExpectedTool, wanted: Mapping[str, Any], given: Mapping[str, Any], at: str) -> float:
    shares = []
    # Arguments that only `match` names, with `any`, must be there, whatever their value. Paths with a dot lie inside an
    # object, where the argument itself is compared.
    only_matched = {path for path in want.match if not at and "." not in path}
    for key in sorted(wanted.keys() | given.keys() | only_matched):
        path = path_of(at, key)
        if key not in given:
            if path not in want.optional:
                shares.append(0.0)
        elif key not in wanted:
            shares.append(float(path in want.optional or want.match.get(path) is ArgumentMatch.ANY))
        else:
            shares.append(_value_likeness(want, wanted[key], given[key], path))
    return sum(shares) / len(shares) if shares else 1.0


def _value_likeness(want: ExpectedTool, wanted: Any, given: Any, path: str) -> float:
    match want.match.get(path):
        case ArgumentMatch.ANY:
            return 1.0
        case ArgumentMatch.EXACT:
            return float(likeness(wanted, given) == 1.0)
        case ArgumentMatch.IGNORE_CASE:
            return likeness(wanted, given, _same_letters)
        case ArgumentMatch.NUMBER:
            return likeness(wanted, given, _same_number)
        case ArgumentMatch.REGEX:
            return float(_fits(wanted, given))
        case ArgumentMatch.ANY_OF:
            return max(likeness(one, given) for one in wanted)
    if isinstance(wanted, dict) and isinstance(given, dict):
        return _object_likeness(want, wanted, given, path)
    return likeness(wanted, given)


def _same_letters(one: Any, other: Any) -> float:
    if isinstance(one, str) and isinstance(other, str):
        return float(" ".join(one.split()).casefold() == " ".join(other.split()).casefold())
    return compare_values(one, other)


def _same_number(one: Any, other: Any) -> float:
    """Numbers by value, also when they are written as text (`"1,200.50"`); anything else as it is."""
    first, second = _number(one), _number(other)
    if first is None or second is None:
        return compare_values(one, other)
    # Nine significant digits: 0.1 + 0.2 is 0.3; the absolute part lets tiny results of arithmetic be zero.
    return float(math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value.replace(",", "").strip() if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return read if math.isfinite(read) else None


def _fits(pattern: str, given: Any) -> bool:
    """Whether the whole value, as text, fits the pattern; in time linear in the text, whatever the pattern."""
    import re2

    if isinstance(given, bool):
        # As JSON writes it: true, not True.
        given = str(given).lower()
    return not isinstance(given, dict | list) and re2.fullmatch(pattern, str(given)) is not None
