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

    def accounts_for(self, line: bytes, values: Values) -> bool:
        """Whether names, brackets, separators and values add up to the whole line.

        That shows that no key was given twice: of such a pair the decoder keeps only the last.
        """
        size = self.size + sum(map(len, self.leaves(values)))
        separators = self.separators
        for place in self.lists:
            elements = values[place]
            size += sum(map(len, elements))
            separators += len(elements) - 1 if elements else 0
        step = 2 if line[line.find(b'":') + 2] == _SPACE else 1
        return size + step * separators == len(line)


class FastReader:
    """Reads lines whose fields are all declared: path → whether it is a list to take apart.

    The values of a line come in the order of `paths`, UNSET where it has none. `rag` itself stands before its fields.
    """

    def __init__(self, paths: Mapping[str, bool]) -> None:
        outside = [path for path in paths if not path.startswith("rag.")]
        inside = [path for path in paths if path.startswith("rag.")]
        self.paths = (*outside, "rag", *inside)
        self._rag = len(outside)
        self._is_list = [paths.get(path, False) for path in self.paths]
        self._no_rag = (UNSET,) * len(inside)
        rag = _struct("Rag", [(path.removeprefix("rag."), paths[path]) for path in inside])
        top = _struct("Line", [(path, paths[path]) for path in outside], rag)
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(top).decode

    def read(self, line: bytes) -> Values | None:
        """None when the line surprises."""
        try:
            top = astuple(self._decode(line))
        except (msgspec.DecodeError, RecursionError):
            return None
        rag = top[-1]
        return top + (self._no_rag if rag is UNSET else astuple(rag))

    def shape(self, absent: bytes) -> Shape:
        """What all lines with these fields have in common; `absent` has a 1 for each path that a line lacks."""
        present = [place for place, gone in enumerate(absent) if not gone]
        fields = [place for place in present if place != self._rag]
        leaves = tuple(place for place in fields if not self._is_list[place])
        lists = tuple(place for place in fields if self._is_list[place])
        size = len("{}") + sum(len(self.paths[place].removeprefix("rag.")) + len('""') for place in fields)
        size += len("[]") * len(lists)
        separators = 2 * len(fields) - 1
        if self._rag in present:
            size += len('"rag"{}')
            separators += 2 - (present[-1] > self._rag)
        pick = itemgetter(*leaves) if len(leaves) > 1 else lambda values: [values[place] for place in leaves]
        paths = tuple(None if gone else path for path, gone in zip(self.paths, absent, strict=True))
        return Shape(paths, pick, lists, size, separators)


def absent_fields(values: Values) -> bytes:
    """A 1 for each value that is not there."""
    return bytes(map(is_, values, repeat(UNSET)))


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
