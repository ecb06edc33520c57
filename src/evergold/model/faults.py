"""Translate the errors of pydantic for the person who wrote the value: which field, what it is, what is allowed.

The only translator: records, files, settings and requests use it. An unknown name is answered with the known ones, which are
read from the type that the value was validated against. A format whose values need other descriptions (YAML reads `no` as
false) passes them in. `Rejected` is a record that could not be used: it is counted and reported, and the others are stored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, NamedTuple, Self, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from evergold.errors import BadInput, describe_unknown

SHOWN = 60  # characters of a value that are worth repeating
Describe = Callable[[Any, dict[str, Any]], str]


class Fault(NamedTuple):
    """Where in a record something is wrong, as `scores.0.value` (empty: the record itself), and what.

    `path` is the same in parts, with the name of an unknown field at its end.
    """

    field: str
    reason: str
    path: tuple[int | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}" if self.field else self.reason


def faults_of(
    errors: Sequence[Any], shape: Any = None, *, noun: str = "field", words: Mapping[str, Describe] | None = None
) -> list[Fault]:
    """Translate each error; `shape` is the type that was asked for, where the caller knows it.

    Names that are no field come first: a field that is missing is most often one of them. `noun`: what a name is called
    where the value was written; `words`: how this caller describes some kinds of error.
    """
    # `sorted` is stable: False (unknown names) comes first, everything else keeps the order of pydantic.
    ordered = sorted(errors, key=lambda error: bool(error["type"] != "extra_forbidden"))
    return [_fault(error, shape, noun, {**WORDS, **(words or {})}) for error in ordered]


def first_fault(problem: ValidationError, shape: Any = None) -> Fault:
    """Translate the first error of a failed validation."""
    return faults_of(problem.errors(include_url=False), shape)[0]


def refused_settings(problem: ValidationError, shape: Any, where: str) -> BadInput:
    """Make the error for a table of settings: the first fault in its message, all of them as problems."""
    faults = [str(fault) for fault in faults_of(problem.errors(include_url=False), shape, noun="key")]
    return BadInput(f"{where}: {faults[0]}", problems=faults if len(faults) > 1 else ())


def _fault(error: Any, shape: Any, noun: str, words: Mapping[str, Describe]) -> Fault:
    path_, kind, value = tuple(error["loc"]), error["type"], error.get("input")
    if kind == "extra_forbidden" and kind not in words:
        path, owners = _walk(path_[:-1], shape)
        # `also_takes`: what a type accepts beside its fields, and keeps in one of them.
        also = [name for owner in owners for name in getattr(owner, "also_takes", ())]
        known = dict.fromkeys([*(name for owner in owners for name in owner.model_fields), *also])
        name = str(path_[-1])
        if name in also:
            return Fault(".".join((*path, name)), "must be a list, an object or a text", path_)
        reason = describe_unknown(noun, name, list(known)) if known else f"unknown {noun} {name!r}"
        return Fault(".".join(path), reason, path_)
    path, _ = _walk(path_, shape)
    describe = words.get(kind)
    # pydantic puts "Value error, " before the message of a ValueError that a validator raised.
    message = describe(value, error.get("ctx") or {}) if describe else str(error["msg"]).removeprefix("Value error, ")
    return Fault(".".join(path), message, path_)


def describe_kind(value: Any) -> str:
    """Name the kind of a value as JSON and people know it."""
    # bool is asked before int: True is an int in Python.
    names = ((bool, str(value).lower()), (str, "a text"), (int, "a number"), (float, "a number"), (dict, "an object"))
    result = next((name for kind, name in names if isinstance(value, kind)), None)
    return result or (
        "null" if value is None else "a list" if isinstance(value, (list, tuple)) else type(value).__name__
    )


def _show_value(value: Any) -> str:
    if not isinstance(value, (str, int, float)):
        return describe_kind(value)
    message = repr(value)
    return message if len(message) <= SHOWN else f"{message[:SHOWN]}…"


def _must_be(what: str) -> Describe:
    return lambda value, _: f"must be {what}, not {describe_kind(value)}"


def _must_read(what: str) -> Describe:
    return lambda value, _: f"must be {what}, not {_show_value(value)}"


WORDS: dict[str, Describe] = {
    "missing": lambda *_: "is missing",
    "string_type": _must_be("a text"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "iterable_type"), _must_be("a list")),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), _must_be("an object")),
    **dict.fromkeys(
        ("float_type", "int_type", "decimal_type", "float_parsing", "decimal_parsing"), _must_read("a number")
    ),
    **dict.fromkeys(("int_parsing", "int_from_float"), _must_read("a whole number")),
    **dict.fromkeys(("bool_type", "bool_parsing"), _must_read("true or false")),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "datetime_object_invalid"),
        _must_read("a time such as 2026-01-31T12:00:00Z"),
    ),
    "finite_number": lambda value, _: f"must be a finite number, not {value}",
    "greater_than_equal": lambda value, limits: f"is {_show_value(value)}; at least {limits['ge']:g} is allowed",
    "less_than_equal": lambda value, limits: f"is {_show_value(value)}; at most {limits['le']:g} is allowed",
    "greater_than": lambda value, limits: f"is {_show_value(value)}; it must be more than {limits['gt']:g}",
    "less_than": lambda value, limits: f"is {_show_value(value)}; it must be less than {limits['lt']:g}",
    "string_too_short": lambda value, limits: f"is shorter than {limits.get('min_length', 1)}" if value else "is empty",
    "string_too_long": lambda value, limits: f"has {len(value)} characters; at most {limits['max_length']} are allowed",
    **dict.fromkeys(
        ("enum", "literal_error"), lambda value, may: f"is {_show_value(value)}; allowed is {may['expected']}"
    ),
    "string_pattern_mismatch": lambda value, must: f"is {_show_value(value)}; it must match {must['pattern']}",
    "union_tag_invalid": lambda _, may: f"type is {may['tag']!r}; allowed is {may['expected_tags']}",
}


def _walk(path_: Sequence[Any], shape: Any) -> tuple[list[str], list[Any]]:
    """The fields on the way to a place, without the tags of unions between them, and the models that are there."""
    at, path = list(_parts(shape)), []
    for part in path_:
        inner = [result for owner in at for result in _list_inside(owner, part)]
        # Without a known type every part of the path is kept.
        if inner or not at:
            path.append(str(part))
            at = [result for one in inner for result in _parts(one)]
        else:
            # pydantic puts the tag of the chosen union member into the path; a person wrote no such key.
            at = [
                one for one in at if _is_model(one) and getattr(one.model_fields.get("type"), "default", None) == part
            ] or at
    return path, [owner for owner in at if _is_model(owner)]


def _parts(shape: Any) -> Iterator[Any]:
    """The models and containers a type may be, without what is written around them."""
    origin = get_origin(shape)
    if origin is Annotated:
        yield from _parts(get_args(shape)[0])
    elif origin in (Union, UnionType):
        for one in get_args(shape):
            yield from _parts(one)
    elif shape is not None and shape is not type(None) and not isinstance(shape, TypeVar):
        yield shape


def _list_inside(owner: Any, part: Any) -> list[Any]:
    if isinstance(part, int):
        return list(get_args(owner)[:1]) if get_origin(owner) in (list, tuple, Sequence) else []
    if _is_model(owner):
        return [owner.model_fields[part].annotation] if part in owner.model_fields else []
    return list(get_args(owner)[1:]) if get_origin(owner) is dict else []


def _is_model(owner: Any) -> bool:
    return isinstance(owner, type) and issubclass(owner, BaseModel)


class Rejected(BaseModel, frozen=True, extra="forbid"):
    """Where the record stood, which field was wrong, and why; `record` is what arrived, where it is small.

    A note says what of a file was not read beside what was: nothing was refused.
    """

    where: str
    reason: str
    field: str | None = None
    record: str | None = None
    is_note: bool = False

    @classmethod
    def of(cls, problem: ValidationError, where: str, shape: Any = None, record: str | None = None) -> Self:
        """The first thing that is wrong with a record; `shape` is the type it should have been."""
        first = first_fault(problem, shape)
        return cls(where=where, field=first.field or None, reason=first.reason, record=record)

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.field, self.reason) if part)
