"""Measure how much a statement of an answer is about the question: its words, their meaning, the kind of answer asked for.

"Goethe." answers "Who wrote it?" and shares no word with it. So a statement also counts by its form: a question for a
number, a time, a person, a reason or a yes is answered by a statement that has one.
"""

import re
from collections.abc import Sequence

from evergold.judge.polarity import refuses, yes_or_no
from evergold.judge.quantities import dates, plain, quantities, times
from evergold.text.embed import Embedder
from evergold.text.words import Text

RELEVANT_FROM = 0.3
SHORT_ANSWER = 2
FITS = 0.5
_FORMS = (
    (
        "number",
        r"how (?:many|much|long|far|old|tall|big|often|fast|heavy)|"
        r"what (?:number|percentage|share|price|cost)|cuant[oa]s?|que precio",
    ),
    (
        "time",
        r"when\b|what (?:year|date|time|day)|which (?:year|day|month)|cuando|que (?:ano|dia|fecha|hora)|en que (?:ano|mes|fecha)",
    ),
    ("name", r"who\b|whose|where\b|which|quien|donde|cual|what is the (?:name|capital|title)|como se llama"),
    ("reason", r"why\b|por que|what caused"),
    ("way", r"how (?:do|does|can|to|should|did|is|are)|como\b"),
    (
        "yes",
        r"^(?:is|are|was|were|do|does|did|can|could|should|will|has|have)\b|^(?:es|esta|hay|tiene|puede|se puede)\b",
    ),
)
_REASON = re.compile(r"\b(?:because|since|due to|caused|so that|therefore|porque|debido|ya que|para que)\b")
_WAY = re.compile(
    r"\b(?:use|run|click|press|open|set|add|call|first|then|by \w+ing|usa|usar|ejecuta|pulsa|abre|primero|luego)\b|`"
)


def relevance(question: str, statements: Sequence[str], embedder: Embedder | None) -> list[float]:
    """How much each statement is about the question, from 0 to 1; from `RELEVANT_FROM` it counts as relevant."""
    content = set(Text(question).content)
    contents = [set(Text(text).content) for text in statements]
    shared = [min(1.0, 2 * len(content & words) / max(1, len(content))) for words in contents]
    near = [0.0] * len(statements)
    if embedder is not None and content and statements:
        near = [float(cosine) for cosine in embedder.vectors(list(statements)) @ embedder.vectors([question])[0]]
    # A bare answer ("Goethe.") shares no word with its question and is still one.
    short = [RELEVANT_FROM if len(words) <= SHORT_ANSWER else 0.0 for words in contents]
    fits = [FITS if _fits(question, text) else 0.0 for text in statements]
    values = [min(1.0, max(parts)) for parts in zip(shared, near, short, fits, strict=True)]
    # A refusal is about the question and answers nothing.
    return [0.0 if refuses(text) else value for text, value in zip(statements, values, strict=True)]


def _fits(question: str, statement: str) -> bool:
    """Whether a statement has the form that the question asks for."""
    asked = plain(question[:500]).strip(" ¿?")
    form = next((name for name, pattern in _FORMS if re.search(rf"(?:^|\b)(?:{pattern})", asked)), "")
    if form == "number":
        return bool(quantities(statement))
    if form == "time":
        return bool(dates(statement) or times(statement))
    if form == "name":
        return len(statement.split()) <= 12 and (bool(Text(statement).names) or len(statement.split()) <= 4)
    if form == "reason":
        return bool(_REASON.search(plain(statement)))
    if form == "way":
        return bool(_WAY.search(plain(statement)))
    return form == "yes" and yes_or_no(statement) is not None
