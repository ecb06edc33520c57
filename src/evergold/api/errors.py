"""Errors → HTTP, once. The status stands on the exception; the body is always `{"error", "problems"}`.

An answer speaks of the request. What a database, a parser or Python itself reports of an error, and on which machine, stands
in the server's log (`evergold.api`) under an id; the body then has that `id` too.
"""

import logging
import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from orjson import JSONDecodeError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from evergold.errors import EvergoldError, Unavailable
from evergold.model.faults import Fault, faults_of
from evergold.settings import Settings

NOT_JSON = "json_invalid"
GONE = 499  # the usual number for a client that closed the connection before an answer
RETRY_SECONDS = "2"  # when to come back; exporters then wait longer each time
LONGEST_LINE = 2000  # characters of an error in the log
NOT_UTF8 = ("str is not valid UTF-8: surrogates not allowed", "it is not valid UTF-8")
# How Python and its libraries speak of values: of their own types, functions and files.
INTERNAL = re.compile(
    r"\bobject (?:is|has|does|of|cannot)\b|NoneType|\b(?:int|float|str|bytes|dict|list)\(\)|\bcodec\b|to unpack|unhashable"
    r"|subscriptable|not iterable|invalid literal|with base 10|convert string to|<class |Error -?\d+ while|\bwith type '|\[Errno"
)
OPEN_WORDS = {"localhost", "127.0.0.1", "evergold", ":memory:"}
AROUND = r"(?:\s*[:;(]+)?\s*"

_log = logging.getLogger("evergold.api")


def refusal(status: int, message: str, problems: Sequence[str] = (), ident: str = "") -> JSONResponse:
    headers = {"Retry-After": RETRY_SECONDS} if status == Unavailable.status else None
    if status >= 500 and not ident:
        ident = uuid4().hex[:12]
        _log.warning("error %s: %s", ident, message)
    body: dict[str, Any] = {"error": message, "problems": list(problems)}
    return JSONResponse(body | ({"id": ident} if ident else {}), status_code=status, headers=headers)


def install_errors(app: FastAPI, settings: Settings) -> None:
    private = _private_words(settings)

    @app.exception_handler(EvergoldError)
    async def answer_expected(request: Request, problem: EvergoldError) -> JSONResponse:
        message, *problems = (_clean_message(text, problem, private) for text in (problem.message, *problem.problems))
        # Whether the error was made of what a parser reports of the request.
        origin = problem.__cause__ or problem.__context__
        is_parsed = isinstance(origin, ValueError) and str(origin).partition("\n")[0] in problem.message
        if [message, *problems] == [problem.message, *problem.problems] and not is_parsed and problem.status < 500:
            return refusal(problem.status, message, problems)
        return refusal(problem.status, message, problems, _note(request, problem.status, problem))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
        problems = tuple(str(fault).replace(*NOT_UTF8) for fault in _faults(problem.errors(), request))
        # The reader's own words are clearer than "the request cannot be used" for a body that is no JSON.
        unread = problem.errors()[0]["type"] == NOT_JSON
        if unread:
            return refusal(400, problems[0], problems, _note(request, 400, problem))
        return refusal(400, f"the request cannot be used: {problems[0]}", problems)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, problem: HTTPException) -> JSONResponse:
        return refusal(problem.status_code, f"{request.method} {request.url.path}: {problem.detail}")

    @app.exception_handler(ClientDisconnect)
    async def answer_disconnect(request: Request, problem: ClientDisconnect) -> JSONResponse:
        # Nobody reads this answer; without it every client that leaves in the middle of a body is a traceback in the log.
        return refusal(GONE, "the client closed the connection before its request was whole")

    @app.exception_handler(Exception)
    async def answer_defect(request: Request, problem: Exception) -> JSONResponse:
        ident = _note(request, 500, problem)
        return refusal(500, f"the server failed at this request; its log has more under {ident}", (), ident)


def _private_words(settings: Settings) -> re.Pattern[str]:
    """Make the pattern of what a caller is not told: the server's folders, its name and where its database is."""
    database = urlsplit(settings.database)
    folders = {settings.home.absolute(), settings.home.resolve(), Path.cwd(), Path.home(), Path(sys.prefix)}
    words = {str(folder) for folder in folders if len(folder.parts) > 1}
    words |= {socket.gethostname(), database.netloc.rpartition("@")[2], database.hostname or ""}
    words |= {database.path[1:]} if database.scheme == "sqlite" else set()
    listed = sorted((word for word in words - OPEN_WORDS if len(word) > 3), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, listed))})(?:/[^\s'\"`:;,)]*)?(?!\w)")


def _clean_message(text: str, problem: EvergoldError, private: re.Pattern[str]) -> str:
    """Leave out of an error what a library reports, and what the caller is not to know of the server."""
    origin = problem.__cause__ or problem.__context__
    if origin is not None and not isinstance(origin, EvergoldError):
        if problem.status >= 500:
            return "the database or another part of the server cannot be used now; try again in a moment"
        if not isinstance(origin, JSONDecodeError):
            for report in (str(origin), str(getattr(origin, "orig", None) or origin)):
                for words in {report, report.strip().partition("\n")[0]} - {""}:
                    text = re.sub(AROUND + re.escape(words) + r"\)?", "", text)
            clauses = re.split("(?<=[:;(]) ", text)
            text = " ".join(clause for clause in clauses if not INTERNAL.search(clause)).rstrip(" :;(")
    return private.sub("…", text.replace(*NOT_UTF8)) or "the request cannot be used"


def _note(request: Request, status: int, problem: Exception) -> str:
    """Log an error whole; return the id under which it stands there."""
    ident = uuid4().hex[:12]
    report = " ".join(str(problem).split())[:LONGEST_LINE]
    shown = "".join(sign if sign.isprintable() else "�" for sign in f"{request.method} {request.url.path}: {report}")
    defect = None if isinstance(problem, EvergoldError | RequestValidationError) else problem
    _log.log(logging.ERROR if status >= 500 else logging.WARNING, "error %s: %s", ident, shown, exc_info=defect)
    return ident


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
