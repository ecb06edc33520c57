"""Read the documents of a folder as passages; a file that cannot be used is named with a reason, and stops no other.

Files come in the order of their names, so that the same folder gives the same dataset. Links to folders are not
followed, which is why a loop of links cannot trap the walk; a pipe or a device is not opened, since reading one may
never end. A PDF that pypdf cannot read (broken, locked, scanned) is skipped with the reason.
"""

import codecs
import logging
import os
import re
import stat
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from statistics import median

from evergold.errors import BadInput, Incomplete, NotFound
from evergold.generate.passages import passages
from evergold.generate.spec import GenerationLimits, GenerationSpec
from evergold.model.generation import Document, Passage, Skipped
from evergold.model.values import content_hash, hash_bytes
from evergold.storage import RemotePath, make_relative

_BETWEEN_PAGES = "\n\n"


def read_pdf(name: str, path: Path, limits: GenerationLimits) -> Document | Skipped:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    try:
        with _silence_pypdf(), path.open("rb") as source:
            reader = PdfReader(source)
            # Many PDFs are encrypted with an empty user password only to forbid printing.
            if reader.is_encrypted and not reader.decrypt(""):
                return Skipped(name=name, reason="encrypted", detail="it opens with a password only")
            if len(reader.pages) > limits.pages:
                detail = f"{len(reader.pages):,} pages; limits.pages is {limits.pages:,}"
                return Skipped(name=name, reason="too many pages", detail=detail)
            texts = _part_lines([_clean(page.extract_text()) for page in reader.pages])
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
    starts, whole = [], ""
    for text in texts:
        # A sentence may go on over the page.
        whole += "" if not whole else "\n" if text[:1].islower() or whole.endswith(",") else _BETWEEN_PAGES
        starts.append(len(whole))
        whole += text
    return Document(name=name, text=whole, kind="pdf", pages=tuple(starts))


_PAGE_NUMBER = re.compile(
    r"\W*(?:(?:page|página|pág\.?|p\.)\s*)?\d{1,4}(?:\s*(?:of|de|/)\s*\d{1,4})?\W*", re.IGNORECASE
)
_EDGE = 2  # lines at the top and at the bottom of a page that a header or footer may take
_OFTEN = 0.5  # share of the pages that repeat one
_FULL = 0.75  # of the width of the text; a shorter line that ends without a stop was not wrapped


def _part_lines(pages: Sequence[str]) -> list[str]:
    """The text of pages without headers, footers and page numbers, with titles as paragraphs of their own.

    A PDF has lines and no paragraphs: without this a title runs into the sentence below it, and a header into the middle of one.
    """
    lines = [[line.rstrip() for line in page.split("\n")] for page in pages]
    edges = [{_numberless(line) for line in (*page[:_EDGE], *page[-_EDGE:]) if line.strip()} for page in lines]
    counts = Counter(line for edge in edges for line in edge)
    repeated = {line for line, count in counts.items() if count >= max(2, _OFTEN * len(pages))}
    width = median([len(line) for page in lines for line in page if len(line) > 1] or [0])
    wide = max(width, 0.8 * max((len(line) for page in lines for line in page), default=0))
    results: list[str] = []
    for page in lines:
        last = len(page) - _EDGE
        kept = [
            line
            for at, line in enumerate(page)
            if not ((at < _EDGE or at >= last) and (_numberless(line) in repeated or _PAGE_NUMBER.fullmatch(line)))
        ]
        results.append("\n".join(_part_titles(kept, wide)).strip("\n"))
    return results


def _numberless(line: str) -> str:
    return re.sub(r"\d+", "0", line.strip().casefold())


