"""The server: REST under /api/v1, OTLP at /v1, the web app everywhere else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware

from evergold.api.access import configured_tokens
from evergold.api.errors import install_errors
from evergold.api.guard import Guard
from evergold.api.inflight import InFlight
from evergold.api.meter import Instruments, Meter
from evergold.api.pages import install_pages
from evergold.api.reference import install_reference
from evergold.api.routing import SlashesInNames
from evergold.api.strangers import Strangers, known_host
from evergold.api.wellformed import WellFormed
from evergold.settings import Settings, load_settings
from evergold.workspace import Workspace

ROUTERS = (
    "health",
    "tokens",
    "alerts",
    "cases",
    "otlp",
    "langfuse",
    "curation",  # before traces, whose ids may hold slashes
    "trace_notes",
    "traces",
    "views",
    "uploads",
    "review",
    "overview",
    "runs",
    "reports",
    "builds",
    "datasets",
)


def create_app(settings: Settings | None = None, opened: Workspace | None = None) -> FastAPI:
    """The application. It opens its workspace when it starts, unless it is given one, and closes it when it stops."""
    chosen = settings or load_settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with opened or Workspace.open(chosen) as workspace, workspace.serving():
            app.state.workspace = workspace
            yield

    app = FastAPI(
        title="Evergold",
        version=version("evergold"),
        description="Evaluation data that grows out of real use.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = chosen
    app.add_middleware(SlashesInNames)
    app.add_middleware(GZipMiddleware, minimum_size=2048)
    app.add_middleware(InFlight, settings=chosen)
    app.add_middleware(Guard, settings=chosen, tokens=configured_tokens(chosen))
    app.add_middleware(WellFormed)
    app.add_middleware(Strangers, known=known_host(chosen))
    app.state.instruments = Instruments()
    app.add_middleware(Meter, instruments=app.state.instruments)
    install_errors(app)
    for name in ROUTERS:
        app.include_router(import_module(f"evergold.api.{name}").router)
    install_reference(app)
    install_pages(app)
    return app


def interface() -> dict[str, Any]:
    """The OpenAPI document, without opening a workspace."""
    return create_app(Settings()).openapi()
