"""/cases: HTTP in, workspace verb out."""

from shutil import rmtree
from typing import Annotated

from fastapi import Query
from fastapi.responses import FileResponse
from pydantic import BaseModel
from starlette.background import BackgroundTask

from evergold.api.requests import Opened, Router, Who, read_page
from evergold.model.case import Case, Reference
from evergold.model.case_actions import CaseChange, CaseChanged, NewCase
from evergold.store.case.cases import CaseFacets, CaseFilter, CaseOrder, Revision

router = Router(prefix="/api/v1/cases", tags=["cases"])


class CasePage(BaseModel):
    """A page of cases, newest first, of 8 million characters or so; `next` asks for the one after it.

    `candidates_left_out`: golden cases that rest on silence alone and that `candidates` did not ask for.
    """

    total: int
    candidates_left_out: int = 0
    next: str | None
    cases: list[Case]


class CaseDetail(Case):
    """A case with its reference: the answer others are measured by and its origin, null where there is none."""

    reference_answer: Reference | None = None


class CaseQuery(CaseFilter):
    """The filters, the order, and which page. `preview` cuts texts to so many characters and leaves conversations out."""

    limit: Annotated[int, Query(ge=1, le=500)] = 50
    before: str | None = None
    order: CaseOrder = CaseOrder.NEWEST
    preview: Annotated[int | None, Query(ge=1, le=1_000_000)] = None


class ExportQuery(CaseFilter):
    """The filters, and the format; `GET /api/v1/cases/formats` lists those there are."""

    format: str = "case-jsonl"


@router.get("")
def list_cases(workspace: Opened, query: Annotated[CaseQuery, Query()]) -> CasePage:
    """Cases that pass every filter given."""
    wanted = CaseFilter(**query.model_dump(include=set(CaseFilter.model_fields)))

    def page(limit: int, before: str | None) -> tuple[list[Case], str | None]:
        return workspace.cases.page(wanted, limit=limit, before=before, order=query.order, preview=query.preview)

    result, cursor = read_page(page, query.limit, query.before or None)
    left_out = workspace.cases.candidates_beside(wanted)
    return CasePage(total=workspace.cases.count(wanted), candidates_left_out=left_out, next=cursor, cases=result)


@router.get("/facets")
def facets(workspace: Opened, wanted: Annotated[CaseFilter, Query()]) -> CaseFacets:
    """What the list can be narrowed by, with counts; exact for lists of up to 5,000 cases."""
    return workspace.cases.facets(wanted)


@router.post("", status_code=201)
def create_case(workspace: Opened, wanted: NewCase, who: Who) -> Case:
    """Write a case by hand; it waits for review like any other."""
    return workspace.case_actions.create(wanted, who)


@router.post("/changes")
def change_cases(workspace: Opened, wanted: CaseChange, who: Who) -> CaseChanged:
    """Tag, dismiss, bring back, move or merge many cases; send each of `undo` here to take it back."""
    return workspace.case_actions.change(wanted, who)


@router.get("/export", response_class=FileResponse)
def export_cases(workspace: Opened, query: Annotated[ExportQuery, Query()]) -> FileResponse:
    """The cases that pass every filter given, as one file of a format, newest first."""
    wanted = CaseFilter(**query.model_dump(include=set(CaseFilter.model_fields)))
    path = workspace.cases.export_to_file(wanted, query.format)
    # The folder is deleted when the file has been sent.
    gone = BackgroundTask(rmtree, path.parent, ignore_errors=True)
    return FileResponse(path, filename=path.name, background=gone)


@router.get("/formats")
def export_formats(workspace: Opened) -> list[str]:
    """The formats of one file in which cases are exported."""
    return workspace.cases.file_formats()


@router.get("/{dataset}/{case_id:path}/history")
def case_history(workspace: Opened, dataset: str, case_id: str) -> list[Revision]:
    """Every revision of a case: who, when, why, and what changed."""
    return workspace.cases.history(dataset, case_id)


@router.get("/{dataset}/{case_id:path}")
def get_case(workspace: Opened, dataset: str, case_id: str) -> CaseDetail:
    """One case, with its reference and where that comes from."""
    case = workspace.cases.get(dataset, case_id)
    return CaseDetail(**dict(case), reference_answer=case.reference())
