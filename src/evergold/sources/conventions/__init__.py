"""Understand what a span says, in whichever convention it says it. `content_of` (`span_fields.py`) is what intake calls.

- `names`: the names each convention gives to a thing, one table per question; a new convention is a few lines there.
- `attribute_plan`: which of those names a span has, worked out once for each set of names.
- `read_span`, `messages`, `scores`: what the named attributes and events say.
- `span_fields`: the two things stored with a span, what was understood of it and what it carried.
"""
