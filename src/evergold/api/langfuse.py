"""/api/public/ingestion: the address to which older libraries of Langfuse send their batches."""

from typing import Any

from pydantic import BaseModel
from starlette.responses import JSONResponse

from evergold.api.opened import Opened
from evergold.api.routing import Router

router = Router()


class LangfuseBatch(BaseModel):
    """A batch of events; what they hold is checked event by event."""

    batch: list[dict[str, Any]]


@router.post("/api/public/ingestion", include_in_schema=False)
def take_batch(workspace: Opened, sent: LangfuseBatch) -> JSONResponse:
    """Store what the events hold; each is answered by its id, as Langfuse answers them."""
    # 207: each event has a status of its own, as Langfuse's libraries expect.
    return JSONResponse(workspace.intake.accept_langfuse(sent.batch), status_code=207)
