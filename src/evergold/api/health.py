"""/health: is it up, and which version is it."""

from importlib.metadata import version

from fastapi import APIRouter
from pydantic import BaseModel

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str
    version: str


@router.get("/api/v1/health")
async def health() -> Health:
    """Answers as soon as the server can take requests."""
    return Health(status="ok", version=version("evergold"))
