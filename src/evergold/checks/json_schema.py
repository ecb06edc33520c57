"""The part of JSON Schema that checks need: types, properties, items, enumerations and limits. An unknown word is an error when
the check is read, so that no rule is passed over in silence."""

from collections.abc import Iterator
from typing import Any

from evergold.errors import BadInput, unknown

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (type(None),),
    "integer": (int,), "number": (int, float),
}  # fmt: skip
KNOWN = (
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "minimum", "maximum", "minLength",
    "maxLength", "minItems", "maxItems", "title", "description", "$schema", "$id", "default", "examples",
)  # fmt: skip

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
            raise BadInput(f"{where}: {unknown('JSON schema keyword', word, KNOWN)}")
    for word, (shape, wanted) in SHAPES.items():
        if word in schema and (
            not isinstance(schema[word], shape) or (isinstance(schema[word], bool) and bool not in shape)
        ):
            raise BadInput(f"{where}: {word} is {wanted}, not {schema[word]!r}")
    for name in _names(schema.get("type", [])):
        if not isinstance(name, str) or name not in TYPES:
            raise BadInput(f"{where}: {unknown('JSON schema type', str(name), tuple(TYPES))}")
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
        yield from _of_object(value, schema, path)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for number, item in enumerate(value):
            yield from violations(item, schema["items"], f"{path}[{number}]")


def _of_object(value: dict[str, Any], schema: dict[str, Any], path: str) -> Iterator[str]:
    for name in schema.get("required", []):
        if name not in value:
            yield f"{path}.{name} is missing"
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from violations(item, properties[name], f"{path}.{name}")
        elif more is False:
            yield f"{path}.{name} is not allowed"
        elif isinstance(more, dict):
            yield from violations(item, more, f"{path}.{name}")


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
