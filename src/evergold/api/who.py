"""Name the caller of a request: the reviewer behind a token, or the name a client gives itself."""

from typing import Annotated

from fastapi import Depends, Request

LOCAL = "local"


def who_asks(request: Request) -> str:
    """The reviewer behind the token; where nobody has one, the name the client gives itself, else the local user."""
    # A name that a client gives itself counts only where there are no tokens: it proves nothing.
    named: str | None = request.scope.get("evergold.who")
    if named is None:
        named = request.headers.get("x-evergold-reviewer", "").strip()
    return named[:100] or LOCAL


Who = Annotated[str, Depends(who_asks)]
