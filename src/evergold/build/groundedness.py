"""Ask the offline judge whether the contexts of sampled records support their references, sentence by sentence.

The judge takes tens of milliseconds for a sentence, so a bounded number of records of each split is drawn by seed, and the
first sentences of each are judged. A sentence is held against the contexts that it cites; one that cites none, against all.
A sentence that the contexts have word by word needs no judge.

What a record names as its source is compared with the sources of its contexts, without a judge. A record that names the
document it was made from (`metadata.source_path`, or `document` where that is a file) has at least one context from it, and
a citation names the source of a context. Documents are compared by their file name without ending, page and folder:
`raw/2510.25529.pdf` and `processed/2510.25529.txt#page=28` are the same document.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
import orjson

from evergold.build.manifest import SHOWN as EXAMPLES
from evergold.build.manifest import BuildFinding
from evergold.build.records import CITATIONS, REFERENCES, CitedSource, Metadata, first_text, is_label
from evergold.text.markers import cited_sentences, is_claim, markers, without_markers

if TYPE_CHECKING:
    from evergold.judge.offline import OfflineJudge

# The first sentences of a reference. Judging all of a long one would cost seconds a record.
SENTENCES = 10
# Characters of a reference or context that are read at all.
LOOKED_AT = 20_000
SHOWN = 120
_LABEL = re.compile(r"^\[(\d{1,6})\]\s*")


class GroundingSample:
    """The records of one split that the judge reads."""

    def __init__(self, split: str, count: int, wanted: int, seed: int) -> None:
        # The seed is salted, so that the judged records are not the ones drawn for people to read.
        drawn = random.Random(f"grounded:{seed}:{split}").sample(range(1, count + 1), min(wanted, count))
        self._numbers = frozenset(drawn)
        self._lines: list[tuple[int, bytes]] = []

    def add(self, number: int, line: bytes) -> None:
        """Keep a line if it is drawn."""
        if number in self._numbers:
            self._lines.append((number, line))

    def measure(self, finding: BuildFinding, decode: Callable[[bytes], Any], tolerated: float) -> None:
        """Name each record with an unsupported sentence; the finding fails where their share is above `tolerated`."""
        from evergold.judge.offline import OfflineJudge

        judged = supported = 0
        problems = []
        judge: OfflineJudge | None = None
        # Repeated records are judged once: copies of a question share reference and contexts.
        known: dict[tuple[str, ...], list[str] | None] = {}
        for where, reference, contexts in self._records(decode):
            judge = judge or OfflineJudge()
            texts = (reference, *contexts)
            if texts not in known:
                known[texts] = find_unsupported(reference, contexts, judge)
            loose = known[texts]
            if loose is None:
                continue
            judged += 1
            supported += not loose
            # One example for each record: the share counts records, not sentences.
            problems += [f"{where}: {problem}" for problem in loose[:1]]
        if judged == 0:
            reason = "no drawn record has contexts and a sentence to judge"
            finding.skip(reason if self._numbers else "--judged 0 asks for none")
            return
        assert judge is not None
        finding.measured = {"judged": judged, "supported": supported, "judge": judge.identity}
        if len(problems) > tolerated * judged:
            for problem in problems:
                finding.fail(problem)
        else:
            finding.count, finding.examples = len(problems), problems[:EXAMPLES]

    def _records(self, decode: Callable[[bytes], Any]) -> Iterator[tuple[str, str, list[str]]]:
        for number, line in self._lines:
            try:
                record = decode(line)
                contexts = [str(orjson.loads(bytes(raw))) for raw in getattr(record, "contexts", None) or ()]
            except (ValueError, RecursionError):
                continue  # `schema` names it
            reference = first_text(record, REFERENCES)
            if reference and contexts:
                yield f"line {number} ({record.task_id})", reference, contexts


def find_unsupported(reference: str, contexts: Sequence[str], judge: "OfflineJudge") -> list[str] | None:
    """What the contexts do not support of a reference, in words; None where it has no sentence to judge."""
    claims = [part for part in cited_sentences(reference[:LOOKED_AT]) if is_claim(part) and not part.endswith("?")]
    if not claims:
        return None
    by_contexts: dict[tuple[int, ...], list[str]] = defaultdict(list)
    # A context is cited by its label where contexts have labels, else by its position from 1.
    labels = {int(label[1]): index for index, text in enumerate(contexts) if (label := _LABEL.match(text))}
    indexes = labels or {index + 1: index for index in range(len(contexts))}
    for claim in claims[:SENTENCES]:
        cited = tuple(dict.fromkeys(indexes[number] for number in markers(claim) if number in indexes))
        by_contexts[cited or tuple(range(len(contexts)))].append(without_markers(claim))
    problems = []
    for used, texts in by_contexts.items():
        passages = [_LABEL.sub("", contexts[index][:LOOKED_AT]) for index in used]
        problems += _unsupported_by(passages, texts, judge)
    return problems


def _unsupported_by(passages: Sequence[str], claims: Iterable[str], judge: "OfflineJudge") -> list[str]:
    flat = [_flatten(passage) for passage in passages]
    asked = [claim for claim in claims if not any(_flatten(claim).rstrip(".!?") in passage for passage in flat)]
    if not asked:
        return []
    answers = judge.supports(asked, judge.evidence(list(passages)))
    words = {"contradicted": "the contexts contradict", "not_found": "the contexts do not support"}
    return [
        f"{words[answer.verdict]} “{claim[:SHOWN]}” (support {answer.supported:.2f})"
        for claim, answer in zip(asked, answers, strict=True)
        if answer.verdict in words
    ]


def _flatten(text: str) -> str:
    return " ".join(text.casefold().split())


# An ending begins with a letter: in `2510.25529` the digits after the dot are part of the name.
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}$")


def source_problem(record: Any) -> str | None:
    """What does not match in a record; None where everything matches, or nothing can be compared."""
    sources = getattr(record, "sources", None)
    if not isinstance(sources, list) or not sources or not getattr(record, "contexts", None):
        return None
    # Titles and row numbers are no locations; without any location there is nothing to compare.
    known = {document_of(source) for source in sources if is_location(source)}
    if not known:
        return None
    metadata = getattr(record, "metadata", None)
    name, path = "metadata.source_path", ""
    if isinstance(metadata, Metadata) and not (path := _text(metadata.source_path)):
        document = _text(metadata.document)
        name, path = "metadata.document", document if is_location(document) else ""
    if path and document_of(path) not in known:
        return f"none of its {len(sources)} contexts comes from {name} {path!r}; the first is from {sources[0]!r}"
    # Both names occur: of the record, and of the answer alone.
    for field in CITATIONS:
        for citation in getattr(record, field, None) or ():
            if problem := _cited_wrongly(citation, record, known):
                return f"{field}: {problem}"
    return None


@lru_cache(maxsize=4096)
def document_of(source: str) -> str:
    """The name of a document, however its page, folder and ending are written."""
    path = re.split(r"[#?]", unquote(source), maxsplit=1)[0].replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2].casefold()
    return _ENDING.sub("", name) or name


@lru_cache(maxsize=4096)
def is_location(source: str) -> bool:
    """Whether a source is a path or an address; the number of a row or a title cannot be compared with one."""
    return bool("/" in source or "\\" in source or "#" in source or _ENDING.search(source))


def _cited_wrongly(citation: CitedSource, record: Any, known: set[str]) -> str | None:
    source = _text(citation.source) if isinstance(citation, CitedSource) else ""
    if not is_location(source):
        return None
    if document_of(source) not in known:
        return f"{source!r} is the source of no context"
    marker = bytes(citation.marker).decode()
    if marker.isdigit() and is_label(marker, record.contexts) and int(marker) <= len(record.sources):
        own = record.sources[int(marker) - 1]
        if is_location(own) and document_of(own) != document_of(source):
            return f"[{marker}] names {source!r}, its context comes from {own!r}"
    return None


def _text(raw: msgspec.Raw) -> str:
    """A JSON text; empty for anything else."""
    return "" if not raw or memoryview(raw)[0] != ord('"') else str(orjson.loads(memoryview(raw)))
