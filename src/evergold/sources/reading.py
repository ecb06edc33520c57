"""Which of the conventions' names a span has, worked out once for each set of names.

The tables of `conventions` hold over a hundred names, a span has a dozen, and an app sends thousands of spans with the same
dozen. So the tables are narrowed to the names that are there, and the narrowed ones are kept: reading a span then asks only
for what it says. A name that is not there answers no question, so leaving it out changes no answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from evergold.sources.conventions import (
    COST,
    DOCUMENT_KEYS,
    JSON_INPUT,
    JSON_OUTPUT,
    KIND,
    LATE_OUTPUT,
    LISTED,
    METADATA,
    METADATA_PREFIXES,
    MODEL,
    PROVIDER,
    QUERY,
    SESSION,
    TAGS,
    TEXT_OUTPUT,
    TOKENS_IN,
    TOKENS_OUT,
    TOOL,
    USAGE_OBJECTS,
    USER,
)
from evergold.sources.messages import INPUT, OUTPUT
from evergold.sources.scores import ANNOTATED
from evergold.sources.spans import Attributes

Names = tuple[str, ...]

STATED_INPUT = (*JSON_INPUT, *QUERY)
VALUES = ("input.value", "output.value")
SELDOM = DOCUMENT_KEYS.union(
    USAGE_OBJECTS,
    COST,
    USER,
    TAGS,
    (
        "langfuse.observation.level",
        "langfuse.observation.cost_details",
        "langfuse.trace.name",
        "langfuse.trace.input",
        "langfuse.trace.output",
    ),
    ("gen_ai.retrieval.documents",),
)
MOST = 256  # sets of names that are remembered
LONGEST = 4096  # characters of the names of a set that is remembered


@dataclass(frozen=True, slots=True)
class Reading:
    """Where to look in a span with certain names: each field is a table of `conventions`, narrowed to those.

    Where the first name that is there decides, it is that name or None. `listed` are the prefixes of flattened message
    lists and `sources` the attributes that may be input or output to the letter, each for input and output. `seldom`,
    `annotated`: whether there is anything of what most spans do not say.
    """

    kind: Names
    model: Names
    provider: Names
    tokens_in: Names
    tokens_out: Names
    session: Names
    tool: Names
    stated_input: str | None
    text_output: Names
    json_output: str | None
    late_output: str | None
    metadata: Names
    prefixed: Names
    listed: tuple[str | None, str | None]
    sources: tuple[Names, Names]
    seldom: bool
    annotated: bool


_known: dict[Names, Reading] = {}


def reading_of(attributes: Attributes) -> Reading:
    """How to read a span with these attributes."""
    names = tuple(attributes)
    known = _known.get(names)
    if known is None:
        known = _reading(names)
        if sum(map(len, names)) <= LONGEST:
            if len(_known) >= MOST:
                _known.clear()
            _known[names] = known
    return known


def _reading(names: Names) -> Reading:
    there = frozenset(names)

    def among(table: Iterable[str]) -> Names:
        return tuple(name for name in table if name in there)

    listed = _listed(there, INPUT), _listed(there, OUTPUT)
    answers = (*TEXT_OUTPUT, *JSON_OUTPUT, *LATE_OUTPUT)
    return Reading(
        among(KIND),
        among(MODEL),
        among(PROVIDER),
        among(TOKENS_IN),
        among(TOKENS_OUT),
        among(SESSION),
        among(TOOL),
        next(iter(among(STATED_INPUT)), None),
        among(TEXT_OUTPUT),
        next(iter(among(JSON_OUTPUT)), None),
        next(iter(among(LATE_OUTPUT)), None),
        among(METADATA),
        tuple(name for name in names if name.startswith(METADATA_PREFIXES)),
        listed,
        (
            _below(names, listed[INPUT]) if listed[INPUT] else among((*STATED_INPUT, VALUES[INPUT])),
            _below(names, listed[OUTPUT]) if listed[OUTPUT] else among((*answers, VALUES[OUTPUT])),
        ),
        not SELDOM.isdisjoint(there),
        not ANNOTATED.isdisjoint(there),
    )


def _listed(there: frozenset[str], side: int) -> str | None:
    return next((name for name, leaves in LISTED[side].items() if not leaves.isdisjoint(there)), None)


def _below(names: Names, prefix: str | None) -> Names:
    return tuple(name for name in names if name.startswith(f"{prefix}."))
