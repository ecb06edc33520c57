"""Yes and no, options by letter, refusals, negations and opposites, in English and Spanish."""

import re

from evergold.judge.quantities import plain
from evergold.text.words import stem

_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|afraid)|i (?:cannot|can't|can not|won't|don't know|do not know|have no)|"
    r"as an ai\b|"
    r"(?:do|does|did)(?: not|n't) (?:\w+ )?(?:provide|contain|mention|include|specify|state|have|offer|address|say)\b|"
    r"(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:mentioned|specified|provided|stated|included|available)\b|"
    r"no (?:\w+ )?(?:information|mention|answer|idea)\b|(?:not|in)sufficient information|not enough information|not sure|"
    r"unable to (?:answer|help|find|determine)|lo siento|no puedo|no lo se\b|no se (?:la|el|cual|que|quien|donde|cuando)\b|"
    r"no (?:tengo|dispongo de|hay) (?:\w+ )?(?:informacion|datos)|desconozco|no (?:se menciona|se especifica|se indica|consta))",
    re.IGNORECASE,
)
_LEAD = r"^\W*(?:(?:that|this|it|eso|esto)(?:'s| is| was| es)? |es |i (?:think|believe|would say) )?"
_YES = re.compile(
    rf"{_LEAD}(?:yes|yep|yeah|si|true|correct|right|indeed|verdadero|cierto|correcto|claro|"
    r"of course|certainly|affirmative|absolutely)\b"
)
_NO = re.compile(
    rf"{_LEAD}(?:no|not (?:true|correct|right|really|so|at all)|nope|false|incorrect|wrong|falso|incorrecto|negative|never)\b"
)
_LETTER = re.compile(
    r"^\W*(?:(?:the )?(?:correct |right )?(?:answer|option|choice)(?: is|:)?|"
    r"(?:la )?(?:respuesta|opcion)(?: correcta)?(?: es|:)?)?"
    r"\s*[(\[*]*([a-h])(?:[)\].:*]|\s*$|\s+[-–]|,)", re.IGNORECASE,
)  # fmt: skip
_LETTER_INSIDE = re.compile(
    r"\b(?:answer|option|choice|respuesta|opcion)(?: correcta)?(?: (?:is|es|should be|would be))?"
    r":?\s*(?:la |option |the )?[(\[*\"']*([a-h])\b(?! \w+ing)",
    re.IGNORECASE,
)
_OPTIONS = re.compile(r"(?:^|[\s(])([A-Ha-h])[).:]\s+(.+?)(?=\s+\(?[A-Ha-h][).:]\s|$)", re.DOTALL)
DENYING = """no not never none nobody nothing neither nor nowhere without cannot nunca ningun ninguno ninguna nadie nada tampoco
    jamas sin ni lack lacks lacked unable hardly rarely seldom barely scarcely apenas raramente"""