def _part_titles(lines: Sequence[str], wide: float) -> Iterator[str]:
    """The lines with an empty one around each that is a title: short, without a stop, before a line that begins anew."""
    for at, line in enumerate(lines):
        text, after = line.strip(), (lines[at + 1].strip() if at + 1 < len(lines) else "")
        begins = bool(text) and (text[0].isupper() or text[0].isdigit() or text[0] == "¿")
        short = len(line) < _FULL * wide and not text.endswith((".", ",", ";", ":", "-", "!"))
        anew = bool(after) and not after[0].islower()
        # A line that a sentence runs into is none, however short: the one before it has no stop either.
        before = lines[at - 1].strip() if at else ""
        fresh = not before or before.endswith((".", "!", "?", ":")) or len(before) < _FULL * wide or _is_titled(text)
        if begins and short and anew and fresh:
            yield from ("", line, "")
        else:
            yield line


def _is_titled(text: str) -> bool:
    """Whether every longer word of a text has a capital."""
    words = [word for word in text.split() if len(word) > 3]
    return bool(words) and all(word[0].isupper() for word in words)


def _clean(text: str) -> str:
    """Half surrogates and zero bytes, which broken fonts yield, cannot be written as JSON."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")


@contextmanager
def _silence_pypdf() -> Iterator[None]:
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


KINDS = {".txt": "text", ".text": "text", ".rst": "text", ".md": "markdown", ".markdown": "markdown", ".pdf": "pdf"}
# Bytes looked at for zeros: as much as git reads to tell a binary file from text.
_LOOKED_AT = 8000
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_documents(folder: Path, limits: GenerationLimits) -> Iterator[Document | Skipped]:
    """Every file below the folder, as a document or as a reason why it is none."""
    if not folder.exists():
        raise NotFound(f"no folder {str(folder)!r}; give --documents DIR with text, Markdown or PDF files in it")
    if not folder.is_dir():
        raise BadInput(f"--documents {str(folder)!r} is a file; give the folder that holds it")
    seen: dict[bytes, str] = {}
    files = size = 0
    for name, path in _walk(folder):
        if isinstance(path, Skipped):
            yield path
            continue
        if files >= limits.files:
            yield Skipped(name=name, reason="over the limit of files", detail=f"limits.files is {limits.files}")
            continue
        result = _read(name, path, limits)
        if isinstance(result, Document):
            # Copies under other names would put the same facts twice
            # into the dataset, and near-duplicate questions with them.
            fingerprint = sha256(result.text.encode("utf-8", "surrogatepass")).digest()
            if fingerprint in seen:
                result = Skipped(name=name, reason="duplicate", detail=f"the same text as {seen[fingerprint]}")
            elif size + len(result.text) > limits.total_mb * 1e6:
                detail = f"limits.total_mb is {limits.total_mb:g}"
                result = Skipped(name=name, reason="over the limit of all documents", detail=detail)
            else:
                seen[fingerprint] = name
                files += 1
                size += len(result.text)
        yield result


def _walk(folder: Path) -> Iterator[tuple[str, Path | Skipped]]:
    """Files by name; hidden ones and links to folders are one entry each, whatever is behind them."""
    if isinstance(folder, RemotePath):
        yield from _walk_store(folder)
        return
    # A stack instead of recursion: folders may be nested deeper than Python's limit.
    waiting: list[tuple[str, os.DirEntry[str]]] = _list_files(folder, "")
    while waiting:
        name, entry = waiting.pop()
        if entry.name.startswith("."):
            yield name, Skipped(name=name, reason="hidden")
        elif entry.is_symlink() and _is_folder(entry):
            yield name, Skipped(name=name, reason="link to a folder", detail=os.readlink(entry.path))
        elif entry.is_dir(follow_symlinks=False):
            try:
                waiting += _list_files(Path(entry.path), f"{name}/")
            except OSError as problem:
                yield name, Skipped(name=name, reason="unreadable", detail=problem.strerror or "")
        else:
            yield name, Path(entry.path)


def _walk_store(folder: RemotePath) -> Iterator[tuple[str, Path | Skipped]]:
    """The objects below a folder of a store, which has neither links nor folders of their own."""
    hidden: set[str] = set()
    for path in (folder / "**" / "*").expand():
        parts = make_relative(path, folder).split("/")
        depth = next((at for at, part in enumerate(parts, 1) if part.startswith(".")), 0)
        name = "/".join(parts[:depth] if depth else parts)
        if not depth:
            yield name, path
        elif name not in hidden:
            hidden.add(name)
            yield name, Skipped(name=name, reason="hidden")


def _list_files(folder: Path, prefix: str) -> list[tuple[str, os.DirEntry[str]]]:
    """What is in a folder, the last name first: a stack gives them back in order."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name, reverse=True)
    # Names that are not UTF-8 cannot be written to JSON; the entry keeps the real path.
    return [(f"{prefix}{entry.name}".encode("utf-8", "replace").decode(), entry) for entry in entries]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that points at itself
        return False


