"""What people do to cases in a list, each with the way back: write, tag, dismiss, move, merge, or make them of traces."""

from uuid import uuid4

from sqlalchemy import Connection

from evergold.conversation import conversation_of
from evergold.errors import BadInput, NotFound
from evergold.model.case import (
    Answer,
    Candidates,
    Case,
    CaseKind,
    CaseStatus,
    Conversation,
    EntryType,
    Provenance,
    ReviewState,
    TierEvidence,
)
from evergold.model.case_actions import CaseChange, CaseChanged, NewCase, Picked, Picking, ReplacedAnswer
from evergold.model.review import CaseKey
from evergold.model.trace import Trace
from evergold.store import Store
from evergold.store.case.cases import CaseFilter, find_case, get_case, page_of_cases
from evergold.store.case.writes import Author, put_cases, revise_case
from evergold.store.trace.traces import Sessions, traces_with_spans, with_tags

MOVABLE = frozenset({CaseStatus.ACTIVE, CaseStatus.DISMISSED, CaseStatus.WITHDRAWN})


class CaseActions:
    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, wanted: NewCase, who: str) -> Case:
        """Store a case that somebody wrote; its expected answer is the reference."""
        case = Case(
            id=f"written-{uuid4().hex[:12]}",
            entry_type=EntryType.GOLDEN,
            provenance=Provenance(source="manual"),
            evidence=TierEvidence.PERSON,
            **wanted.model_dump(),
        )
        self._store.write(put_cases, [case], Author(who=who, action="written"))
        return self._store.read(get_case, case.dataset, case.id)

    def change(self, wanted: CaseChange, who: str) -> CaseChanged:
        """Change many cases in one transaction; what cannot be changed is named, and the rest is done."""
        if wanted.status is CaseStatus.ERASED:
            raise BadInput("a case is not erased here; `evergold traces erase` erases what belongs to a user")
        if wanted.repeats_of is not None:
            return self._store.write(_merge, wanted, who)
        return self._store.write(_change_all, wanted, who)

    def conversation(self, trace_id: str) -> Conversation:
        """Read everything a trace says about its exchange with the model."""
        with self._store.db.read() as connection:
            trace = traces_with_spans(connection, [trace_id]).get(trace_id)
            if trace is None:
                raise NotFound(f"no trace {trace_id!r} in this workspace")
            sessions = Sessions(connection)
            return conversation_of(trace, sessions.list_before, sessions.called_before)

    def pick(self, picking: Picking, who: str) -> list[Picked]:
        """Make a case of each trace; an answer goes to the case that is there already. What cannot be done is named."""
        with self._store.db.read() as connection:
            traces = traces_with_spans(connection, picking.trace_ids)
            known = {trace.id: trace for trace in with_tags(connection, list(traces.values()))}
            sessions = Sessions(connection)
            drafts = {
                trace_id: _case(trace, conversation_of(trace, sessions.list_before, sessions.called_before), picking)
                for trace_id, trace in known.items()
            }
        # Stored one by one: a trace that is already a case does not keep the others from becoming one.
        return [self._put(trace_id, drafts.get(trace_id), picking.dataset, who) for trace_id in picking.trace_ids]

    def _put(self, trace_id: str, case: Case | None, dataset: str, who: str) -> Picked:
        if case is None:
            return Picked(trace_id=trace_id, problem=f"no trace {trace_id!r} in this workspace")
        undo = None
        wanted = CaseFilter(dataset=dataset, trace_id=case.provenance.trace_id, candidates=Candidates.INCLUDE)
        with self._store.db.read() as connection:
            same = [
                find_case(connection, dataset, case.id),
                *page_of_cases(connection, wanted, limit=1, before=None)[0],
            ]
        # The case that the dataset has already of this trace: of its id, or made of it.
        there = next(filter(None, same), None)
        author = Author(who=who, action=ACTION, why="made from a trace by hand")
        if there is None:
            self._store.write(put_cases, [case], author)
        elif case.approved is None:
            problem = f"already in {dataset!r}; edit it there"
            return Picked(trace_id=trace_id, dataset=dataset, id=there.id, problem=problem)
        else:
            given = case.model_dump(include=ANSWERED) | {"status": CaseStatus.ACTIVE, "approved": case.approved}
            given["tags"] = tuple(sorted({*there.tags, *case.tags}))
            after = self._store.write(revise_case, there.model_copy(update=given), author)
            # The change that gives a case back what an answer replaced in it.
            replaced = there.model_dump(include=ANSWERED | {"approved"})
            undo = CaseChange(
                cases=(CaseKey(dataset=after.dataset, id=after.id),),
                remove_tags=tuple(sorted(set(after.tags) - set(there.tags))),
                status=there.status if there.status in MOVABLE else None,
                answered=ReplacedAnswer(version=after.version, **replaced),
            )
        return Picked(trace_id=trace_id, dataset=dataset, id=(there or case).id, updated=there is not None, undo=undo)


