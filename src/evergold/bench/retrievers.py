"""Baseline retrievers: what a query finds with no model at all. A retriever worth its price must beat them.

`paths` matches words of the query with words of paths, `grep` counts the lines `git grep` finds, `bm25` ranks whole files
by BM25, `embedding` passages by static word vectors. All read the repository at the case's base commit, never the work
tree; their line ranges are the places that hold words of the query, or the passage most like it.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from evergold import plugins
from evergold.bench.retrieval import Spans, gold_of_case, merge_by_path
from evergold.calls.caller import failed_attempt
from evergold.errors import BadInput, EvergoldError, Unavailable
from evergold.model.case import Case, LineRange
from evergold.model.run import Attempt
from evergold.repo.git import Repo
from evergold.repo.history import TreeFile, files_at, grep
from evergold.seams import Retriever
from evergold.settings import Settings
from evergold.text.embed import Vectors, embedder
from evergold.text.likeness import bm25, count_words

FILES = 10
AROUND = 5
HITS_PER_FILE = 50
PASSAGE = 40  # lines that are compared with the query as one
# Bytes; larger files are data or generated, and would dominate the ranking by their length.
LARGEST = 200_000

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The last words are those of commit messages: nearly every message has them.
_STOP_WORDS = """
a an and are as at be but by can do for from has have if in into is it its not of on or so that the their then there this
to was were when which will with add added fix fixed remove removed use used make made refs
"""
_STOP = frozenset(_STOP_WORDS.split())


def words_of(text: str) -> list[str]:
    """Lower-case words, with identifiers taken apart; words every text has are left out."""
    parts = (part.lower() for word in _WORD.findall(text.replace("_", " ")) for part in _HUMP.split(word))
    return [part for part in parts if len(part) > 1 and part not in _STOP]


class PathRetriever:
    """Files whose path has most of the query's words, rare words counting more."""

    def retrieve(self, query: str, repo: Path, commit: str) -> Attempt:
        with Repo.open(repo) as opened:
            files = files_at(opened, commit)
        wanted = set(words_of(query))
        held = {file.path: set(words_of(file.path)) & wanted for file in files}
        seen = Counter(word for words in held.values() for word in words)
        scores = {
            path: sum(math.log(1 + len(files) / seen[word]) for word in words) for path, words in held.items() if words
        }
        return Attempt(case_id="", paths=tuple(_rank_best(scores)))


class GrepRetriever:
    """Files whose lines hold most of the query's words, words that few files have counting more."""

    def retrieve(self, query: str, repo: Path, commit: str) -> Attempt:
        lines: dict[str, set[int]] = {}
        scores: dict[str, float] = {}
        with Repo.open(repo) as opened:
            for word in dict.fromkeys(words_of(query)):
                hits = grep(opened, commit, [word], HITS_PER_FILE)
                holding = {path for path, _ in hits}
                for path, line in hits:
                    lines.setdefault(path, set()).add(line)
                for path in holding:
                    # A word that is in few files weighs more.
                    scores[path] = scores.get(path, 0.0) + 1 / (1 + len(holding))
        best = _rank_best(scores)
        return Attempt(case_id="", paths=tuple(best), ranges=_widen_hits({path: lines[path] for path in best}))


