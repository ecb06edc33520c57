"""Every exception of Evergold.

EvergoldError
├── BadInput          what was given cannot be used                     HTTP 400 · exit 2
│   ├── Unsupported   a content type or format nobody here speaks       HTTP 415
│   └── TooLarge      over a limit that protects the server             HTTP 413
├── Unauthorized      no token, or a wrong one                          HTTP 401
├── Refused           understood and not done, on purpose               HTTP 403
├── NotFound          a name that nothing answers to                    HTTP 404
├── Conflict          somebody else was first, or a lock is held        HTTP 409
├── Incomplete        a case or file lacks something it needs           HTTP 422
└── Unavailable       a database, port or program that is not there     HTTP 503
    └── Contended     two writers waited for each other, one was undone HTTP 503

A message is one line: what happened, with which value, what is allowed, what to do next. The statuses stand here,
beside the tree, so that HTTP and the command line map an error in one place each and no interface needs a `try`.
"""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import ClassVar

from evergold.credentials import hide, seal


class EvergoldError(Exception):
    """An expected failure: shown as one line, never as a traceback."""

    status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, problems: Sequence[str] = ()) -> None:
        # What is being handled becomes the context of this error, and is printed with it.
        seal(sys.exception())
        super().__init__(hide(message))
        self.message = hide(message)
        self.problems = tuple(map(hide, problems))


class BadInput(EvergoldError):
    status = 400


class Unsupported(BadInput):
    status = 415


class TooLarge(BadInput):
    status = 413


class Unauthorized(EvergoldError):
    status = 401


class Refused(EvergoldError):
    status = 403


class NotFound(EvergoldError):
    status = 404


class Conflict(EvergoldError):
    status = 409


class Incomplete(EvergoldError):
    status = 422


class Unavailable(EvergoldError):
    status = 503


class Contended(Unavailable):
    """Nothing was written, and the same can be written at once: PostgreSQL ended a deadlock by this transaction."""


def describe_unknown(what: str, name: str, valid: Sequence[str]) -> str:
    """The message for a name that is not one of `valid`: the nearest first, then all of them."""
    near = get_close_matches(name, valid, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(sorted(valid)) or "none"
    return f"unknown {what} {name!r}{hint} (valid: {listed})"
