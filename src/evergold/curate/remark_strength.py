"""What an alarm rests on: words that speak of the answer, or values and words alone that differ from it.

Chats are full of numbers and negations that judge nothing: a seat that is chosen, the next task with other values, a wish ("no
museums, please"). Where nothing in a message speaks of the answer, a difference is a hint and no alarm (`remark_model.py`).
"""

import re

from evergold.curate.remark_features import ROOT, MessageFeatures

STATEMENT = 12  # words of a statement of fact that may replace what the answer stated
CHOICE = 5  # words of a message that only chooses
BARE = 3  # words of a message that is only a value
DENYING_WORDS = 20  # words of a message that denies something of the answer
# Cues that speak of the answer wherever they stand.
SPEAKING = frozenset(
    [
        "denial",
        "wrong",
        "wrong_of_answer",
        "wrong_opens",
        "fails",
        "i_said",
        "i_meant",
        "understands_nothing",
        "doubts",
        "actually",
        "opposite",
        "source",
        "gives_up",
    ]
)
ADDRESSED = """you your you're youre u ur this that that's thats it it's bot answer answers response responses service chat
esto eso tu tus usted respuesta respuestas servicio"""
PEOPLE = """they they're he she he's she's people person women men woman man guys kids children his her their ellos ella gente"""
_ADDRESSED, _PEOPLE = frozenset(ADDRESSED.split()), frozenset(PEOPLE.split())
_WISHING = frozenset({"orders", "wants", "opinion", "asks", "praise", "thanks", "affirms"})
# Verbs of `you_did` that name no fault: "you gave me four, now the next four", "how you counted".
_NEUTRAL = re.compile(
    r"\b(?:got|put|gave|give|sent|booked|ordered|used|wrote|listed|counted|added|translated|included|charged|told|"
    r"have it|pusiste|mandaste|diste|dijiste|hiciste|traduciste|escribiste|enviaste|usaste|contaste|sumaste|"
    r"reservaste|apuntaste|mandas|dices|pones|has (?:puesto|mandado|dado|dicho|hecho|escrito|enviado|usado|"
    r"traducido|apuntado|reservado))$"
)
_QUOTES_ASSISTANT = re.compile(
    r"\b(?:you|u)(?:'ve| have)? (?:just )?(?:said|told|wrote|mentioned|claimed)\b|\b(?:dijiste|has dicho|decias)\b"
)
_PREFERENCE = re.compile(
    r"\b(?:not interested|no(?:t)? need|(?:don't|dont|do not|won't|will not) (?:want|need|like|use|include|add|put|"
    r"write|mention)|"
    r"without|please|what about|how about|no \d|por favor|que tal|no me interesa\w*|no (?:quiero|necesito|queremos|"
    r"necesitamos)|sin)\b"
)
_SELF = re.compile(
    r"^(?:(?:no|nope|well|but|and|so|yes|yeah|ok|oh|lol|bueno|pues|y|pero|si),? )*(?:(?:i|i'm|im|i've)(?! (?:think|"
    r"believe|am afraid|afraid|thought)\b)|my|we|we're|our|yo|mi|soy|estoy|tengo|me|nosotros)\b"
)
_OTHERS_DENY = re.compile(  # "X isn't", "the points are not", "did not send": said of things, not of users
    r"\b(?:is|are|was|were|has|had|did|does)(?:n't|nt| not| never)\b(?! (?:know|want|like|feel|think|care|need|mean|"
    r"matter)\b)|"
    r"\b(?!(?:i|you|we|they|u|who|and|but|so)\b)\w+ (?:don't|dont|do not)\b(?! (?:know|want|like|feel|think|care|"
    r"need|mean|matter)\b)|"
    r"\b(?:no|nunca) (?:es|son|era|eran|fue|fueron|esta|estan|tiene|tienen|hay|se|lleva|abre|cierra)\b"
)
# "in 1955, not 1950", "not Sunday!": the word behind the negation is the answer's.
_INSTEAD = re.compile(
    r"(?:[,;.!] (?:and |but |y )?|^)(?:not|no)(?: (?:the|a|an|in|at|on|for|to|el|la|los|las|un|una|en|a|de|con|"
    r"con el|a las))*"
    r" ([\w'.:-]*\w)(?:[.!,;]| \w+[.!]*$|$)|^([^\W\d]{3,}) no, "
)
_SHOULD = re.compile(
    r"\b(?:it|that|this|answer|result|total) (?:should|must|has to|have to|ought to|needs to|was supposed to|"
    r"is supposed to)\b|^(?:should|must) be\b|\b(?:correct|right|actual|real|proper) \w+ (?:is|was|are)\b|"
    r"\b(?:deberia|debia|debe|tendria que|tiene que|tenia que|seria|serian)\b|\b(?:lo correcto|correct[oa]) (?:es|"
    r"seria|era|fue)\b"
)


