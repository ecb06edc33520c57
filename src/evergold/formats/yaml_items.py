"""A long list in a YAML file, item by item: as much is in memory as one item takes, and what anchors name.

PyYAML makes a tree of the whole document first, forty times the size of its text. Here its parser gives events, and a tree
is made of each item alone, checked like a whole document, and turned into values.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

import yaml

from evergold.formats.yaml_reading import MAX_DEPTH, MAX_NODES, Loader, Unreadable, check_nodes, explained

KINDS: dict[type[yaml.Event], type[yaml.Node]] = {
    yaml.ScalarEvent: yaml.ScalarNode,
    yaml.SequenceStartEvent: yaml.SequenceNode,
    yaml.MappingStartEvent: yaml.MappingNode,
}


def items(stream: BinaryIO, key: str) -> Iterator[Any]:
    """The items of the list under `key` at the top of the document. Raises `Unreadable` where something cannot be read."""
    with explained():
        composer = _Composer(stream)
        try:
            yield from _listed(composer, key)
        finally:
            composer.loader.dispose()


def _listed(composer: "_Composer", key: str) -> Iterator[Any]:
    composer.next()  # the stream begins
    any_item = False
    event = composer.next()
    if isinstance(event, yaml.DocumentStartEvent) and isinstance(composer.next(), yaml.MappingStartEvent):
        while not isinstance(event := composer.next(), yaml.MappingEndEvent):
            name = composer.node(event)
            begin = composer.next()
            if not isinstance(name, yaml.ScalarNode) or name.value != key:
                composer.node(begin)
            elif any_item:
                raise Unreadable(name.start_mark.line + 1, f"the key {key!r} is there twice")
            elif isinstance(begin, yaml.SequenceStartEvent):
                any_item = True
                while not isinstance(event := composer.next(), yaml.SequenceEndEvent):
                    yield composer.value(event)
            else:
                break
        composer.next()  # the document ends
        if any_item and not isinstance(event := composer.next(), yaml.StreamEndEvent):
            raise Unreadable(_line(event), "more than one document; only one is read")
    if not any_item:
        raise Unreadable(0, f"expected a list under {key!r}")


class _Composer:
    """Events to nodes, and nodes to values."""

    def __init__(self, stream: BinaryIO) -> None:
        self.loader = Loader(stream)
        self._anchors: dict[str, yaml.Node] = {}
        self._left = MAX_NODES

    def next(self) -> yaml.Event:
        event: yaml.Event = self.loader.get_event()
        return event

    def value(self, event: yaml.Event) -> Any:
        node = self.node(event)
        check_nodes(node)
        return self.loader.construct_document(node)

    def node(self, event: yaml.Event) -> yaml.Node:
        # The allowance is per item: a file may be as long as it likes.
        self._left = MAX_NODES
        return self._node(event, 1)

    def _node(self, event: Any, depth: int) -> yaml.Node:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            raise Unreadable(_line(event), f"an item has over {MAX_NODES:,} values or {MAX_DEPTH} levels; split it")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise Unreadable(_line(event), f"the alias *{event.anchor} names nothing")
            return self._anchors[event.anchor]
        node = self._begun(event)
        if event.anchor:
            # Before its children are read: an alias inside the value points back to it, which `check_nodes` then
            # refuses.
            self._anchors[event.anchor] = node
        if isinstance(node, yaml.SequenceNode):
            while not isinstance(inner := self.next(), yaml.SequenceEndEvent):
                node.value.append(self._node(inner, depth + 1))
        elif isinstance(node, yaml.MappingNode):
            while not isinstance(inner := self.next(), yaml.MappingEndEvent):
                name = self._node(inner, depth + 1)
                node.value.append((name, self._node(self.next(), depth + 1)))
        return node

    def _begun(self, event: Any) -> yaml.Node:
        """The node that an event begins, still without what it holds."""
        kind = next(node for begin, node in KINDS.items() if isinstance(event, begin))
        scalar = kind is yaml.ScalarNode
        tag = event.tag or self.loader.resolve(kind, event.value if scalar else None, event.implicit)
        return kind(tag, event.value if scalar else [], event.start_mark, event.end_mark)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0
