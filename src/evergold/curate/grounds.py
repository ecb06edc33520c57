"""Say whether a remark has grounds enough to call the answer before it a failure.

Assistants apologise for anything, and grant what is not so; people go on, change their minds and play. One sign alone is right in
three of four cases, so a failure needs two: the message names a fault, and the next answer owns up to it or takes over
what the message says is right. What was measured: `docs/measurements/curation.md`.
"""

import re

from evergold.model.check import OPENING, admits, owns_up
from evergold.text.words import Text, fold_text

READS = 0.25  # at least, as a remark by the encoder alone: "it is not far from here" may be news and no remark
CLEARLY_READS = 0.8  # where the message names no fault
FEW = 12  # words that say what is right instead; longer messages share words with any answer
_FAULT = re.compile(
    r"\b(?:wrong(?:ly)?|incorrect(?:ly|[oa]s?)?|inaccurate|mistake[sn]?|misunderst\w+|\w*errors?|exception|traceback|bugs?|"
    r"broken|corrupted|fail(?:s|ed|ing)?|miss(?:ing|ed)|forgot|ignored|no such|"
    r"same (?:\w+ )?(?:error|answer|code|result|thing|issue|problem|mistake)|"
    r"(?<!\bi )(?<!\bwe )(?:(?:is|are|was|were|does|did|has|could|should|wo)(?:n'?t| not)|can(?:'?t|not| not))|"
    r"(?:you|u|they|these|those) (?:\w+ )?do(?:n'?t| not)|i (?:do not|don'?t) (?:think|believe)|"
    r"(?:it|that|this)'?s not?|still not?|not (?:true|right|correct|valid|possible|working|found|available|what|how|\w+ed)|"
    r"falso|equivoc\w+|mal|fall[ao]|faltan?|olvidaste|mism[oa] (?:error|respuesta|codigo)|sigue (?:sin|igual|dando|fallando)|"
    r"no (?:es|son|era|eran|esta|estan|hay|funciona|existe|sirve|has|hiciste|respondiste|contestaste|incluye|cumple))\b"
)
_REFUSES = re.compile(r"(?:nope|not?)\b(?!,? (?:i mean|worries|problem|need|thank|gracias|hay problema))")
_CONFIRMS = re.compile(r"(?:yes|yeah|si)\b")
_WISHES = re.compile(
    r"\b(?:i (?:need|want|mean|meant|prefer|would|'d|do(?:n'?t| not)|did(?:n'?t| not))|"
    r"quiero|necesito|prefiero|quise decir|make|try)\b"
)
_DENIES = re.compile(r"\b(?:not|no) (?:\w{1,3} )*(\w{2,})")
_PRAISE = re.compile(
    r"\b(?:work\w*|solved|fixed|resolved|done|verified|success\w*|correct(?:ly)?|right|true|yes|yep|exact(?:ly)?|agreed?|"
    r"perfect\w*|great|good|nice|cool|excellent|awesome|amazing|wonderful|brilliant|fantastic|super|love\w*|like|better|"
    r"help(?:s|ed|ful)|thank\w*|thx|got it|makes sense|"
    r"funcion\w*|sirvi\w*|resuelto|solucion\w*|listo|si|correct[oa]|exact\w+|perfect\w+|genial|excelente|bien|buen\w*|"
    r"gracias|encant\w+|ayud\w+|mejor|claro|vale)\b"
)


def praises(message: str) -> bool:
    """Whether a message says in words that something is right or works: what only reads like it may be the next wish."""
    return _PRAISE.search(fold_text(message)) is not None


def find_grounds(message: str, answer: str | None, reply: str | None, read: float) -> str:
    """Name the grounds for a failure; empty where there are too few. `read` is how much the message alone reads as a remark."""
    text, words = fold_text(message).strip(" ¡"), set(re.findall(r"\w+", fold_text(answer or "")))
    # "at six, not at five" after "at five"; "no, at six".
    opposed = _REFUSES.match(text) or not words.isdisjoint(_DENIES.findall(text))
    if (opposed or _FAULT.search(text)) and owns_up(reply) and read >= READS:
        return "names a fault, and the next answer owns up to it"
    states = "?" not in text and len(text.split()) <= FEW and read >= CLEARLY_READS and not _WISHES.search(text)
    granted = (admits(reply) or owns_up(reply)) and not _CONFIRMS.match(fold_text(reply or "").strip(" ¡"))
    if states and granted and (_content(message) - _content(answer)) & _content((reply or "")[:OPENING]):
        return "says what is right, and the next answer takes it over"
    return ""


def _content(text: str | None) -> frozenset[str]:
    return frozenset(word for word in Text(text or "").content if len(word) > 2 or word[0].isdigit())