def speaks_of_answer(seen: MessageFeatures) -> bool:
    """Whether words of a message speak of the answer: they call it wrong, deny it, or say what was asked for."""
    cues = _cues(seen) - _own_meaning(seen)
    if cues & SPEAKING:
        return True
    compared = (
        seen.values.get("other_number") or seen.values.get("denied_word") or seen.values.get("number_said_before")
    )
    if "angry" in cues and _scolds(seen.text):
        return True
    # "But …" objects to the answer where it denies a word of it or holds its own words against it ("but you said …").
    denies = seen.values.get("denied_word") and not _goes_its_own_way(seen)
    if "though" in cues and (denies or _QUOTES_ASSISTANT.search(seen.text)):
        return True
    return "you_did" in cues and (bool(compared) or not _NEUTRAL.search(seen.words["cue:you_did"]))


def _own_meaning(seen: MessageFeatures) -> set[str]:
    """Give the cues of "I meant …" where nothing says that the assistant got it wrong: users change their own words that way."""
    again = seen.values.get("said_before") or seen.values.get("denied_word") or seen.values.get("number_said_before")
    if again or "cue:i_meant" not in seen.values:
        return set()
    return {"i_meant", "actually"} | ({"i_said"} if "mean" in seen.words.get("cue:i_said", "") else set())


def _scolds(text: str) -> bool:
    """Whether hard words are for the assistant: "useless", "this is ridiculous"; not for other people."""
    words = set(re.findall(r"[\w']+", text))
    return not words & _PEOPLE and (len(words) <= BARE or bool(words & _ADDRESSED))


def rests_on_words(seen: MessageFeatures) -> bool:
    """Whether an alarm has strong evidence: words that speak of the answer, or a short statement against what it states."""
    if speaks_of_answer(seen) or _puts_instead(seen):
        return True
    # What replies to a question contradicts nothing.
    if _goes_its_own_way(seen) or seen.values.get("reply_asks") or seen.values.get("reply_asks_open"):
        return False
    count = len(seen.text.split())
    denied = bool(seen.values.get("denied_word") or seen.values.get("number_said_before"))
    if denied and count <= DENYING_WORDS and _OTHERS_DENY.search(seen.text):
        return True
    cues = _cues(seen)
    value = seen.values.get("gives_value") or seen.values.get("other_number")
    stated = "states" in cues or ("should_be" in cues and _SHOULD.search(seen.text) is not None)
    return count <= STATEMENT and bool(stated and value)


def _puts_instead(seen: MessageFeatures) -> bool:
    denied = seen.words.get("denied_word", "").split()
    instead = _INSTEAD.search(seen.text) if len(seen.text.split()) <= STATEMENT else None
    if instead is None:
        return False
    named = instead[1] or instead[2]
    return any(word.startswith(named[:ROOT].rstrip("s")) or named.startswith(word) for word in denied)


def is_hint(seen: MessageFeatures) -> bool:
    """Whether a difference may still be meant: a short message that gives another value, asked for by nobody.

    "Nine" after "it opens at eight" is a hint; "the 7:10, two tickets" chooses from the answer.
    """
    asked = seen.values.get("reply_asks") or seen.values.get("reply_asks_open") or seen.values.get("same_number")
    short = len(seen.text) > 1 and len(seen.text.split()) <= STATEMENT
    differs = any(seen.values.get(name) for name in ("gives_value", "other_number", "denied_word"))
    return bool(short and differs and not asked and not _goes_its_own_way(seen))


def chooses(seen: MessageFeatures) -> bool:
    """Whether a message is nothing but a wish: "the large one, please"."""
    return len(seen.text.split()) <= CHOICE and _PREFERENCE.search(seen.text) is not None


def _goes_its_own_way(seen: MessageFeatures) -> bool:
    """Whether a message tells of the user, wishes, orders or asks: that contradicts no answer."""
    own = _SELF.match(seen.text) or _PREFERENCE.search(seen.text)
    return bool(own or _cues(seen) & _WISHING or seen.values.get("question"))


def _cues(seen: MessageFeatures) -> set[str]:
    return {name.removeprefix("cue:") for name in seen.values if name.startswith("cue:")}
