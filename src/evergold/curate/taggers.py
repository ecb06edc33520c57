"""Automatic tags: what an entry can be found by without anybody having labelled it.

`model:…`, `tool:…` and `failed:…` carry a prefix, so that a tool called "audio" is not mistaken for the message type
"audio"; the message type itself stands bare, because that is how people name it.
"""

from collections.abc import Iterable, Iterator, Sequence

from evergold import plugins
from evergold.curate.classify import Tally
from evergold.model.policy import TAG_KINDS, Policy
from evergold.model.trace import Score, Trace
from evergold.seams import Tagger

TOOL_KIND = "tool"


def automatic_tags(trace: Trace, scores: Sequence[Score], policy: Policy) -> tuple[str, ...]:
    """The tags the policy asks for, sorted, without repetition."""
    tags: set[str] = set(trace.tags)
    for kind in policy.tags:
        tags.update(_tags(kind, trace, scores, policy))
    return tuple(sorted(tag for tag in tags if tag))


def _tags(kind: str, trace: Trace, scores: Sequence[Score], policy: Policy) -> Iterable[str]:
    if kind == "message_type":
        return _text(trace, "message_type", "")
    if kind == "model":
        return _text(trace, "model", "model:")
    if kind == "tool":
        return {f"tool:{span.name}" for span in trace.spans if span.kind == TOOL_KIND and span.name}
    if kind == "failed_check":
        low, tally = policy.thresholds.failure_below, Tally.of(scores, policy)
        return {f"failed:{score.name}" for score in (*tally.app, *tally.checks) if score.value < low}
    tagger: Tagger = plugins.load("taggers", kind)
    return tagger.tags(trace.model_copy(update={"scores": tuple(scores)}))


def _text(trace: Trace, key: str, prefix: str) -> Iterator[str]:
    value = trace.metadata.get(key)
    if isinstance(value, str) and value:
        yield prefix + value


def is_built_in(kind: str) -> bool:
    """Whether SQL can make the tags by itself; a plug-in's need its Python."""
    return kind in TAG_KINDS
