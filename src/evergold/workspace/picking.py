"""Cases that people make from traces by hand: with the right answer written in place, or to be reviewed later."""

from evergold.conversation import conversation_of
from evergold.errors import NotFound
from evergold.model.case import Answer, Case, CaseKind, Conversation, EntryType, Provenance, ReviewState
from evergold.model.case_actions import Picked, Picking
from evergold.model.trace import Trace
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.case.writes import Author, put_cases
from evergold.store.trace.traces import Sessions, traces_with_spans, with_tags

ACTION = "picked"


class Picker:
    """Reads the conversation of traces and makes cases of them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def conversation(self, trace_id: str) -> Conversation:
        """Read everything a trace says about its exchange with the model."""
        with self._store.db.read() as connection:
            trace = traces_with_spans(connection, [trace_id]).get(trace_id)
            if trace is None:
                raise NotFound(f"no trace {trace_id!r} in this workspace")
            sessions = Sessions(connection)
            return conversation_of(trace, sessions.before, sessions.called_before)

    def make(self, picking: Picking, who: str) -> list[Picked]:
        """Make a case of each trace; a trace that is not here, or already in the dataset, is named with the reason."""
        with self._store.db.read() as connection:
            traces = traces_with_spans(connection, picking.trace_ids)
            known = {trace.id: trace for trace in with_tags(connection, list(traces.values()))}
            sessions = Sessions(connection)
            drafts = {
                trace_id: _case(trace, conversation_of(trace, sessions.before, sessions.called_before), picking)
                for trace_id, trace in known.items()
            }
        # Stored one by one: a trace that is already a case does not keep the others from becoming one.
        return [self._put(trace_id, drafts.get(trace_id), picking.dataset, who) for trace_id in picking.trace_ids]

    def _put(self, trace_id: str, case: Case | None, dataset: str, who: str) -> Picked:
        if case is None:
            return Picked(trace_id=trace_id, problem=f"no trace {trace_id!r} in this workspace")
        if self._has(dataset, case.id):
            return Picked(
                trace_id=trace_id, dataset=dataset, id=case.id, problem=f"already in {dataset!r}; edit it there"
            )
        author = Author(who=who, action=ACTION, why="made from a trace by hand")
        self._store.db.write(lambda connection: put_cases(connection, [case], author))
        return Picked(trace_id=trace_id, dataset=dataset, id=case.id)

    def _has(self, dataset: str, case_id: str) -> bool:
        with self._store.db.read() as connection:
            try:
                get_case(connection, dataset, case_id)
            except NotFound:
                return False
        return True


def _case(trace: Trace, conversation: Conversation, picking: Picking) -> Case:
    """A written answer is a person's word: the case is validated. Without one it waits for review."""
    answer = (picking.answer or "").strip()
    # An answer that differs from the recorded one says that the recorded one was wrong.
    wrong = bool(answer) and answer != (trace.output or "").strip()
    metadata = {**conversation.parameters, **({"note": picking.note} if picking.note else {})}
    return Case(
        id=trace.id,
        dataset=picking.dataset,
        kind=CaseKind.CHAT,
        entry_type=EntryType.FAILURE if wrong else EntryType.GOLDEN,
        input=trace.input,
        output=trace.output,
        approved=Answer(text=answer) if answer else None,
        messages=conversation.messages,
        turn=conversation.turn,
        tools=conversation.tools,
        contexts=conversation.contexts,
        tags=tuple(sorted({*trace.tags, *picking.tags})),
        metadata=metadata,
        provenance=Provenance(source="picked", trace_id=trace.id, session_id=trace.session_id, user_id=trace.user_id),
        review=ReviewState.VALIDATED if answer else ReviewState.UNVALIDATED,
    )
