"""Span lines that arrive in parts: which fields each part stated, when, and the parts of one span put together.

The rules are Langfuse's: for each field the event with the latest time stands, whatever the order of arrival; a null states
nothing; the start is that of the first event; metadata and tags are united. Merging is idempotent, so a batch
that is sent again changes nothing. The times are kept with the span, as one of its attributes.
"""

from collections.abc import Collection
from typing import Any

from evergold.model.trace import SpanLine

STATED = "langfuse.event.fields"  # attribute: the fields of the span by the time of the event that stated them
OWN = ("parent_id", "name", "kind", "status", "started_at", "ended_at")
SIDES = ("input", "output")
ATTRIBUTES = "attributes"

Fields = dict[str, Any]


def with_stated(line: SpanLine, moment: str, unstated: Collection[str]) -> SpanLine:
    """The line with a record of what it states: all that has a value, but for the `unstated` fields."""
    stated = sorted(name for name in _fields_of(line) if name not in unstated)
    attributes = {**line.metadata.get(ATTRIBUTES, {}), STATED: {moment: stated}}
    return line.model_copy(update={"metadata": {**line.metadata, ATTRIBUTES: attributes}})


def is_mergeable(line: SpanLine) -> bool:
    """Whether the line records what it states."""
    return STATED in _attributes(line)


def merged(first: SpanLine, later: SpanLine) -> SpanLine:
    """Put two parts of one span together; `later` arrived later, which decides where their times are equal."""
    before, after = _fields_of(first), _fields_of(later)
    old, new = _times_of(first), _times_of(later)
    fields, times = dict(before), dict(old)
    for name in after:
        # A default of the line (a kind, a status) that the event did not state never replaces what is known.
        if name not in new and name in before:
            continue
        moment = new.get(name, "")
        known = name in old
        if known and isinstance(before.get(name), dict) and isinstance(after[name], dict):
            fields[name] = _united(before[name], after[name], newer=moment >= old[name])
        elif known and name == "tags":
            fields[name] = _united_tags(before[name], after[name])
        # The earliest event states the start; every other field is that of the latest, and of the later arrival at
        # equal times.
        elif not known or (moment < old[name] if name == "started_at" else moment >= old[name]):
            fields[name] = after[name]
        if name in new:
            of_both = min if name == "started_at" else max
            times[name] = of_both(old.get(name, moment), moment)
    return _line_of(first, fields, times)


def _united(before: Fields, after: Fields, *, newer: bool) -> Fields:
    return before | after if newer else before | {key: value for key, value in after.items() if key not in before}


def _united_tags(before: Any, after: Any) -> Any:
    """Tags of both, each once; one that is no list, as a sender may write it, is replaced by the later."""
    if not isinstance(before, list) or not isinstance(after, list):
        return after
    return [*before, *(tag for number, tag in enumerate(after) if tag not in before and tag not in after[:number])]


def _fields_of(line: SpanLine) -> Fields:
    """All that a line states, by name; a side is its text and the attribute that holds it as it came."""
    attributes = dict(_attributes(line))
    attributes.pop(STATED, None)
    fields: Fields = {name: getattr(line, name) for name in OWN}
    for side in SIDES:
        carried = {name: attributes.pop(name) for name in _names_of(side) if name in attributes}
        fields[side] = (getattr(line, side), carried) if getattr(line, side) or carried else None
    fields |= {name: value for name, value in line.metadata.items() if name != ATTRIBUTES}
    fields |= attributes
    return {name: value for name, value in fields.items() if value not in (None, "")}


def _line_of(first: SpanLine, fields: Fields, times: dict[str, str]) -> SpanLine:
    attributes: Fields = {}
    values: Fields = {name: fields.pop(name) for name in OWN if name in fields}
    for side in SIDES:
        values[side], carried = fields.pop(side, (None, {}))
        attributes |= carried
    attributes |= {name: fields.pop(name) for name in list(fields) if "." in name}
    attributes[STATED] = {
        moment: sorted(name for name, at in times.items() if at == moment) for moment in sorted(set(times.values()))
    }
    known = {name: fields[name] for name in first.metadata if name in fields}  # in their order: equal rows stay equal
    metadata = known | fields | {ATTRIBUTES: attributes}
    return SpanLine(trace_id=first.trace_id, id=first.id, metadata=metadata, **values)


def _attributes(line: SpanLine) -> Fields:
    attributes = line.metadata.get(ATTRIBUTES)
    return attributes if isinstance(attributes, dict) else {}


def _times_of(line: SpanLine) -> dict[str, str]:
    stated = _attributes(line).get(STATED)
    return {name: moment for moment, names in stated.items() for name in names} if isinstance(stated, dict) else {}


def _names_of(side: str) -> tuple[str, str]:
    return f"langfuse.trace.{side}", f"langfuse.observation.{side}"
