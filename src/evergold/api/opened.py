"""The open workspace, as a parameter that every route can take."""

from typing import Annotated

from fastapi import Depends, Request

from evergold.workspace import Workspace


def the_workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


Opened = Annotated[Workspace, Depends(the_workspace)]
