"""What people do to cases in a list: write a new one, tag, dismiss, move and merge many, each with the way back."""

from uuid import uuid4

from sqlalchemy import Connection

from evergold.errors import BadInput
from evergold.model.case import Case, CaseStatus, EntryType, Provenance, ReviewState
from evergold.model.case_actions import CaseChange, CaseChanged, NewCase
from evergold.model.review import CaseKey
from evergold.store import Store
from evergold.store.case.cases import find_case, get_case
from evergold.store.case.writes import Author, put_cases, revise_case

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
            **wanted.model_dump(),
        )
        self._store.db.write(lambda connection: put_cases(connection, [case], Author(who=who, action="written")))
        with self._store.db.read() as connection:
            return get_case(connection, case.dataset, case.id)

    def change(self, wanted: CaseChange, who: str) -> CaseChanged:
        """Change many cases in one transaction; what cannot be changed is named, and the rest is done."""
        if wanted.status is CaseStatus.ERASED:
            raise BadInput("a case is not erased here; `evergold traces erase` erases what belongs to a user")
        if wanted.repeats_of is not None:
            return self._store.db.write(lambda connection: _merge(connection, wanted, who))
        return self._store.db.write(lambda connection: _change_all(connection, wanted, who))


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
            if find_case(connection, wanted.dataset, case.id) is not None and not _moved_back(connection, wanted, case):
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


def _moved_back(connection: Connection, wanted: CaseChange, case: Case) -> bool:
    """Whether what stands in the way is the case itself, withdrawn when it was moved away."""
    held = find_case(connection, wanted.dataset or "", case.id)
    return held is not None and held.status is CaseStatus.WITHDRAWN and held.input == case.input


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
