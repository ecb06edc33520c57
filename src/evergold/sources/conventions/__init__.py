"""Understand what a span says, in whichever convention it says it. `content_of` (`read_span.py`) is what intake calls.

- `names`: the names each convention gives to a thing, one table per question, and which of them a span has (`plan_for`); a new
  convention is a few lines there.
- `read_span`, `messages`, `scores`: what the named attributes and events say.
"""
