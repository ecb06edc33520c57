"""Read requests: the parameters that routes share, and what the framework's way does not fit.

JSON bodies are read by the reader that reads files and writes the store, so that what comes in can also be kept. Python's
own reader takes `NaN` for a number and makes integers of any length, which JSON and the store do not have.

A large body is read and checked in a thread. The framework does that on the event loop, which for a body of the allowed size
takes seconds in which no other request would be answered.

Records come one by one or as a list. One that cannot be used does not sink the others of its list: they are stored and the
answer names the bad one; only where none can be used is the request refused.

A page that would be too large ends earlier: 500 traces of a megabyte each would be half a gigabyte in one answer. Its `next`
goes on from there, as at the end of any page.

A slash inside a name was hidden from routing (`middleware/guard.py`) and is put back into the parts of the path here.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote

import orjson
from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Discriminator, GetCoreSchemaHandler, Tag, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema
from starlette.concurrency import run_in_threadpool

from evergold.api.access import ANYBODY, check_role, needed_role
from evergold.api.middleware import HIDDEN
from evergold.errors import BadInput
from evergold.model.access import LOCAL, Holder
from evergold.model.faults import Rejected
from evergold.model.limits import require_shallow
from evergold.model.values import load_json
from evergold.seams import Incoming
from evergold.workspace import Workspace

LOCAL_NAME = "local"
SHOWN_PROBLEMS = 100  # problems in one answer
AT_ONCE = 50  # items that are read without a look at their size: a page of the web app is one question to the database
MOST_CHARACTERS = 8_000_000
LARGE = 100_000  # bytes of a body that takes more than some milliseconds to be read
MOST_RECORDS = 50_000  # of one list: a bad record takes as long as a good one, and is three bytes long
MOST_LEVELS_OF_BODY = 200  # a record in it may have half as many, and one that has more does not sink the others


def get_workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


Opened = Annotated[Workspace, Depends(get_workspace)]


def name_caller(request: Request) -> str:
    """Name the reviewer behind the token; where nobody has one, the name the client gives itself, else the local user."""
    # A name that a client gives itself counts only where there are no tokens: it proves nothing.
    named: str | None = request.scope.get("evergold.who")
    if named is None:
        # A header has no letters beyond Latin-1, so the pages send a name percent-encoded.
        named = unquote(request.headers.get("x-evergold-reviewer", "")).strip()
    return named[:100] or LOCAL_NAME


Who = Annotated[str, Depends(name_caller)]


def get_caller(request: Request, who: Who) -> Holder:
    """The caller's name, with the role that says what they may do to the work of others."""
    holder: Holder = request.scope.get("evergold.holder", LOCAL)
    return holder.model_copy(update={"name": who})


Caller = Annotated[Holder, Depends(get_caller)]

T = TypeVar("T")


class _OrRejected:
    """Instead of a record that cannot be used: what is wrong with it."""

    def __get_pydantic_core_schema__(self, shape: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Validation of the whole list would refuse it for one bad
        # record; each is validated and replaced by what is wrong.
        def validate_record(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
            try:
                return validate(value)
            except ValidationError as problem:
                return Rejected.of(problem, "", shape)

        return core_schema.no_info_wrap_validator_function(validate_record, handler(shape))


Sent = Annotated[
    Annotated[list[Annotated[T, _OrRejected()]], Tag("list")] | Annotated[T, Tag("record")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "record"),
]


def list_records(sent: Sequence[Incoming | Rejected] | Incoming) -> list[Incoming | Rejected]:
    """List what was sent, each bad record with its place; a list of nothing but bad ones is refused whole."""
    if not isinstance(sent, Sequence):
        return [sent]
    records: list[Incoming | Rejected] = [
        item.model_copy(update={"where": f"[{index}]"}) if isinstance(item, Rejected) else item
        for index, item in enumerate(sent)
    ]
    bad = [str(item) for item in records if isinstance(item, Rejected)]
    if bad and len(bad) == len(records):
        raise BadInput(f"no record of the list can be used: {bad[0]}", problems=bad[:SHOWN_PROBLEMS])
    return records


Item = TypeVar("Item", bound=BaseModel)
Page = Callable[[int, str | None], tuple[list[Item], str | None]]


def read_page(page: Page[Item], limit: int, before: str | None) -> tuple[list[Item], str | None]:
    """Read at most `limit` items, fewer where they are large, and the cursor of what follows."""
    items, cursor = page(min(limit, AT_ONCE), before)
    while cursor is not None and len(items) < limit:
        used = sum(len(str(value)) for item in items for value in vars(item).values())
        fitting = int((MOST_CHARACTERS - used) / max(1.0, used / len(items)))
        if fitting < 1:
            break
        more, cursor = page(min(limit - len(items), fitting), cursor)
        items += more
    return items, cursor


class JsonRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        try:
            sent = require_shallow(load_json(body), MOST_LEVELS_OF_BODY)
        except orjson.JSONDecodeError:
            raise
        except ValueError as problem:
            # FastAPI turns this one error into its own message for bodies.
            raise orjson.JSONDecodeError(str(problem), "", 0) from problem
        if isinstance(sent, list) and len(sent) > MOST_RECORDS:
            raise HTTPException(
                413, f"{len(sent)} records in one request; at most {MOST_RECORDS} are taken: send several"
            )
        return sent


class JsonRoute(APIRoute):
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            # The declared path, not the requested one: the table lists routes with their placeholders.
            if f"{request.method} {self.path_format}" not in ANYBODY:
                check_role(request, needed_role(request.method, self.path_format))
            parts = {name: restore_slashes(value) for name, value in request.path_params.items()}
            sent = JsonRequest({**request.scope, "path_params": parts}, request.receive)
            # The body is kept by the request, so that the thread need not wait for the connection.
            if self.body_field is None or len(await sent.body()) <= LARGE:
                return await handle(sent)
            return await run_in_threadpool(lambda: asyncio.run(handle(sent)))

        return read


def restore_slashes(part: Any) -> Any:
    """Give a part of the path the slashes back that it came with."""
    return part.replace(HIDDEN, "/") if isinstance(part, str) else part


class Router(APIRouter):
    def __init__(self, **options: Any) -> None:
        super().__init__(route_class=JsonRoute, **options)
