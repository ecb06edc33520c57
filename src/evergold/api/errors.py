"""Errors → HTTP, once. The status stands on the exception; the body is always `{"error", "problems"}`."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from evergold.errors import EvergoldError


def refusal(status: int, message: str, problems: tuple[str, ...] = ()) -> JSONResponse:
    return JSONResponse({"error": message, "problems": list(problems)}, status_code=status)


def install_errors(app: FastAPI) -> None:
    @app.exception_handler(EvergoldError)
    async def expected(request: Request, problem: EvergoldError) -> JSONResponse:
        return refusal(problem.status, problem.message, problem.problems)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, problem: RequestValidationError) -> JSONResponse:
        problems = tuple(
            f"{'.'.join(str(part) for part in error['loc'])}: {error['msg'].removeprefix('Value error, ')}"
            for error in problem.errors()
        )
        return refusal(400, f"the request cannot be used: {problems[0]}", problems)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, problem: HTTPException) -> JSONResponse:
        return refusal(problem.status_code, f"{request.method} {request.url.path}: {problem.detail}")