DENIALS = frozenset(DENYING.split())
_ONLY = re.compile(
    r"\b(?:nobody|no one|none|nothing|no \w+)(?: \w+)? (?:but|except|other than)\b|\b(?:nadie|nada) (?:mas que|salvo|excepto)\b|"
    r"\bno \w+ (?:mas que|sino)\b|\bnot only\b|\bno solo\b|\bno (?:more|less|fewer|later|earlier) than\b"
)
"""Words that deny in form and not in meaning: "nobody but members" is "only members"."""
PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non", "des")
SHORTEST_ROOT = 4
OPPOSITES = """increase/decrease rise/fall rose/fell higher/lower high/low more/less most/least before/after first/last
above/below open/closed opened/closed win/lose won/lost success/failure accept/reject accepted/rejected
approved/rejected allow/forbid allowed/forbidden enable/disable enabled/disabled enables/disables always/never
all/none north/south east/west northern/southern eastern/western male/female young/old younger/older
early/late earlier/later large/small larger/smaller largest/smallest big/small long/short good/bad
better/worse best/worst strong/weak hot/cold new/old true/false correct/incorrect legal/illegal
possible/impossible likely/unlikely safe/unsafe stable/unstable mutable/immutable public/private
internal/external maximum/minimum positive/negative profit/loss gain/loss buy/sell bought/sold import/export
start/end started/ended begin/finish began/finished enter/leave join/leave joined/left agree/disagree
support/oppose supported/opposed with/without include/exclude included/excluded inside/outside alive/dead
easy/difficult fast/slow faster/slower ascending/descending pass/fail passed/failed synchronous/asynchronous
encrypted/unencrypted required/optional guilty/innocent victory/defeat majority/minority many/few
permanent/temporary upper/lower left/right push/pull expand/reduce dependent/independent sorted/unsorted
valid/invalid aumenta/disminuye aumento/disminuyo sube/baja subio/bajo mayor/menor mas/menos antes/despues
primero/ultimo alto/bajo alta/baja grande/pequeno abierto/cerrado abierta/cerrada abre/cierra siempre/nunca
todos/ninguno norte/sur este/oeste verdadero/falso correcto/incorrecto seguro/inseguro segura/insegura
permitido/prohibido permite/prohibe facil/dificil rapido/lento gano/perdio compro/vendio con/sin dentro/fuera
publico/privado publica/privada posible/imposible obligatorio/opcional obligatoria/opcional gratis/pago
activa/inactiva activo/inactivo mutable/inmutable activa/desactiva habilita/deshabilita mejor/peor"""
PAIRS = frozenset(
    frozenset(pair)
    for one, other in (p.split("/") for p in OPPOSITES.split())
    for pair in ((one, other), (stem(one), stem(other)))
)


def refuses(text: str) -> bool:
    """Whether an answer declines to answer; only its beginning is looked at, where a refusal stands."""
    # Typographic apostrophes are as common as plain ones in answers of models.
    return bool(_REFUSAL.search(plain(text[:300]).replace("’", "'")))


def yes_or_no(text: str) -> bool | None:
    start = plain(text[:80])
    # "No" first: "No, that is correct" begins with it and means no.
    if _NO.search(start):
        return False
    return True if _YES.search(start) else None


def options(question: str) -> dict[str, str]:
    """The options a question offers, by letter."""
    options = {letter.lower(): text.strip(" .,;") for letter, text in _OPTIONS.findall(question[-4000:])}
    return options if len(options) >= 2 and "a" in options else {}


def chosen_letter(text: str, offered: dict[str, str]) -> str | None:
    """The option an answer chooses, by its letter or by its words."""
    text = plain(text.strip())
    match = _LETTER.search(text) or _LETTER_INSIDE.search(text)
    if match:
        return match.group(1).lower()
    named = [
        letter for letter, words in offered.items() if words and re.search(rf"\b{re.escape(plain(words))}\b", text)
    ]
    # An answer that names several options chooses none.
    return named[0] if len(named) == 1 else None


def denials(text: str) -> int:
    words = re.findall(r"[a-z']+", _ONLY.sub("only", plain(text).replace("’", "'")))
    return sum(word in DENIALS or word.endswith("n't") for word in words)


def contradicts(one: str, other: str, words: set[str], other_words: set[str]) -> bool:
    """Whether one text denies the other by a negation or by an opposite; both together cancel out."""
    # A negation of an opposite ("not closed" for "open") says the same.
    return (denials(one) % 2 != denials(other) % 2) != has_opposites(words, other_words)


def has_opposites(one: set[str], other: set[str]) -> bool:
    """Whether a word only one side has is the opposite of a word only the other side has."""
    return any(frozenset((a, b)) in PAIRS or negates(a, b) or negates(b, a) for a in one - other for b in other - one)


def negates(word: str, other: str) -> bool:
    """Whether a word is another one with a denying prefix: "ineffective" and "effect", "unlocked" and "locked"."""
    for prefix in PREFIXES:
        root = word.removeprefix(prefix).removeprefix("-")
        if root != word and len(root) >= SHORTEST_ROOT and len(other) >= SHORTEST_ROOT:
            short, long = sorted((root, other), key=len)
            if long.startswith(short):
                return True
    return False
