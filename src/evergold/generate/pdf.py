"""The text of a PDF, page by page. What pypdf cannot read (broken, locked, scanned) is a reason, never an exception."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evergold.generate.spec import GenerationLimits
from evergold.model.generation import Document, Skipped

_BETWEEN_PAGES = "\n\n"


def read_pdf(name: str, path: Path, limits: GenerationLimits) -> Document | Skipped:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    try:
        with _quiet(), path.open("rb") as source:
            reader = PdfReader(source)
            # Many PDFs are encrypted with an empty user password only to forbid printing.
            if reader.is_encrypted and not reader.decrypt(""):
                return Skipped(name=name, reason="encrypted", detail="it opens with a password only")
            if len(reader.pages) > limits.pages:
                detail = f"{len(reader.pages):,} pages; limits.pages is {limits.pages:,}"
                return Skipped(name=name, reason="too many pages", detail=detail)
            texts = [_clean(page.extract_text()) for page in reader.pages]
    # A disk that fails is the caller's matter; it must not be reported as a broken PDF.
    except OSError:
        raise
    except DependencyError as problem:
        return Skipped(name=name, reason="encrypted", detail=str(problem))
    except Exception as problem:  # a file made by anybody: pypdf may meet anything in it
        detail = " ".join(f"{type(problem).__name__}: {problem}".split())[:200]
        return Skipped(name=name, reason="broken PDF", detail=detail)
    if not any(text.strip() for text in texts):
        return Skipped(name=name, reason="no text", detail=f"{len(texts)} pages of pictures; it needs text recognition")
    starts, offset = [], 0
    for text in texts:
        starts.append(offset)
        offset += len(text) + len(_BETWEEN_PAGES)
    return Document(name=name, text=_BETWEEN_PAGES.join(texts), kind="pdf", pages=tuple(starts))


def _clean(text: str) -> str:
    """Half surrogates and zero bytes, which broken fonts yield, cannot be written as JSON."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")


@contextmanager
def _quiet() -> Iterator[None]:
    """pypdf says a great deal about files that are slightly wrong and still readable."""
    logger = logging.getLogger("pypdf")
    before = logger.level
    # pypdf logs through its module loggers, which inherit the level of this one.
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
