"""Understand what a span says, in whichever convention it says it. `content_of` is what intake calls.

- `read_span`: the names each convention gives to a thing, one table per question; a new convention is a few lines there.
- `messages`, `scores`: the texts and the scores in what the named attributes and events hold.
"""
