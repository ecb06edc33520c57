"""The client of an object store by URL, and its errors in one line each: the clients have no exception in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evergold.errors import BadInput, EvergoldError, NotFound, Unavailable

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az", "hf": "hf"}
"""Which extra brings the client of a store."""


def store_of(url: str) -> tuple[Any, str]:
    """The client of the store and the name of the object there."""
    scheme = url.split("://", 1)[0]
    install = f"pip install 'evergold[{EXTRAS.get(scheme, 'cluster')}]'"
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Unavailable(f"{url} needs an extra: {install}") from None
    try:
        # fsspec caches listings for the life of the process; another writer's objects must be seen.
        file_system, path = url_to_fs(url, use_listings_cache=False)
    except ImportError as problem:
        needed = install if scheme in EXTRAS else str(problem)
        raise Unavailable(f"{url} needs a package that is not installed: {needed}") from None
    except ValueError as problem:
        raise BadInput(f"{url}: {problem}; known are {', '.join(sorted(EXTRAS))} and what else fsspec lists") from None
    return file_system, path


@contextmanager
def answering(url: str) -> Iterator[None]:
    """Turn whatever a store's client raises into one line of ours."""
    try:
        yield
    # Errors of ours pass: a nested call has already said it in one line.
    except EvergoldError:
        raise
    except FileNotFoundError as problem:
        # Some clients give the name alone, which says nothing of what is wrong.
        reason = _reason(problem)
        detail = "no such object" if url.endswith(reason) else reason
        raise NotFound(f"{url}: {detail}; check the bucket and the name") from problem
    except PermissionError as problem:
        raise Unavailable(f"{url}: {_reason(problem) or 'access denied'}; {CREDENTIALS}") from problem
    except Exception as problem:
        # botocore, google-auth and azure-identity name it so in the class or the message, and share no base class.
        hint = CREDENTIALS if "redential" in f"{type(problem).__name__}{problem}" else "run the command again"
        raise Unavailable(f"{url}: {_reason(problem) or type(problem).__name__}; {hint}") from problem


CREDENTIALS = "check the credentials (environment, profile file or machine role, as the store's own tools read them)"


def _reason(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return text if len(text) <= 200 else text[:200] + "…"
