"""The server: REST under /api/v1, OTLP at /v1, tools for agents at /mcp, documentation at /docs, the web app elsewhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI

from evergold.api.errors import install_errors
from evergold.api.middleware import install_middleware
from evergold.api.pages import install_docs, install_pages
from evergold.settings import Settings, load_settings
from evergold.workspace import Workspace

ROUTERS = (
    "operations",
    "cases",
    "otlp",
    "curation",  # before traces, whose ids may hold slashes
    "stats",
    "upkeep",
    "traces",
    "review",
    "replay",
    "runs",
    "datasets",
    "agents",
)


def create_app(settings: Settings | None = None, opened: Workspace | None = None) -> FastAPI:
    """The application. It opens its workspace when it starts, unless it is given one, and closes it when it stops."""
    chosen = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with opened or Workspace.open(chosen) as workspace, workspace.serve():
            app.state.workspace = workspace
            yield

    app = FastAPI(
        title="Evergold",
        version=version("evergold"),
        description="Evaluation data that grows out of real use.",
        lifespan=lifespan,
        # FastAPI's own pages load scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = chosen
    install_middleware(app, chosen)
    install_errors(app, chosen)
    for name in ROUTERS:
        # Not `include_router`, which analyses every route again at the first request: a quarter of a second.
        app.router.routes.extend(import_module(f"evergold.api.{name}").router.routes)
    # The pages come last: they answer every path that no route has.
    install_docs(app)
    install_pages(app)
    return app


def interface() -> dict[str, Any]:
    """The OpenAPI document, without opening a workspace."""
    return create_app(Settings()).openapi()
