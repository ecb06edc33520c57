"""Tags of plug-ins; the built-in ones (message type, model, tool, failed check) are made by SQL in `store/curation_sql.py`."""

from functools import partial

from sqlalchemy import Connection

from evergold import plugins
from evergold.curate.guarded import Called, guarded
from evergold.model.policy import TAG_KINDS, Policy
from evergold.model.trace import Trace
from evergold.seams import Tagger
from evergold.store.curation_tags import changed_entries, put_tags
from evergold.store.traces import get_trace


def put_plugin_tags(connection: Connection, policy: Policy) -> None:
    """Give the entries that changed the tags of the plug-ins that the policy names."""
    names = [name for name in policy.tags if name not in TAG_KINDS]
    taggers: dict[str, Tagger] = {name: plugins.load("taggers", name) for name in names}
    if not taggers:
        return
    for entry, trace_id in changed_entries(connection):
        trace = get_trace(connection, trace_id)
        tags: set[str] = set()
        for name, tagger in taggers.items():
            called = Called(f"tagger {name}", tagger)
            tags |= guarded(connection, called, partial(_tags_of, tagger, trace), set())
        put_tags(connection, entry, tags)


def _tags_of(tagger: Tagger, trace: Trace) -> set[str]:
    """Collect all of its tags: a tagger may fail in the middle of them."""
    return set(tagger.tags(trace))