def _change_all(connection: Connection, wanted: CaseChange, who: str) -> CaseChanged:
    done: list[CaseKey] = []
    problems: list[str] = []
    undo: list[CaseChange] = []
    for key in wanted.cases:
        case = get_case(connection, key.dataset, key.id)
        if case.status not in MOVABLE:
            problems.append(f"case {case.id!r} is {case.status.value}; it stays as it is")
            continue
        if wanted.dataset is not None and wanted.dataset != case.dataset:
            # A case that was moved away left a withdrawn copy, which must not block the way back.
            there = find_case(connection, wanted.dataset, case.id)
            if there and not (there.status is CaseStatus.WITHDRAWN and there.input == case.input):
                problems.append(f"dataset {wanted.dataset!r} holds a case {case.id!r} already; it stays where it is")
                continue
            undo.append(CaseChange(cases=(CaseKey(dataset=wanted.dataset, id=case.id),), dataset=case.dataset))
            done.append(_move(connection, case, wanted.dataset, who))
            case = get_case(connection, wanted.dataset, case.id)
        back = _retag(connection, case, wanted, who)
        if back is not None:
            # Undo runs backwards: tags are restored before the case is moved back.
            undo.insert(0, back)
        if not done or done[-1].id != case.id:
            done.append(CaseKey(dataset=case.dataset, id=case.id))
    return CaseChanged(cases=tuple(done), problems=tuple(problems), undo=tuple(undo))


def _merge(connection: Connection, wanted: CaseChange, who: str) -> CaseChanged:
    """Dismiss the repeats of a case, which gets their tags; each history says of which."""
    kept_key = wanted.repeats_of or wanted.cases[0]
    kept = get_case(connection, kept_key.dataset, kept_key.id)
    if kept.status is not CaseStatus.ACTIVE:
        raise BadInput(f"case {kept.id!r} is {kept.status.value}; merge repeats into one that is active")
    author = Author(who=who, action="merged", why=f"repeats {kept.dataset}/{kept.id}")
    done: list[CaseKey] = []
    problems: list[str] = []
    undo: list[CaseChange] = []
    tags: set[str] = set()
    for key in dict.fromkeys(wanted.cases):
        case = get_case(connection, key.dataset, key.id)
        if key == kept_key:
            continue
        if case.status is not CaseStatus.ACTIVE:
            problems.append(f"case {case.id!r} is {case.status.value}; it stays as it is")
            continue
        revise_case(connection, case.model_copy(update={"status": CaseStatus.DISMISSED}), author)
        undo.append(CaseChange(cases=(key,), status=case.status))
        tags.update(case.tags)
        done.append(key)
    given = CaseChange(cases=(kept_key,), add_tags=tuple(sorted(tags)))
    back = _retag(connection, kept, given, who)
    return CaseChanged(cases=tuple(done), problems=tuple(problems), undo=(*undo, *([back] if back else ())))


def _move(connection: Connection, case: Case, dataset: str, who: str) -> CaseKey:
    """Write the case into another dataset, where it waits for its review anew, and withdraw it where it was."""
    moved = case.model_copy(
        update={"dataset": dataset, "status": CaseStatus.ACTIVE, "review": ReviewState.UNVALIDATED, "version": 1}
    )
    put_cases(connection, [moved], Author(who=who, action="moved", why=f"from {case.dataset}"))
    gone = case.model_copy(update={"status": CaseStatus.WITHDRAWN})
    revise_case(connection, gone, Author(who=who, action="moved", why=f"to {dataset}"))
    return CaseKey(dataset=dataset, id=case.id)


def _retag(connection: Connection, case: Case, wanted: CaseChange, who: str) -> CaseChange | None:
    """Change tags and status of one case; returns what takes it back, None where nothing changed."""
    tags = (set(case.tags) | set(wanted.add_tags)) - set(wanted.remove_tags)
    status = wanted.status or case.status
    if wanted.answered is not None:
        before = {name: value for name, value in wanted.answered if name != "version"}
        before |= {"tags": tuple(sorted(tags)), "status": status}
        author = Author(who=who, action=ACTION, why="the answer was taken back")
        revise_case(connection, case.model_copy(update=before), author, wanted.answered.version)
        return None
    if tags == set(case.tags) and status is case.status:
        return None
    after = case.model_copy(update={"tags": tuple(sorted(tags)), "status": status})
    revise_case(connection, after, Author(who=who, action="tagged" if status is case.status else status.value))
    return CaseChange(
        cases=(CaseKey(dataset=case.dataset, id=case.id),),
        add_tags=tuple(sorted(set(case.tags) - tags)),
        remove_tags=tuple(sorted(tags - set(case.tags))),
        status=case.status if status is not case.status else None,
    )


ACTION = "picked"
ANSWERED = {"entry_type", "evidence", "review"}  # what a written answer changes on a case that is there


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
        entry_type=EntryType.FAILURE if wrong or (picking.tier == "failure" and not answer) else EntryType.GOLDEN,
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
        # Without an answer nobody said that it is good.
        evidence=TierEvidence.PERSON
        if answer
        else TierEvidence.SILENCE
        if picking.tier == "candidate"
        else TierEvidence.SOURCE,
        review=ReviewState.VALIDATED if answer else ReviewState.UNVALIDATED,
    )
