"""Measure how much a statement of an answer is about the question: its words, their meaning, the kind of answer asked for.

"Goethe." answers "Who wrote it?" and shares no word with it. So a statement also counts by its form: a question for a
number, a time, a person, a reason or a yes is answered by a statement that has one. A regression weighs all of it; its
weights and thresholds are in `relevance.json`, made by `scripts/judge_relevance/fit.py`.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from evergold.judge.answer_words import ALL_STOPWORDS, SPANISHWORDS
from evergold.judge.polarity import refuses, yes_or_no
from evergold.judge.quantities import dates, plain, quantities, times
from evergold.judge.small_model import UNKNOWN, Array, ClaimModel
from evergold.judge.support import SupportModel, read_fit
from evergold.text.words import Text, stem

LONGEST = 2_000
WORDS = ("shared", "fits", "fits_alone", "lacks_form", "brief", "strange")
VECTORS = ("near_words", "nearest", "cosine", "bearing")
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
    ("place", r"where\b|donde\b|in (?:what|which) (?:place|city|country|town)|en que (?:lugar|ciudad|pais)"),
    ("name", r"who\b|whose|which|quien|cual|what is the (?:name|capital|title)|como se llama"),
    ("reason", r"why\b|por que|what caused"),
    ("way", r"how (?:do|does|can|to|should|did|is|are)|como\b"),
    (
        "yes",
        r"^(?:is|are|was|were|do|does|did|can|could|should|will|has|have)\b|^(?:es|esta|hay|tiene|puede|se puede)\b",
    ),
)
SPANISH = frozenset(SPANISHWORDS.split()) - {"a", "o", "u", "y", "me", "este", "as"}
OPENLY = 0.75
_BECAUSE = re.compile(r"\W*(?:because|since|due to|on account of|porque|debido a|ya que|a causa de)\b")
_REASON = re.compile(r"\b(?:because|since|due to|caused|so that|therefore|porque|debido|ya que|para que)\b")
_WAY = re.compile(
    r"\b(?:use|run|click|press|open|set|add|call|first|then|by \w+ing|usa|usar|ejecuta|pulsa|abre|primero|luego)\b|`"
)
_LOCATION = re.compile(
    r"^\W*(?:it is |it's |they are |esta |estan )?(?:at|in|on|under|near|next to|behind|opposite|above|below|inside|between|"
    r"en|al|a la|junto|cerca|detras|debajo|encima|dentro|frente)\b"
)
_MOMENT = re.compile(
    r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|lunes|martes|miercoles|jueves|viernes|sabado|domingo|"
    r"today|tomorrow|yesterday|tonight|noon|midnight|hoy|manana|ayer|mediodia|medianoche|ago|hace|"
    r"(?:next|last|this|every|each) (?:day|week|month|year|morning|evening|spring|summer|autumn|winter)|"
    r"within|in the (?:morning|afternoon|evening)|de la (?:manana|tarde|noche)|que viene|o'clock|a las?\b)"
)
_AGREES = re.compile(
    r"^\W*(?:(?:i|it|he|she|they|we|you|there|that) (?:do|does|did|is|are|was|were|can|could|has|have|will|would|should)"
    r"(?: not|n't)?\W*$|(?:unfortunately|probably|certainly|definitely|partly|only|mostly|sometimes|rarely|depende|"
    r"it depends|sure|of course|por supuesto|probablemente|a veces)\b)"
)


def relevance(question: str, statements: Sequence[str], model: ClaimModel | None) -> list[float]:
    """How likely each statement is about the question; from the threshold of `shipped_relevance` it counts as relevant."""
    fitted = shipped_relevance().models[basis(question, model)]
    model = None if basis(question, model) == "words" else model
    rows = relevance_features([(question, text) for text in statements], model)
    values = [fitted.probability(row) for row in rows]
    return [_decide(question, text, value) for text, value in zip(statements, values, strict=True)]


def _decide(question: str, statement: str, value: float) -> float:
    """A statement that opens as the question asks ("Yes", "Because") answers it, however long; a refusal never does."""
    if refuses(statement):
        return 0.0
    form = _form(question)
    opens = form == "yes" and yes_or_no(statement) is not None
    return max(value, OPENLY) if opens or (form == "reason" and _BECAUSE.match(plain(statement))) else value


def basis(question: str, model: ClaimModel | None) -> str:
    """What a question is judged by: `vectors`, or `words` without a model and for Spanish, whose words the model splits."""
    spanish = len(set(plain(question).strip("¿?").split()) & SPANISH)
    return "words" if model is None or "¿" in question or spanish >= 2 else "vectors"


def relevance_features(pairs: Sequence[tuple[str, str]], model: ClaimModel | None) -> list[dict[str, float]]:
    """Shared words, the form asked for and the length; with a model how near the words are, and whether it sees a bearing."""
    rows = [_by_words(question[:LONGEST], statement[:LONGEST]) for question, statement in pairs]
    if model is None:
        return rows
    there = [(question[:LONGEST], statement[:LONGEST]) for question, statement in pairs]
    answers = model.probabilities([*there, *((statement, question) for question, statement in there)])
    unknown = answers[:, UNKNOWN].reshape(2, -1).mean(axis=0)
    return [
        row
        | _nearness(_content_words(_subject(pair[0])), _content_words(pair[1]), model)
        | {"bearing": _log_odds(1 - share)}
        for row, pair, share in zip(rows, there, unknown.tolist(), strict=True)
    ]


def _log_odds(share: float) -> float:
    bounded = min(max(share, 1e-3), 1 - 1e-3)
    return math.log(bounded / (1 - bounded))


def _by_words(question: str, statement: str) -> dict[str, float]:
    asked, answered = _content_words(_subject(question)), _content_words(statement)
    wanted, words = set(map(stem, asked)), set(map(stem, answered))
    fits = float(_fits(question, statement))
    others = len(words - wanted)
    return {
        "shared": min(1.0, 2 * len(wanted & words) / max(1, len(wanted))),
        "fits": fits,
        "fits_alone": fits / (1 + others),
        "lacks_form": float(not fits and _form(question) in ("number", "time")),
        "brief": 1 / (1 + len(words)),
        "strange": math.log1p(others),
    }


def _nearness(asked: list[str], answered: list[str], model: ClaimModel) -> dict[str, float]:
    """How near each word of the statement is to the nearest one of the question, the nearest two, and the whole texts."""
    if not asked or not answered:
        return {"near_words": 0.0, "nearest": 0.0, "cosine": 0.0}
    one, other = model.word_vectors(asked), model.word_vectors(answered)
    near = np.sort((other @ one.T).max(axis=1))[::-1]
    return {"near_words": float(near.mean()), "nearest": float(near[:2].mean()), "cosine": _cosine(one, other)}


def _content_words(text: str) -> list[str]:
    """The different words that carry meaning; every word where a text has only function words."""
    words = list(dict.fromkeys(map(plain, Text(text).words)))
    return [word for word in words if word not in ALL_STOPWORDS] or words


def _subject(question: str) -> str:
    """A question without the words that say what kind of answer it asks for ("what year", "how many")."""
    asked = plain(question)
    rest = re.sub("|".join(rf"\b(?:{pattern})" for _, pattern in _FORMS if not pattern.startswith("^")), " ", asked)
    return rest if rest.strip(" ¿?") else asked


def _cosine(one: Array, other: Array) -> float:
    first, second = one.mean(axis=0), other.mean(axis=0)
    return float(first @ second / max(1e-9, float(np.linalg.norm(first) * np.linalg.norm(second))))


@dataclass(frozen=True)
class RelevanceWeights:
    """Two regressions, `vectors` and `words`, the threshold of each from which a statement is relevant, and their hash."""

    models: Mapping[str, SupportModel]
    thresholds: Mapping[str, float]
    digest: str


@cache
def shipped_relevance() -> RelevanceWeights:
    data, digest = read_fit("relevance.json")
    models = {name: SupportModel(**data[name]) for name in ("vectors", "words")}
    return RelevanceWeights(models, data["thresholds"], digest)


def _fits(question: str, statement: str) -> bool:
    """Whether a statement has the form that the question asks for."""
    form = _form(question)
    if form == "number":
        return bool(quantities(statement))
    if form == "time":
        return bool(dates(statement) or times(statement) or _MOMENT.search(plain(statement)))
    if form == "place":
        return bool(_LOCATION.search(plain(statement))) or _names_one(statement)
    if form == "name":
        return _names_one(statement)
    if form == "reason":
        return bool(_REASON.search(plain(statement)))
    if form == "way":
        return bool(_WAY.search(plain(statement)))
    return form == "yes" and (yes_or_no(statement) is not None or bool(_AGREES.search(plain(statement))))


def _names_one(statement: str) -> bool:
    """Whether a statement is short enough to be a name, or short and has one."""
    return len(statement.split()) <= 12 and (bool(Text(statement).names) or len(statement.split()) <= 4)


def _form(question: str) -> str:
    """What kind of answer a question asks for: a number, a time, a name, a reason, a way, a yes; or none of these."""
    asked = plain(question[:500]).strip(" ¿?")
    return next((name for name, pattern in _FORMS if re.search(rf"(?:^|\b)(?:{pattern})", asked)), "")