def _read(name: str, path: Path, limits: GenerationLimits) -> Document | Skipped:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        detail = f"{path.suffix or 'no ending'}; read are {', '.join(KINDS)}"
        return Skipped(name=name, reason="unsupported type", detail=detail)
    try:
        # The link is followed here: a link to a file is read like the file.
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            return Skipped(name=name, reason="not a file", detail="a pipe, socket or device")
        if state.st_size > limits.file_mb * 1e6:
            detail = f"{state.st_size / 1e6:.1f} MB; limits.file_mb is {limits.file_mb:g}"
            return Skipped(name=name, reason="too large", detail=detail)
        if not state.st_size:
            return Skipped(name=name, reason="empty")
        return read_pdf(name, path, limits) if kind == "pdf" else _read_text(name, kind, path.read_bytes())
    except OSError as problem:
        return Skipped(name=name, reason="unreadable", detail=problem.strerror or str(problem))


def _read_text(name: str, kind: str, data: bytes) -> Document | Skipped:
    # UTF-16 is full of zero bytes, so it is recognised by its mark before the test for binary files.
    coding = "utf-16" if data.startswith(_UTF16) else "utf-8-sig"
    if coding == "utf-8-sig" and b"\0" in data[:_LOOKED_AT]:
        return Skipped(name=name, reason="binary", detail="it holds zero bytes")
    try:
        text = data.decode(coding)
    except UnicodeDecodeError as problem:
        detail = f"byte {problem.start:,}: {problem.reason}"
        return Skipped(name=name, reason=f"not {'UTF-16' if coding == 'utf-16' else 'UTF-8'}", detail=detail)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        return Skipped(name=name, reason="empty", detail="white space only")
    turns = [offset + 1 for offset, sign in enumerate(text) if sign == "\f"]
    return Document(name=name, text=text, kind=kind, pages=(0, *turns) if turns else ())


_SHOWN = 20


@dataclass
class Corpus:
    """Passages by document, in the order of the documents' names. The texts themselves are let go."""

    documents: dict[str, list[Passage]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def passages(self) -> list[Passage]:
        return [passage for some in self.documents.values() for passage in some]

    @property
    def content_hash(self) -> str:
        return content_hash(self.hashes)


def read_corpus(folder: Path, spec: GenerationSpec, seen: Callable[[str], None] | None = None) -> Corpus:
    """Raises `Incomplete` when no file of the folder can be used, with the reasons."""
    corpus = Corpus()
    for item in read_documents(folder, spec.limits):
        if isinstance(item, Skipped):
            corpus.skipped.append(item)
            continue
        # Passages carry their own text, so the document is not kept: a folder may be larger than memory.
        corpus.documents[item.name] = passages(item, spec.chunks)
        corpus.hashes[item.name] = hash_bytes(item.text.encode())
        if seen:
            seen(item.name)
    if not corpus.documents:
        reasons = [f"{one.name}: {one.reason}" + (f" ({one.detail})" if one.detail else "") for one in corpus.skipped]
        count = f"{len(reasons)} files cannot be used" if reasons else "it is empty"
        raise Incomplete(f"no document in {str(folder)!r}: {count}", problems=reasons[:_SHOWN])
    return corpus
