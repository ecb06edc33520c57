"""/cases: HTTP in, workspace verb out."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.model.case import Case
from evergold.store.case_facets import CaseFacets
from evergold.store.cases import CaseFilter, CaseOrder, Revision

router = Router(prefix="/api/v1/cases", tags=["cases"])


class CasePage(BaseModel):
    """A page of cases, newest first; `next` asks for the one after it."""

    total: int
    next: str | None
    cases: list[Case]


class CaseQuery(CaseFilter):
    """The filters, the order, and which page."""

    limit: Annotated[int, Query(ge=1, le=500)] = 50
    before: str | None = None
    order: CaseOrder = CaseOrder.NEWEST


@router.get("")
def list_cases(workspace: Opened, query: Annotated[CaseQuery, Query()]) -> CasePage:
    """Cases that pass every filter given."""
    wanted = CaseFilter(**query.model_dump(include=set(CaseFilter.model_fields)))
    result, cursor = workspace.cases.page(wanted, limit=query.limit, before=query.before or None, order=query.order)
    return CasePage(total=workspace.cases.count(wanted), next=cursor, cases=result)


@router.get("/facets")
def facets(workspace: Opened, wanted: Annotated[CaseFilter, Query()]) -> CaseFacets:
    """What the list can be narrowed by, with counts; exact for lists of up to 10,000 cases."""
    return workspace.cases.facets(wanted)


@router.get("/{dataset}/{case_id:path}/history")
def case_history(workspace: Opened, dataset: str, case_id: str) -> list[Revision]:
    """Every revision of a case: who, when, why, and what changed."""
    return workspace.cases.history(dataset, case_id)


@router.get("/{dataset}/{case_id:path}")
def get_case(workspace: Opened, dataset: str, case_id: str) -> Case:
    """One case."""
    return workspace.cases.get(dataset, case_id)
