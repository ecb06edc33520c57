"""Narrow the conventions' tables to the names that a span has, once for each set of names.

The tables of `conventions` hold over a hundred names, a span has a dozen, and an app sends thousands of spans with the same
dozen. So the tables are narrowed to the names that are there, and the narrowed ones are kept: reading a span then asks only
for what it says. A name that is not there answers no question, so leaving it out changes no answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from evergold.sources.conventions.messages import numbered
from evergold.sources.conventions.names import (
    COST,
    COST_PARTS,
    DOCUMENTS,
    INSTRUCTIONS,
    JSON_INPUT,
    JSON_OUTPUT,
    KIND,
    LATE_OUTPUT,
    LISTED_INPUT,
    LISTED_OUTPUT,
    MESSAGE_TYPE,
    METADATA,
    METADATA_PREFIXES,
    MODEL,
    OWN_NAME,
    PROVIDER,
    QUERY,
    SESSION,
    TAGS,
    TEXT_FACTS,
    TEXT_OUTPUT,
    TOKENS_ALL,
    TOKENS_IN,
    TOKENS_OUT,
    TOOL,
    USAGE_OBJECTS,
)
from evergold.sources.conventions.scores import ANNOTATED
from evergold.sources.spans import Attributes

Names = tuple[str, ...]

STATED_INPUT = (*JSON_INPUT, *QUERY)
SELDOM = frozenset(
    (
        *(*USAGE_OBJECTS, *COST, *COST_PARTS, *TOKENS_ALL, *TAGS, *OWN_NAME),
        *chain.from_iterable(TEXT_FACTS.values()),
        "langfuse.trace.name",
        "langfuse.observation.level",
        "langfuse.observation.cost_details",
        "langfuse.trace.input",
        "langfuse.trace.output",
        "gen_ai.retrieval.documents",
        *MESSAGE_TYPE,
    )
)
MOST = 256  # sets of names that are remembered
LONGEST = 4096  # characters of the names of a set that is remembered


@dataclass(frozen=True, slots=True)
class AttributePlan:
    """Where to look in a span with certain names: each field is a table of `conventions`, narrowed to those.

    Of the names of a field the first that says something decides. `listed` are the prefixes of flattened message
    lists, for input and output. `instructions` are an input where nothing else is. `seldom`, `annotated`: whether there
    is anything of what most spans do not say.
    """

    kind: Names
    model: Names
    provider: Names
    tokens_in: Names
    tokens_out: Names
    session: Names
    tool: Names
    stated_input: Names
    instructions: Names
    text_output: Names
    json_output: Names
    late_output: Names
    metadata: Names
    prefixed: Names
    listed: tuple[Names, Names]
    seldom: bool
    annotated: bool


_known: dict[Names, AttributePlan] = {}


def plan_for(attributes: Attributes) -> AttributePlan:
    """How to read a span with these attributes."""
    # The order is part of the key, which spares sorting: an app sends its names in one order.
    names = tuple(attributes)
    known = _known.get(names)
    if known is None:
        known = _plan(names)
        if sum(map(len, names)) <= LONGEST:
            # Generated attribute names would grow the table for ever; starting over is cheap for those in use.
            if len(_known) >= MOST:
                _known.clear()
            _known[names] = known
    return known


def _plan(names: Names) -> AttributePlan:
    there = frozenset(names)

    def among(table: Iterable[str]) -> Names:
        return tuple(name for name in table if name in there)

    def listing(table: Iterable[str]) -> Names:
        return tuple(prefix for prefix in table if numbered(prefix, names))

    listed = listing(LISTED_INPUT), listing(LISTED_OUTPUT)
    return AttributePlan(
        among(KIND),
        among(MODEL),
        among(PROVIDER),
        among(TOKENS_IN),
        among(TOKENS_OUT),
        among(SESSION),
        among(TOOL),
        among(STATED_INPUT),
        among(INSTRUCTIONS),
        among(TEXT_OUTPUT),
        among(JSON_OUTPUT),
        among(LATE_OUTPUT),
        among(METADATA),
        tuple(name for name in names if name.startswith(METADATA_PREFIXES)),
        listed,
        not SELDOM.isdisjoint(there) or numbered(DOCUMENTS, names),
        bool(listing(ANNOTATED)),
    )
