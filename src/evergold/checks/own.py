"""Checks of one's own, as data: TOML files in, checks out, or one line that says which key is wrong and what is allowed.

[[check]]
name = "short_enough"
kind = "length"                 # regex, json_schema, length, latency, cost, python, judge
max_chars = 1200
when = { name = ["chat"], tag = ["beta"], metadata = { channel = "whatsapp" } }
sample = 0.5                    # share of traces, decided by a hash of the trace id
failing = 0.0                   # the value of a trace that fails; one that passes has 1.0

The part of JSON Schema that checks need: types, properties, items, enumerations and limits. An unknown word is an error when
the check is read, so that no rule is passed over in silence.
"""

import importlib
import json
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.model.check import CheckResult, Turn
from evergold.model.faults import refused_settings
from evergold.model.trace import ScoreSource, UnitValue
from evergold.model.values import content_hash, seconds_between, unit_interval
from evergold.plugins import PluginTimeout, call_within
from evergold.text.markers import compile_pattern

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip
KNOWN = (
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum", "maximum", "minLength",
    "maxLength", "minItems", "maxItems", "title", "description", "$schema", "$id", "default", "examples",
)  # fmt: skip


class CheckFailed(Exception):
    """A check could not be run; its words are the reason that is counted and shown."""


@cache
def import_function(name: str) -> Callable[[Turn], Any]:
    """Import `module:function`."""
    module, _, function = name.partition(":")
    try:
        called = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as problem:
        raise BadInput(f"python check {name!r} cannot be imported: {problem}; write module:function") from problem
    if not callable(called):
        raise BadInput(f"python check {name!r} is not a function")
    return called  # type: ignore[no-any-return]


def as_result(value: Any, name: str) -> CheckResult | None:
    """Read what a check returned; anything but a value from 0 to 1 is an error, never a score."""
    if value is None:
        return None
    # True is an int in Python, and means a pass here.
    result = CheckResult(float(value), f"{name} returned {value:g}") if isinstance(value, int | float) else value
    if not isinstance(result, CheckResult):
        raise CheckFailed(
            f"{name} returned {value!r}; allowed are a number from 0 to 1, a truth value, CheckResult, None"
        )
    if not 0.0 <= result.value <= 1.0:
        raise CheckFailed(f"{name} returned {result.value:g}; a value lies from 0 to 1")
    return result


# A value of another shape would raise when the first trace is checked, or hold for every value.
SHAPES: dict[str, tuple[tuple[type, ...], str]] = {
    "type": ((str, list), "a name of a type or a list of names"),
    "properties": ((dict,), "a table of schemas"),
    "required": ((list,), "a list of names"),
    "enum": ((list,), "a list of values"),
    "items": ((dict,), "a schema"),
    "additionalProperties": ((bool, dict), "true, false or a schema"),
    **dict.fromkeys(("minimum", "maximum"), ((int, float), "a number")),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), ((int,), "a whole number")),
}


def check_schema(schema: Any, where: str) -> None:
    """Raise `BadInput` for anything in a schema that would not be honoured."""
    if not isinstance(schema, dict):
        raise BadInput(f"{where}: a JSON schema is a table, not {schema!r}")
    for word in schema:
        if word not in KNOWN:
            raise BadInput(f"{where}: {describe_unknown('JSON schema keyword', word, KNOWN)}")
    for word, (shape, wanted) in SHAPES.items():
        if word in schema and (
            not isinstance(schema[word], shape) or (isinstance(schema[word], bool) and bool not in shape)
        ):
            raise BadInput(f"{where}: {word} is {wanted}, not {schema[word]!r}")
    for name in _names(schema.get("type", [])):
        if not isinstance(name, str) or name not in TYPES:
            raise BadInput(f"{where}: {describe_unknown('JSON schema type', str(name), tuple(TYPES))}")
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, f"{where}.{name}")
    for word in ("items", "additionalProperties"):
        if isinstance(schema.get(word), dict):
            check_schema(schema[word], f"{where}.{word}")


