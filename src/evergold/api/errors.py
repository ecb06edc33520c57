"""Errors → HTTP, once. The status stands on the exception; the body is always `{"error", "problems"}`."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from evergold.errors import EvergoldError, Unavailable
from evergold.model.faults import Fault, faults_of

NOT_JSON = "json_invalid"
GONE = 499  # the usual number for a client that closed the connection before an answer
RETRY_SECONDS = "2"  # when to come back; exporters then wait longer each time


def refusal(status: int, message: str, problems: tuple[str, ...] = ()) -> JSONResponse:
    headers = {"Retry-After": RETRY_SECONDS} if status == Unavailable.status else None
    return JSONResponse({"error": message, "problems": list(problems)}, status_code=status, headers=headers)


def install_errors(app: FastAPI) -> None:
    @app.exception_handler(EvergoldError)
    async def answer_expected(request: Request, problem: EvergoldError) -> JSONResponse:
        return refusal(problem.status, problem.message, problem.problems)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
        problems = tuple(map(str, _faults(problem.errors(), request)))
        # The reader's own words are clearer than "the request cannot be used" for a body that is no JSON.
        unread = problem.errors()[0]["type"] == NOT_JSON
        return refusal(400, problems[0] if unread else f"the request cannot be used: {problems[0]}", problems)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, problem: HTTPException) -> JSONResponse:
        return refusal(problem.status_code, f"{request.method} {request.url.path}: {problem.detail}")

    @app.exception_handler(ClientDisconnect)
    async def answer_disconnect(request: Request, problem: ClientDisconnect) -> JSONResponse:
        # Nobody reads this answer; without it every client that leaves in the middle of a body is a traceback in the log.
        return refusal(GONE, "the client closed the connection before its request was whole")


def _faults(errors: Sequence[Any], request: Request) -> list[Fault]:
    """What is wrong with a request, in the terms of whoever sent it: a field of the body, or a parameter by its place."""
    # FastAPI reports a body that cannot be parsed as one error of this type.
    if errors[0]["type"] == NOT_JSON:
        at = f"the body is not JSON that can be read: {errors[0]['ctx']['error']} (character {errors[0]['loc'][-1]})"
        return [Fault("", at)]
    # A body without a JSON content type reaches validation as bytes.
    if any(isinstance(error.get("input"), bytes) for error in errors):
        content_type = request.headers.get("content-type", "none")
        return [Fault("", f"a body here is JSON; its content type is {content_type}, send application/json")]
    body = getattr(request.scope.get("route"), "body_field", None)
    # The first part of a location says body, path or query; a sender knows fields of the body by their own names.
    inside = [error for error in errors if error["loc"][0] == "body" and error["loc"][1:]]
    stripped = [{**error, "loc": error["loc"][1:]} for error in inside]
    shape = body.field_info.annotation if body is not None else None
    return faults_of(stripped, shape) + faults_of([error for error in errors if error not in inside])
