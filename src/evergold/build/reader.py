"""A line of JSON → the bytes of its fields, without decoding them.

Values are never decoded and encoded again. msgspec checks that the line is JSON and hands every field over as the bytes
it was written in. So a number like `1E400` or `0.10`, a date-like string, a 39-digit integer or a repeated key deep inside
`metadata` arrives as it left, and there is less work to do.

Two readers give the same answer. The fast one knows the declared fields and takes a line in one pass. A line that
surprises it (an unknown field, a null, a wrong type, odd spacing, a repeated key) goes to the careful one.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from operator import is_, itemgetter
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import astuple

Parts: TypeAlias = dict[str, bytes]
"""Dotted path → the bytes of its value."""
Values: TypeAlias = tuple[Any, ...]

_decode_object = msgspec.json.Decoder(dict[str, Raw]).decode
_SPACE = ord(" ")


class Refusal(Exception):
    """Why one line cannot become a record: a reason to count by, and the detail for a person."""

    def __init__(self, reason: str, detail: str = "", task_id: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail
        self.task_id = task_id


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """Which declared fields a line has, and what the line must then weigh."""

    paths: tuple[str | None, ...]
    leaves: Callable[[Values], Iterable[Raw]]
    lists: tuple[int, ...]
    size: int
    separators: int


class FastReader:
    """Reads lines whose fields are all declared: path → whether it is a list to take apart."""

    def __init__(self, paths: Mapping[str, bool]) -> None:
        self.paths = sorted(paths, key=lambda path: path.startswith("rag."))
        self._is_list = [paths[path] for path in self.paths]
        self._outside = sum(not path.startswith("rag.") for path in self.paths)
        self._no_rag = (UNSET,) * (len(self.paths) - self._outside)
        names = [path.removeprefix("rag.") for path in self.paths]
        fields = list(zip(names, self._is_list, strict=True))
        top = _struct("Line", fields[: self._outside], _struct("Rag", fields[self._outside :]))
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(top).decode
        self._shapes: dict[tuple[bool, ...], Shape] = {}

    def read(self, line: bytes) -> tuple[Shape, Values] | None:
        """The values of a line in the order of `paths`, UNSET where it has none; None when the line surprises."""
        try:
            top = astuple(self._decode(line))
        except (msgspec.DecodeError, RecursionError):
            return None
        rag = top[-1]
        values = top[:-1] + (self._no_rag if rag is UNSET else astuple(rag))
        absent = (*map(is_, values, repeat(UNSET)), rag is UNSET)
        shape = self._shapes.get(absent) or self._learn(absent)
        size = shape.size + sum(map(len, shape.leaves(values)))
        separators = shape.separators
        for place in shape.lists:
            elements = values[place]
            size += sum(map(len, elements))
            separators += len(elements) - 1 if elements else 0
        step = 2 if line[line.find(b'":') + 2] == _SPACE else 1
        return (shape, values) if size + step * separators == len(line) else None

    def _learn(self, absent: tuple[bool, ...]) -> Shape:
        """What all lines with these fields have in common: names, brackets and separators.

        With the values they must add up to the whole line. That proves that no key was given twice: of such a pair
        the decoder keeps only the last.
        """
        present = [place for place in range(len(self.paths)) if not absent[place]]
        leaves = tuple(place for place in present if not self._is_list[place])
        lists = tuple(place for place in present if self._is_list[place])
        size = len("{}") + sum(len(self.paths[place].removeprefix("rag.")) + len('""') for place in present)
        size += len("[]") * len(lists)
        separators = 2 * len(present) - 1
        if not absent[-1]:
            size += len('"rag"{}')
            inside = any(place >= self._outside for place in present)
            separators += 2 - inside
        pick = itemgetter(*leaves) if len(leaves) > 1 else lambda values: [values[place] for place in leaves]
        paths = tuple(None if absent[place] else path for place, path in enumerate(self.paths))
        shape = Shape(paths, pick, lists, size, separators)
        if len(self._shapes) < 1000:
            self._shapes[absent] = shape
        return shape


def _struct(name: str, fields: Iterable[tuple[str, bool]], rag: type | None = None) -> type:
    """A msgspec type that takes exactly these keys, each as raw bytes or as a list of raw elements."""
    members: list[tuple[str, Any, Any]] = []
    renamed: dict[str, str] = {}
    for place, (key, is_list) in enumerate(fields):
        members.append((f"f{place}", (list[Raw] if is_list else Raw) | UnsetType, UNSET))
        renamed[f"f{place}"] = key
    if rag is not None:
        members.append(("rag", rag | UnsetType, UNSET))
    return msgspec.defstruct(name, members, rename=renamed, forbid_unknown_fields=True)


def read_carefully(line: bytes) -> Parts:
    """Any JSON object, one level of `rag` opened; slower, and never wrong about a repeated key."""
    try:
        members = {key: bytes(raw) for key, raw in _decode_object(line).items()}
    except msgspec.ValidationError as problem:
        raise Refusal("not an object", str(problem)) from None
    except RecursionError:
        raise Refusal("not JSON", "nested too deeply") from None
    except msgspec.DecodeError as problem:
        raise Refusal("not JSON", _why_not(line, str(problem))) from None
    parts: Parts = {}
    proven = _accounts_for(line.strip(), members)
    for key, value in members.items():
        if key != "rag":
            parts[key] = value
        elif value[:1] == b"{":
            inner = {name: bytes(raw) for name, raw in _decode_object(value).items()}
            proven = proven and _accounts_for(value, inner)
            parts |= {f"rag.{name}": data for name, data in inner.items()}
        elif value != b"null":
            raise Refusal("wrong type", f"rag must be an object, not {shown(value)}")
    if not proven:
        _require_unique_keys(line)
    return parts


def _why_not(line: bytes, message: str) -> str:
    """Python writes two things that are not JSON; whoever meets them wants to know which."""
    try:
        json.loads(line, parse_int=str)
    except (ValueError, RecursionError):
        return message
    return "NaN and Infinity are not JSON, and half of a surrogate pair is not text"


def _accounts_for(data: bytes, members: Mapping[str, bytes]) -> bool:
    """Whether these members and usual spacing are all there is in the object."""
    step = 2 if data[data.find(b'":') + 2] == _SPACE else 1
    size = sum(len(key.encode()) + 2 + len(value) for key, value in members.items())
    return len(data) == size + 2 + step * (2 * len(members) - 1)


class _Pairs(list[tuple[str, Any]]):
    """An object as the standard library saw it, repeated keys included."""


def _require_unique_keys(line: bytes) -> None:
    pairs = json.loads(line, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
    for members in (pairs, *(value for key, value in pairs if key == "rag" and isinstance(value, _Pairs))):
        names = [key for key, _ in members]
        for name in names:
            if names.count(name) > 1:
                raise Refusal("repeated key", f"{name!r} is given {names.count(name)} times in one object")


def require_utf8(line: bytes) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as problem:
        raise Refusal("not UTF-8", f"byte {problem.start + 1} of the line is 0x{line[problem.start]:02x}") from None


def shown(value: bytes, most: int = 60) -> str:
    """The beginning of a value, for a message."""
    text = value[: 4 * most].decode("utf-8", "replace")
    return text if len(text) <= most else text[:most] + "…"