def violations(value: Any, schema: dict[str, Any], path: str = "$") -> Iterator[str]:
    """Name each place where a value breaks its schema."""
    wanted = _names(schema.get("type", []))
    if wanted and not any(_is(value, name) for name in wanted):
        yield f"{path} is no {' or '.join(wanted)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{path} is not {schema['const']!r}"
    yield from _limits(value, schema, path)
    if isinstance(value, dict):
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
        yield from (f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            inner = properties.get(name, more)
            if isinstance(inner, dict):
                yield from violations(item, inner, f"{path}.{name}")
            elif inner is False:
                yield f"{path}.{name} is not allowed"
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, item in enumerate(value):
            yield from violations(item, schema["items"], f"{path}[{number}]")


def _limits(value: Any, schema: dict[str, Any], path: str) -> Iterator[str]:
    size = len(value) if isinstance(value, str | list) else None
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    words = ("minLength", "maxLength") if isinstance(value, str) else ("minItems", "maxItems")
    for measured, least, most in ((size, *words), (number, "minimum", "maximum")):
        if measured is not None and measured < schema.get(least, measured):
            yield f"{path} is below {least} {schema[least]}"
        if measured is not None and measured > schema.get(most, measured):
            yield f"{path} is above {most} {schema[most]}"


def _names(kind: Any) -> list[str]:
    return [kind] if isinstance(kind, str) else list(kind)


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        # JSON has no integers: 3.0 is one by the specification.
        return name == "boolean"
    return isinstance(value, TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer())


class When(BaseModel, frozen=True, extra="forbid"):
    """Which traces a check looks at: every condition must hold, a list means "one of these"."""

    name: tuple[str, ...] = ()
    app: tuple[str, ...] = ()
    tag: tuple[str, ...] = ()
    metadata: dict[str, str | int | float | bool] = Field(default_factory=dict)

    def holds(self, turn: Turn) -> bool:
        return (
            (not self.name or turn.name in self.name)
            and (not self.app or turn.app in self.app)
            and (not self.tag or not set(self.tag).isdisjoint(turn.tags))
            and all(turn.metadata.get(key) == value for key, value in self.metadata.items())
        )


class OwnCheck(BaseModel, frozen=True, extra="forbid"):
    """What every check of one's own has."""

    source: ClassVar[ScoreSource] = ScoreSource.SYSTEM
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")]
    when: When = When()
    sample: UnitValue = 1.0
    failing: UnitValue = 0.0

    @property
    def version(self) -> str:
        """Identity of everything that can change a result."""
        return content_hash(self.model_dump(mode="json")).removeprefix("sha256:")[:12]

    def check(self, turn: Turn) -> CheckResult | None:
        # By a hash of check and trace: the same trace is in the sample every time, and two checks sample independently.
        if not self.when.holds(turn) or unit_interval(f"{self.name}:{turn.id}") >= self.sample:
            return None
        return self.apply(turn)

    def apply(self, turn: Turn) -> CheckResult | None:
        raise NotImplementedError

    def result(self, good: bool, reason: str, evidence: str = "") -> CheckResult:
        return CheckResult(1.0 if good else self.failing, reason, evidence[:160])


class RegexCheck(OwnCheck, frozen=True):
    kind: Literal["regex"]
    pattern: str
    field: Literal["input", "output"] = "output"
    expect: Literal["match", "no_match"] = "match"

    @model_validator(mode="after")
    def compiles(self) -> "RegexCheck":
        try:
            compile_pattern(self.pattern)
        except BadInput as problem:
            raise ValueError(f"pattern: {problem.message}") from problem
        return self

    def apply(self, turn: Turn) -> CheckResult | None:
        text = turn.input if self.field == "input" else turn.output
        if text is None:
            return None
        pattern = compile_pattern(self.pattern)
        matched = pattern.search(text)
        reason = "the pattern matches" if matched else "the pattern does not match"
        evidence = pattern.find_first(text) if matched else None
        return self.result(matched is (self.expect == "match"), reason, evidence or "")


class SchemaCheck(OwnCheck, frozen=True):
    kind: Literal["json_schema"]
    schema_: dict[str, Any] = Field(alias="schema")

    @model_validator(mode="after")
    def known_words(self) -> "SchemaCheck":
        check_schema(self.schema_, "schema")
        return self

    def apply(self, turn: Turn) -> CheckResult | None:
        if not turn.output:
            return None
        try:
            value = json.loads(turn.output)
        except ValueError as problem:
            return self.result(False, "the answer is not JSON", str(problem))
        broken = list(violations(value, self.schema_))
        reason = "the answer breaks its schema" if broken else "the answer keeps its schema"
        return self.result(not broken, reason, "; ".join(broken))


class LengthCheck(OwnCheck, frozen=True):
    kind: Literal["length"]
    min_chars: Annotated[int, Field(ge=0)] = 0
    max_chars: Annotated[int, Field(ge=0)] | None = None

    def apply(self, turn: Turn) -> CheckResult | None:
        size = len(turn.output or "")
        good = size >= self.min_chars and (self.max_chars is None or size <= self.max_chars)
        return self.result(good, f"the answer has {size} characters")


class LatencyCheck(OwnCheck, frozen=True):
    kind: Literal["latency"]
    max_seconds: Annotated[float, Field(gt=0)]

    def apply(self, turn: Turn) -> CheckResult | None:
        taken = seconds_between(turn.started_at, turn.ended_at)
        return None if taken is None else self.result(taken <= self.max_seconds, f"the turn took {taken:.3g} s")


class CostCheck(OwnCheck, frozen=True):
    kind: Literal["cost"]
    max_cost: Annotated[float, Field(gt=0)]

    def apply(self, turn: Turn) -> CheckResult | None:
        return None if turn.cost is None else self.result(turn.cost <= self.max_cost, f"the turn cost {turn.cost:.4g}")


class PythonCheck(OwnCheck, frozen=True):
    """`function` takes the turn and returns a number from 0 to 1, a truth value, a `CheckResult`, or None."""

    slow: ClassVar[bool] = True
    kind: Literal["python"]
    function: Annotated[str, Field(pattern=r"^[\w.]+:\w+$")]
    timeout_seconds: Annotated[float, Field(gt=0, le=600)] = 5.0
    version_: str = Field("1", alias="version")

    def apply(self, turn: Turn) -> CheckResult | None:
        try:
            # One that hung is not called again in this process.
            value = call_within(self.timeout_seconds, self.function, lambda: import_function(self.function)(turn))
        except PluginTimeout as problem:
            raise CheckFailed(str(problem)) from problem
        except Exception as problem:
            raise CheckFailed(f"{self.function} raised {type(problem).__name__}: {problem}") from problem
        return as_result(value, self.function)


class JudgeCheck(OwnCheck, frozen=True):
    """Asks a judge with a rubric; `budget` is the most calls a day."""

    slow: ClassVar[bool] = True
    source: ClassVar[ScoreSource] = ScoreSource.LLM_JUDGE
    kind: Literal["judge"]
    judge: str
    rubric: Annotated[str, Field(min_length=1)]
    budget: Annotated[int, Field(ge=0)] = 100


Own = Annotated[
    RegexCheck | SchemaCheck | LengthCheck | LatencyCheck | CostCheck | PythonCheck | JudgeCheck,
    Field(discriminator="kind"),
]
_OWN: TypeAdapter[Own] = TypeAdapter(Own)


def read_checks(
    paths: Iterable[str | Path], *, known_judge: Callable[[str], None] = lambda _: None
) -> tuple[OwnCheck, ...]:
    """Read every check of some files; two of one name are an error that names both files."""
    checks: dict[str, OwnCheck] = {}
    for path in map(Path, paths):
        for number, table in enumerate(_tables(path), 1):
            where = f"{path}, check {number}"
            try:
                check: OwnCheck = _OWN.validate_python(table)
            except ValidationError as problem:
                raise refused_settings(problem, OwnCheck, where) from problem
            if check.name in checks:
                raise BadInput(f"{where}: there is another check called {check.name!r}; rename one")
            # Judges and functions are looked up when the file is
            # read: a typing error must not wait for the first trace.
            if isinstance(check, JudgeCheck):
                known_judge(check.judge)
            if isinstance(check, PythonCheck):
                import_function(check.function)
            checks[check.name] = check
    return tuple(checks.values())


def _tables(path: Path) -> list[Any]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as problem:
        raise NotFound(f"check file {str(path)!r} does not exist; `checks.files` names it") from problem
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"check file {str(path)!r} cannot be read as UTF-8 TOML: {problem}") from problem
    listed = table.get("check")
    if not isinstance(listed, list) or set(table) != {"check"}:
        raise BadInput(
            f"check file {str(path)!r} holds {sorted(table) or 'nothing'}; it holds [[check]] tables and nothing else"
        )
    return listed
