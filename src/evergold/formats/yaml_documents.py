"""YAML that people write, read safely: every value keeps its line, and no document can grow in memory.

PyYAML's safe loader builds no objects, but it still follows aliases (a "YAML bomb" is a kilobyte that expands to
gigabytes), turns `2026-01-02` into a date that JSON cannot hold, keeps the last of two equal keys without a word, and
recurses as deep as the text asks. `read` refuses all four with the line, and gives plain JSON values.

`items` gives a long list item by item. A tree of a whole document takes forty times the size of its text; here one is made of
each item alone, checked like a whole document, and turned into values. As much is in memory as one item takes, and what
anchors name.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import yaml
from yaml.composer import Composer

from evergold.storage import open_read

MAX_BYTES = 16 * 1024 * 1024  # of a document that is read whole, which takes some forty times as much memory
MAX_NODES = 1_000_000
MAX_DEPTH = 60
_PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "seq", "map", "merge")}
_Base: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Loader(_Base, Composer):  # type: ignore[misc, valid-type]
    """Safe loading with dates left as the text they were, of values that are neither too deep nor too many.

    Nodes are made here and not by the parser in C, which knows no limits.
    """

    # YAML 1.1 reads unquoted dates as dates; JSON has none.
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, pattern) for tag, pattern in rules if not tag.endswith(":timestamp")]
        for first, rules in _Base.yaml_implicit_resolvers.items()
    }

    def __init__(self, stream: str | bytes | BinaryIO) -> None:
        _Base.__init__(self, stream)
        Composer.__init__(self)
        self._depth = self._left = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        event = self.peek_event()
        line = event.start_mark.line + 1
        # The allowance is for a value that is asked for: a list that is read item by item may be as long as it likes.
        self._left = self._left - 1 if self._depth else MAX_NODES
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unreadable(line, f"values are nested more than {MAX_DEPTH} levels deep")
        if self._left < 0:
            raise Unreadable(line, f"over {MAX_NODES:,} values; split it")
        if not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(event.anchor, None)  # a name may be given again
        elif event.anchor not in self.anchors:
            raise Unreadable(line, f"not valid YAML: the alias *{event.anchor} names nothing")
        node = Composer.compose_node(self, parent, index)
        self._depth -= 1
        assert node is not None
        return node

    def next_value(self) -> tuple[yaml.Node, Any]:
        """The next node, once it is known that JSON can hold it, and its value."""
        node = self.compose_node(None, None)
        check_nodes(node)
        return node, self.construct_document(node)


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a document, at a line counted from 1 (0 when the whole file is meant)."""

    line: int
    message: str

    def describe_at(self, path: Path) -> str:
        return f"{path}:{self.line}" if self.line else str(path)


class Unreadable(Exception):
    """The document cannot be turned into values at all; carries the one problem that stopped it."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(line, message)


@dataclass(frozen=True)
class YamlDocument:
    """The values of a document, and the way back from a value's path to its line."""

    value: Any
    root: yaml.Node | None

    def line(self, path: tuple[int | str, ...]) -> int:
        """The line of the value at `path`, or of the nearest enclosing value that exists."""
        node = self.root
        if node is None:
            return 0
        line = node.start_mark.line
        for step in path:
            child = _step(node, step)
            if child is None:
                break
            line, node = child
        return int(line) + 1


def read(text: str | bytes) -> YamlDocument:
    """Parse one document. Raises `Unreadable` with the line and what to change."""
    _check_bytes(len(text))
    with _open_loader(text) as loader:
        if not _begins_document(loader):
            return YamlDocument(None, None)
        node, value = loader.next_value()
        _end_document(loader)
        return YamlDocument(value, node)


def bytes_of(path: Path) -> bytes:
    """A file that is to be read whole; one that is too large is refused unread."""
    with open_read(path) as handle:
        # One byte more than is allowed tells that it is too large, without reading the rest.
        content = handle.read(MAX_BYTES + 1)
    _check_bytes(max(len(content), path.stat().st_size))
    return content


def _check_bytes(size: int) -> None:
    if size > MAX_BYTES:
        raise Unreadable(0, f"the file has {size:,} bytes; at most {MAX_BYTES:,} are read: split it")


