"""Keys by which questions of a day are compared: equal questions share the first, like ones the second."""

import hashlib
import re
import zlib

from evergold.text.folding import folded

LOOKED_AT = 2000
SHORT = 4  # so few words may mean something else in every session ("yes, please")
SKETCH = 2
STEM = 6
CALLS = '[{"name":'  # how a reply of calls alone is written
LAST = "z"  # sorts behind every hexadecimal number
_WORDS = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_SMALL = 3


def likeness(trace_id: str, question: str, reply: str | None = None) -> tuple[str, str, str]:
    """Give the key of the question, that of its kind, and the trace's own place in a seeded order.

    The kind is a bottom-k sketch of the word stems with numbers masked: questions that share most words share it. A trace whose
    reply is calls alone comes after all others: an SDK that is traced call by call sends one before the answer to the same
    question, and the answer stands for that question.
    """
    words = _WORDS.findall(folded(question[:LOOKED_AT]))
    # A short question is compared within its own trace only, so it is never equal to another.
    exact = " ".join(words) if len(words) > SHORT else f"{' '.join(words)}|{trace_id}"
    long = {word for word in words if len(word) > _SMALL}
    stems = {(word if word.isalpha() else _DIGITS.sub("#", word))[:STEM] for word in long} or {" ".join(words)}
    # The smallest checksums of all stems: two sets that share most stems share their smallest with high probability.
    sketch = sorted([zlib.crc32(stem.encode("utf-8", "surrogatepass")) for stem in stems])[:SKETCH]
    behind = LAST if (reply or "").startswith(CALLS) else ""
    return _hash(exact), "".join(f"{number:08x}" for number in sketch), behind + _hash(f"evergold:{trace_id}")


def _hash(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]