class Bm25Retriever:
    """Whole files by BM25; a file is read and counted once, however many commits hold it."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def retrieve(self, query: str, repo: Path, commit: str) -> Attempt:
        wanted = tuple(dict.fromkeys(words_of(query)))
        with Repo.open(repo) as opened:
            files = files_at(opened, commit)
            # Words per blob; what is large or binary has none.
            self._counts |= {blob: Counter(words_of(text)) for blob, text in _new_texts(opened, files, self._counts)}
            documents = {file.path: self._counts[file.blob] for file in files}
            lengths = {path: counts.total() for path, counts in documents.items()}
            best = _rank_best(bm25(wanted, count_words(documents), lengths))
            blobs = {file.path: file.blob for file in files}
            texts = zip(best, opened.objects.read_many([blobs[path] for path in best]), strict=True)
            # Lines that hold a word of the query.
            lines = {
                path: {
                    n for n, line in enumerate(text.decode("utf-8", "replace").split("\n"), 1) if _holds(line, wanted)
                }
                for path, text in texts
            }
        return Attempt(case_id="", paths=tuple(best), ranges=_widen_hits(lines))


class EmbeddingRetriever:
    """Passages of files by the likeness of static word vectors to the query; a file is as like as its best passage."""

    def __init__(self) -> None:
        made = embedder()
        if made is None:
            raise Unavailable("retriever:embedding needs wordllama: pip install 'evergold[embeddings]'")
        self._embedder = made
        self._passages: dict[str, tuple[Vectors, int]] = {}

    def retrieve(self, query: str, repo: Path, commit: str) -> Attempt:
        wanted = self._embedder.vectors([" ".join(words_of(query))])[0]
        with Repo.open(repo) as opened:
            files = files_at(opened, commit)
            for blob, text in _new_texts(opened, files, self._passages):
                lines = text.split("\n")
                passages = [
                    " ".join(words_of("\n".join(lines[at : at + PASSAGE]))) for at in range(0, len(lines), PASSAGE)
                ]
                self._passages[blob] = self._embedder.vectors(passages), len(lines) - (not lines[-1])
        likeness = {file.path: self._passages[file.blob][0] @ wanted for file in files}
        lengths = {file.path: self._passages[file.blob][1] for file in files}
        best = _rank_best({path: float(each.max()) for path, each in likeness.items() if lengths[path]})
        starts = {path: int(likeness[path].argmax()) * PASSAGE for path in best}
        spans = {path: [(at + 1, max(at + 1, min(at + PASSAGE, lengths[path])))] for path, at in starts.items()}
        return Attempt(case_id="", paths=tuple(best), ranges=_ranges_of(spans))


def _new_texts(opened: Repo, files: list[TreeFile], known: Container[str]) -> Iterator[tuple[str, str]]:
    """The text of each blob that is not known; what is large or binary has none."""
    new = [blob for blob in dict.fromkeys(file.blob for file in files) if blob not in known]
    for blob, content in zip(new, opened.objects.read_many(new), strict=True):
        yield blob, "" if len(content) > LARGEST or b"\0" in content[:8000] else content.decode("utf-8", "replace")


@lru_cache(maxsize=65536)
def _holds(line: str, words: tuple[str, ...]) -> bool:
    return not set(words_of(line)).isdisjoint(words)


def _rank_best(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda path: (-scores[path], path))[:FILES]


def _widen_hits(lines: dict[str, set[int]]) -> tuple[LineRange, ...]:
    """Ranges of a few lines around each hit, merged; files in the order given."""
    hits = ((path, number) for path, numbers in lines.items() for number in numbers)
    return _ranges_of(merge_by_path((path, max(1, number - AROUND), number + AROUND) for path, number in hits))


def _ranges_of(lines: Spans) -> tuple[LineRange, ...]:
    return tuple(LineRange(path=path, start=start, end=end) for path, spans in lines.items() for start, end in spans)


ORACLE = "oracle"


class RetrieverTarget:
    """`retriever:NAME`: looks for what each context case needs, in a repository at the case's base commit."""

    def __init__(self, name: str, retriever: Retriever, repo: Path) -> None:
        self._name, self._retriever, self._repo = name, retriever, repo
        self._one_at_a_time = Lock()

    @property
    def identity(self) -> str:
        return f"retriever:{self._name}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        if not case.base_commit or not case.input.strip():
            return failed_attempt(case, trial, "incomplete_case", "the case lacks its query or its base commit")
        try:
            result = await asyncio.to_thread(self._retrieve, case.input, case.base_commit)
        except EvergoldError as problem:
            return failed_attempt(case, trial, "retriever_failed", problem.message)
        return result.model_copy(update={"case_id": case.id, "trial": trial})

    def _retrieve(self, query: str, commit: str) -> Attempt:
        """Retrievers keep what they have read, and are not asked to share it between threads."""
        with self._one_at_a_time:
            return self._retriever.retrieve(query, self._repo, commit)


class OracleTarget:
    """`retriever:oracle` answers with the gold itself: whatever scores it below 1 is wrong with the metric."""

    @property
    def identity(self) -> str:
        return f"retriever:{ORACLE}"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        gold = gold_of_case(case).edited
        return Attempt(case_id=case.id, trial=trial, ranges=_ranges_of(gold.lines), paths=gold.files)


def make_retriever(address: str, params: Mapping[str, Any], settings: Settings) -> RetrieverTarget | OracleTarget:
    if address == ORACLE:
        return OracleTarget()
    search, repo = plugins.load("retrievers", address), params.get("repo") or settings.review_repo_dir
    if not isinstance(repo, str | Path):
        raise BadInput(f"retriever:{address} needs a repository; name it with --repo PATH, or set review.repo_dir")
    return RetrieverTarget(address, search, Path(repo))