@contextmanager
def _open_loader(text: str | bytes | BinaryIO) -> Iterator[Loader]:
    """Begin to read; what the parser complains of is raised as `Unreadable`."""
    try:
        loader = Loader(text)
        try:
            yield loader
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(mark.line + 1 if mark else 0, f"not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(0, f"not valid YAML: {' '.join(str(error).split())}") from None


def _begins_document(loader: Loader) -> bool:
    loader.get_event()  # the stream begins
    return isinstance(loader.get_event(), yaml.DocumentStartEvent)


def _end_document(loader: Loader) -> None:
    loader.get_event()  # the document ends
    if not isinstance(event := loader.get_event(), yaml.StreamEndEvent):
        raise Unreadable(event.start_mark.line + 1, "more than one document; only one is read")


def check_nodes(root: yaml.Node) -> None:
    """Refuse what JSON cannot hold and what aliases would blow up, before any value is built."""
    # By id of the node: an alias is the same node, so it is measured once however often it is used.
    measured: dict[int, tuple[int, int]] = {}
    open_nodes: set[int] = set()

    def measure(node: yaml.Node) -> tuple[int, int]:
        known = measured.get(id(node))
        if known is not None:
            return known
        line = node.start_mark.line + 1
        if id(node) in open_nodes:
            raise Unreadable(line, "an alias (*name) points back into the value that contains it")
        if node.tag not in _PLAIN_TAGS:
            raise Unreadable(line, f"the tag {node.tag} has no JSON value; use text, numbers, lists and mappings")
        open_nodes.add(id(node))
        size, height = 1, 0
        for child in _children(node):
            below = measure(child)
            # Python integers do not overflow: a bomb of 10^9 values is just a large number here.
            size, height = size + below[0], max(height, below[1])
        open_nodes.discard(id(node))
        if size > MAX_NODES or height >= MAX_DEPTH:
            raise Unreadable(line, f"aliases expand to over {MAX_NODES:,} values or {MAX_DEPTH} levels; write them out")
        measured[id(node)] = size, height + 1
        return measured[id(node)]

    measure(root)


def _children(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        if node.tag.endswith(":float") and node.value.lower().lstrip("+-") in {".inf", ".nan"}:
            raise Unreadable(node.start_mark.line + 1, f"{node.value} is not a number JSON can hold; put it in quotes")
        return []
    seen: dict[str, int] = {}
    for key, _value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or not key.tag.endswith((":str", ":merge")):
            shown = key.value if isinstance(key, yaml.ScalarNode) else "a collection"
            raise Unreadable(line, f"the key {shown} is not text; put it in quotes")
        # Several merges in one mapping are allowed; other keys twice are a mistake that YAML would hide.
        if key.value in seen and key.value != "<<":
            raise Unreadable(line, f"the key {key.value!r} is already set on line {seen[key.value]}")
        seen[key.value] = line
    return [value for _key, value in node.value]


def _step(node: yaml.Node, step: int | str) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        child = node.value[step]
        return child.start_mark.line, child
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark.line, value
    return None


def items(stream: BinaryIO, key: str) -> Iterator[Any]:
    """The items of the list under `key` at the top of the document. Raises `Unreadable` where something cannot be read."""
    with _open_loader(stream) as loader:
        any_item = False
        if _begins_document(loader) and isinstance(loader.get_event(), yaml.MappingStartEvent):
            while not loader.check_event(yaml.MappingEndEvent):
                name = loader.compose_node(None, None)
                if not isinstance(name, yaml.ScalarNode) or name.value != key:
                    loader.compose_node(None, None)
                elif any_item:
                    raise Unreadable(name.start_mark.line + 1, f"the key {key!r} is there twice")
                elif isinstance(loader.get_event(), yaml.SequenceStartEvent):
                    any_item = True
                    while not loader.check_event(yaml.SequenceEndEvent):
                        yield loader.next_value()[1]
                    loader.get_event()
                else:
                    break
        if not any_item:
            raise Unreadable(0, f"expected a list under {key!r}")
        loader.get_event()
        _end_document(loader)
