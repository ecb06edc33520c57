"""Function schemas for tasks that expect calls and offer no tools, derived from the calls that the dataset expects.

A model that is offered no tools cannot call any, so such a task would measure nothing. The derived schemas have the names,
arguments and types of the expected calls. They are marked in plan, run and report, because a real schema with its
descriptions is another question. `PackedCases` is a list of cases that takes little memory.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from evergold.model.case import Case
from evergold.model.tool_calls import ArgumentMatch, ExpectedTool

# zlib's fastest level.
FAST = 1


class PackedCases(Sequence[Case]):
    """A sequence of cases; a conversation of twenty steps takes a hundredth of what its objects take."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._rows = [zlib.compress(case.model_dump_json().encode(), FAST) for case in cases]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Case]:
        return map(_read, self._rows)

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> "PackedCases": ...
    def __getitem__(self, index: int | slice) -> "Case | PackedCases":
        if isinstance(index, int):
            return _read(self._rows[index])
        # A slice shares the compressed rows instead of reading and packing them again.
        chosen = PackedCases(())
        chosen._rows = self._rows[index]
        return chosen


def _read(row: bytes) -> Case:
    return Case.model_validate_json(zlib.decompress(row))


@dataclass
class _Tool:
    """What the expectations of one tool show: the types of each argument, and how often each was there."""

    types: dict[str, set[str]] = field(default_factory=dict)
    items: dict[str, set[str]] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    def add(self, expected: ExpectedTool) -> None:
        self.calls += 1
        for name in {*expected.args, *(path for path in expected.match if "." not in path)}:
            rule = expected.match.get(name)
            values = expected.args.get(name)
            for value in values if rule is ArgumentMatch.ANY_OF and isinstance(values, list) else [values]:
                if rule not in (ArgumentMatch.ANY, ArgumentMatch.REGEX) or value is not None:
                    self.types.setdefault(name, set()).add("string" if rule is ArgumentMatch.REGEX else _type(value))
                if isinstance(value, list):
                    self.items.setdefault(name, set()).update(map(_type, value))
            # An argument of unknown type is still a property: the model must know that it exists.
            self.types.setdefault(name, set())
            self.given[name] = self.given.get(name, 0) + (name not in expected.optional)

    def schema(self, name: str) -> dict[str, Any]:
        properties = {argument: self._property(argument) for argument in sorted(self.types)}
        required = [argument for argument in properties if self.given[argument] == self.calls]
        parameters = {"type": "object", "properties": properties, "required": required}
        return {"type": "function", "function": {"name": name, "parameters": parameters}}

    def _property(self, argument: str) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        if (kind := _find_only(self.types[argument])) is not None:
            properties["type"] = kind
        if kind == "array":
            item = _find_only(self.items.get(argument, set()))
            properties["items"] = {"type": item} if item is not None else {}
        return properties


def with_derived_tools(cases: Sequence[Case]) -> tuple[Sequence[Case], int]:
    """The cases, those that need tools and offer none with derived ones; and how many those are."""
    lacking: set[str] = set()

    # A generator: cases are read one by one from their packed form, and the second pass below only those that lack
    # tools.
    def expectations() -> Iterator[ExpectedTool]:
        for case in cases:
            calls = None if case.tools else case.expected_calls()
            if calls is not None:
                lacking.add(case.id)
                yield from calls

    schemas = derived_schemas(expectations())
    if not schemas:
        return cases, 0
    offered = (case.model_copy(update={"tools": schemas}) if case.id in lacking else case for case in cases)
    return PackedCases(offered) if isinstance(cases, PackedCases) else list(offered), len(lacking)


def derived_schemas(expected: Iterable[ExpectedTool]) -> tuple[dict[str, Any], ...]:
    """One function schema for each tool that is expected anywhere, by name."""
    tools: dict[str, _Tool] = {}
    for call in expected:
        tools.setdefault(call.name, _Tool()).add(call)
    return tuple(tools[name].schema(name) for name in sorted(tools))


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    # `type`, not `isinstance`: bool was answered above, and subclasses do not come out of JSON.
    known = {int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}
    return known.get(type(value), "string")


def _find_only(types: set[str]) -> str | None:
    """The one type that holds them all; None where there is none."""
    plain = types - {"null"}
    if plain == {"integer", "number"}:
        return "number"
    return next(iter(plain)) if len(plain) == 1 else None
