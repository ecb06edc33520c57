"""/views: lists as people want to see them again."""

from typing import Annotated

from fastapi import Query

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.views import ListPage, ListView

router = Router(prefix="/api/v1", tags=["views"])


@router.get("/views")
def list_views(workspace: Opened, page: ListPage) -> list[ListView]:
    """The kept views of a list."""
    return workspace.views.of(page)


@router.put("/views")
def keep_view(workspace: Opened, view: ListView, who: Who) -> ListView:
    """Keep a view under its name; one of the same name is replaced."""
    return workspace.views.keep(view.model_copy(update={"owner": who}))


@router.delete("/views", status_code=204)
def delete_view(workspace: Opened, page: ListPage, name: Annotated[str, Query(min_length=1)]) -> None:
    """Delete a kept view."""
    workspace.views.delete(page, name)
