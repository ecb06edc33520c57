"""/api/public/ingestion: the address to which older libraries of Langfuse send their batches."""

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import JSONResponse

from evergold.api.opened import Opened
from evergold.sources.langfuse_batch import records_of_batch, reply_to

router = APIRouter()


class LangfuseBatch(BaseModel):
    """A batch of events; what they hold is checked event by event."""

    batch: list[dict[str, Any]]


@router.post("/api/public/ingestion", include_in_schema=False)
def take_batch(workspace: Opened, sent: LangfuseBatch) -> JSONResponse:
    """Store what the events hold; each is answered by its id, as Langfuse answers them."""
    records = list(records_of_batch(sent.batch))
    report = workspace.intake.accept(record for _, record in records)
    return JSONResponse(reply_to(sent.batch, records, report.problems), status_code=207)
