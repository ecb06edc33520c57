"""Situations in which a message is less of a remark than its words suggest.

The fitted weights know which words and values stand in a message. Here is what they cannot know: whether the message answers a
question of the assistant, sets the next task, mends the user's own slip, or speaks of something else.

An alarm needs words that speak of the answer. Chats are full of numbers and negations that judge nothing: a seat that is chosen,
the next task with other values, a wish ("no museums, please"). Where nothing in a message speaks of the answer, a difference
is a hint and no alarm (`remark_model.py`).
"""

import re
from collections import Counter
from dataclasses import replace

from evergold.curate.remark_features import (
    MESSAGE,
    OF_ANSWERS,
    OPEN_END,
    ROOT,
    SENTENCE,
    MessageFeatures,
    Words,
    touches,
)
from evergold.text.words import fold_text

LEFT = 0.03  # how much of an alarm is left in such a situation
ASKED_AGAIN = 0.5  # share of a message's words that stood in the question already
SAME_FORM, OWN_WORDS = (
    0.7,
    0.5,
)  # shares of the question's and of the message's words that two tasks of one form have in common
FEWEST_WORDS = 4  # of a question that another one can have the form of
EXPRESSION = 80  # letters of a message that may be something to compute
SHORT_QUESTION = 12  # words of a question without a question mark
TALK = 200  # letters of an answer that is talk
OWN_CONTENT = 3  # content words of a message that speaks of a matter of its own
SPEAKS_OF_ANSWER = (OF_ANSWERS | {"fails", "wrong", "denial"}) - {"human"}
# Cues that speak of the answer even where the message replies to a question or tells of something else.
CERTAIN = frozenset(
    {
        "wrong_of_answer",
        "wrong_opens",
        "i_said",
        "i_meant",
        "you_did",
        "understands_nothing",
        "angry",
        "doubts",
        "denial",
    }
)
ELSEWHERE = CERTAIN | {"source", "gives_up", "opposite"}
TO_ASSISTANT = """you your yours tu te ti usted ustedes vos su this that it esto eso ahi alli"""
_ADDRESSING = frozenset(TO_ASSISTANT.split())
_OF_THINGS = frozenset({"fails", "wrong"})  # cues that a thing may have as well as an answer
_GOES_ON = frozenset({"asks", "orders", "wants"})
OWN = """i i'm i've im my me mine we we're our us yo mi mis me nos nuestro nuestra soy estoy tengo"""
_OWN = frozenset(OWN.split())
_THERE = re.compile(r"\bthere\b(?!'s| (?:is|are|was|were|will|has|have|seems?)\b)")  # a place, not "there is"
_REQUESTS = (
    re.compile(  # a request without a question mark: "Please enter your PIN", "I need to know the day", "A ___ is"
        r"\b(?:please|kindly|could you|can you|would you|may i|por favor|podrias?|puedes?)\b[^.!?]{0,30}"
        r"\b(?:provide|specify|enter|state|choose|select|pick|type|spell|fill in|have your|indic\w+|facilit\w+|"
        r"proporcion\w+|elig\w+|"
        r"escrib\w+|especific\w+)\b|"
        r"\b(?:tell me|name (?:an?|one|some|the|your)|describe|dime|cuentame)\b|"
        r"\b(?:i|we)(?:'ll| will)?(?: also| still| just)? need (?:to know|your|the)\b|"
        r"\bnecesit(?:o|amos) (?:saber|tu|su|el|la)\b|_{3,}"
    )
)
_WANTS_VALUE = re.compile(
    r"\b(?:which|what (?:time|day|date|name|number|city|size|kind|type|color|theat\w+)|how (?:many|much|old|long)|"
    r"when|where|"
    r"cual|cuales|cuant[oa]s?|cuando|donde|que (?:dia|hora|talla|nombre|ciudad))\b"
)
_OPENS_QUESTION = re.compile(
    r"(?:(?:and|ok|okay|great|so|thanks|y|vale|perfecto)[,.!]? )*(?:what|which|where|when|who|how (?:many|much|old|"
    r"long)|cual|cuales|donde|"
    r"cuando|quien|cuant[oa]s?|a que|que (?:dia|hora|talla|nombre))\b"
)
_OF_TOPICS = ("cue:human", "cue:angry", "cue:wrong")
_A_HUMAN = re.compile(
    r"^human\b|\b(?:a|an actual|a real|a live|some) human\b(?! \w+)|\bhuman (?:agent|operator|support|please|being)\b"
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
_TO_COMPUTE = re.compile(r"[\d\s.,()+*^/x-]*\d\s*[+*^][\d\s.,()+*^/x-]*=?\s*|[\d\s.,()+*^/-]*\d\s*=\s*")
_OWN_SLIP = re.compile(
    r"(?:oh |no |ah |i'm |im |i am )*(?:oops|whoops|ups|sorry|my (?:bad|mistake|apologies)|apologies|i apologi[sz]e|"
    r"perdon|perdona|disculpa)\b.{0,20}\b"
    r"(?:i (?:meant|mean|mistyped|typed|was thinking)|quise decir|queria decir|me referia|me refiero)\b|"
    r".*\b(?:i meant to (?:say|type|write)|i should have (?:said|mentioned|specified|told you)|(?:my )?apologies for not|"
    r"(?:deberia|tendria que|debi) haber(?:lo)? (?:dicho|mencionado|especificado))\b"
)
# A message that only keeps the assistant going; an apology behind it is for the interruption.
_KEEPS_GOING = re.compile(
    r"(?:(?:please|ok|okay|yes|now|and|por favor|vale|si|ahora) )*(?:continue|go on|keep going|carry on|proceed|next|more|"
    r"go ahead|finish(?: it)?|regenerate|retry|continua|sigue|siguiente|adelante|mas|prosigue|termina(?:lo)?)"
    r"(?: (?:please|one|writing|from (?:there|here)|por favor))*[ .!…]*"
)
# Role play and narration: "*opens the door*", "(smiles) …", '"Come in," she said'.
_NARRATES = re.compile(
    r"(?:^|[\s:])(?<!\*)\*(?![*\s])[^*\n]{3,}\*(?!\*)|^\([^)]{3,}\)|^[\"“][^\"”]+[\"”],? \w+ (?:says|said|asks|"
    r"asked|whispers|whispered|replied)\b"
)
# A text to work on that the message brings along.
_BRINGS_TEXT = re.compile(
    r"\b(?:following|this|below|siguiente|este) (?:\w+ )?(?:text|passage|paragraph|sentences?|article|review|email|"
    r"poem|story|texto|parrafo|"
    r"articulo|correo)\b[^.!?]{0,60}:"
)
_BLANKS = re.compile(r"_{3,}|(?:\\_){3,}")  # an exercise to fill in
# The answer asks whether it has got everything right.
_TO_CONFIRM = re.compile(
    r"\b(?:confirm\w*|verif\w+|double[- ]check|(?:make|be) sure|check (?:if|that|to see|the order|your)|let me know if|"
    r"(?:is|does|if)\b[^.?!]{0,60}\b(?:right|correct|okay|ok|good)|all (?:right|correct)|"
    r"(?:esta|es|si)\b[^.?!]{0,60}\b(?:bien|correcto|correcta)|comprueb\w+|aseg[uú]r\w+)\b"
)
# Users telling of themselves, and talk to which one does so; "I did not get the mail" is no such thing.
_FIRST_PERSON = re.compile(
    r"(?:(?:no|nope|yes|yeah|well|but|and|lol|pues|bueno|si|pero),? )*(?:i|i'm|im|we|yo)(?: am| do| did| was| shall|"
    r" will| really| just|"
    r" also| only)*(?:n't| not| never| don't| dont| didn't)*(?: am| really| even)? ?(?:live|work|read|like|love|"
    r"hate|speak|study|"
    r"play|know|have|eat|watch|travel|drink|not|from|an?)\b|(?:no,? |si,? )?(?:yo )?(?:no )?(?:soy|vivo|trabajo|"
    r"tengo|me gusta|estudio|hablo)\b"
)
_TALKS = re.compile(
    r"\b(?:do|are|did|have|can|what|where|how|who) (?:do |are |is |about )?(?:you|your|u)\b|"
    r"\b(?:i|i'm|im|my|mine) (?:am|like|love|have|work|live|was|do|favorite|want|\w+ed)\b|"
    r"\b(?:tienes|eres|vives|trabajas|te gusta\w*|me gusta\w*|soy|vivo|trabajo)\b"
)
_AS_WISHED = re.compile(
    r"\b(?:(?:just|exactly|precisely) what (?:i|we)|justo lo que|exactamente lo que)\b|"
    r"^(?:yes,? |yeah,? |si,? )?(?:that'?s|that is|it'?s|it is|this is|es|eso es) (?:just |exactly )?(?:what i|lo que)\b|"
    r"\byou have (?:it|that|everything|all) (?:right|correct)|\bit is\b[ .!]*$|\blo tienes bien\b"
)


def of_topic_left_out(seen: MessageFeatures, question: str) -> MessageFeatures:
    """Leave out cues whose words are what the question is about, and a "human" nobody asked for.

    "Joke" after a joke was asked for judges nothing, nor does "human history" ask for a person.
    """
    asked = Words.of(fold_text(question[:MESSAGE])).content
    dropped = {
        name for name in _OF_TOPICS if (content := Words.of(seen.words.get(name, "")).content) and content <= asked
    }
    if seen.words.get("cue:human") == "human" and not _A_HUMAN.search(seen.text):
        dropped.add("cue:human")
    if "cue:wrong" in dropped and seen.values.keys().isdisjoint(
        ("cue:wrong_of_answer", "cue:wrong_opens", "cue:fails")
    ):
        dropped |= {"plain_wrong", "wrong_and_value", "wrong_asked"}
    return replace(seen, values={name: value for name, value in seen.values.items() if name not in dropped})


def is_no_remark(message: str) -> bool:
    """Whether a message remarks on nothing, whatever the next answer says: the user's own slip, "go on", an exercise with blanks,
    a part of a story, a text to work on, or nothing but code."""
    text = " ".join(fold_text(message[:MESSAGE]).split())
    patterns = _OWN_SLIP.match(text) or _KEEPS_GOING.fullmatch(text) or _BLANKS.search(text)
    patterns = patterns or _NARRATES.search(text) or _BRINGS_TEXT.search(text)
    return patterns is not None or not _CODE.sub("", message).strip()


def left_of_alarm(message: str, answer: str | None, question: str, seen: MessageFeatures) -> float:
    """Give the share of an alarm that is left: all of it, or `LEFT` in one of the situations below."""
    cues = seen.cues
    text = fold_text(message[:MESSAGE]).strip()
    situations = (
        # Asking for a person is a signal of its own (checks/signals.py).
        "human" in cues and not cues & SPEAKS_OF_ANSWER,
        _takes_up(seen, cues),
        _confirms(text, answer, cues),
        _orders_a_fault(seen, cues),
        _small_talk(text, answer, cues),
        _turns_down(text, answer, cues),
        asks_for(answer, seen) and not cues & CERTAIN and not seen.values.get("denied_word"),
        _goes_on(text, question, seen, cues),
        speaks_of_its_own(message, answer, question, seen),
    )
    return LEFT if any(situations) else 1.0


def _takes_up(seen: MessageFeatures, cues: frozenset[str]) -> bool:
    """Whether a message denies nothing and only says what the answer said, to choose or confirm it ("at 6" of "at 5 or at 6"),
    or asks again for what an answer did not have."""
    if cues & SPEAKS_OF_ANSWER or seen.values.get("denied_word"):
        return False
    without = seen.values.get("answer_has_none") or seen.values.get("no_answer")
    return seen.values.get("of_answer") == 1.0 or bool(without and seen.values.get("of_question", 0.0) >= ASKED_AGAIN)


def _confirms(text: str, answer: str | None, cues: frozenset[str]) -> bool:
    """Whether a message only says that the answer is as wished: "just what I ordered", "it is" where the answer asked."""
    if cues & {"denial", "wrong", "wrong_of_answer", "wrong_opens", "fails", "i_meant"} or " not " in f" {text} ":
        return False
    if re.search(r"\b(?:just|exactly|precisely) what (?:i|we)\b|\b(?:justo|exactamente) lo que\b", text):
        return True
    asked = _TO_CONFIRM.search(fold_text((answer or "")[-OPEN_END:])) is not None
    return asked and _AS_WISHED.search(text) is not None


def _small_talk(text: str, answer: str | None, cues: frozenset[str]) -> bool:
    """Whether users tell of themselves in reply to a question about them or to talk: "I don't work in an office"."""
    if cues & (CERTAIN - {"denial"}) or _FIRST_PERSON.match(text) is None or not _ADDRESSING.isdisjoint(text.split()):
        return False
    spoken = fold_text(answer or "")
    return len(spoken) <= TALK and _TALKS.search(spoken) is not None


def _turns_down(text: str, answer: str | None, cues: frozenset[str]) -> bool:
    """Whether a message turns down an offer ("does one of these work?" "no, they don't work") or orders to leave things."""
    if cues & (CERTAIN - {"denial"}) or "wrong" in cues or "fails" not in cues:
        return False
    last = SENTENCE.split(fold_text((answer or "")[-OPEN_END:]).strip())[-1]
    offered = (
        last.endswith("?")
        and re.search(r"\b(?:works?|suits?|fits?|helps?|funciona\w*|sirven?|va bien)\b", last) is not None
    )
    return (
        offered
        or re.match(r"(?:please |no,? )*(?:don't|dont|do not|no (?:lo |la )?(?:cambies|canceles))\b", text) is not None
    )


def _orders_a_fault(seen: MessageFeatures, cues: frozenset[str]) -> bool:
    """Whether a fault is what an order is about: "add error handling", "a status field: done, failed"."""
    if not cues & {"orders", "wants"} or cues & (SPEAKS_OF_ANSWER - _OF_THINGS - {"again"}):
        return False
    named = [seen.words.get(f"cue:{name}", "") for name in cues & _OF_THINGS]
    return bool(named) and all(" " not in words for words in named)


def asks_for(answer: str | None, seen: MessageFeatures) -> bool:
    """Whether an answer ends by asking for something, so that a message most probably gives it: a name, a number, a report."""
    sentences = SENTENCE.split(fold_text((answer or "")[-OPEN_END:]).strip())
    if _REQUESTS.search(sentences[-1]) or (seen.values.get("reply_asks_open") and sentences[-1].endswith("?")):
        return True
    # Many assistants leave the question mark out: "What is the pick-up location".
    if _OPENS_QUESTION.match(sentences[-1]) and len(sentences[-1].split()) <= SHORT_QUESTION:
        return True
    # "How many tickets? They are 7.59 each.": the question stands before the last sentence.
    return len(sentences) > 1 and sentences[-2].endswith("?") and _WANTS_VALUE.search(sentences[-2]) is not None


def _goes_on(text: str, question: str, seen: MessageFeatures, cues: frozenset[str]) -> bool:
    """Whether a message denies nothing and goes on: it asks, is long, has something computed, or sets a task of the form of
    the one before with other values."""
    if cues & CERTAIN or seen.values.get("denied_word"):
        return False
    computes = len(text) <= EXPRESSION and _TO_COMPUTE.fullmatch(text) is not None
    if "asks" in cues or seen.values.get("many_words") or computes:
        return True
    mine, theirs = (Words.of(each).tokens for each in (text, fold_text(question[:MESSAGE]).strip()))
    if mine == theirs or min(len(mine), len(theirs)) < FEWEST_WORDS:
        return mine == theirs  # the question itself is a repeat
    shared = (Counter(mine) & Counter(theirs)).total()
    return shared >= SAME_FORM * len(theirs) and shared >= OWN_WORDS * len(mine)


def speaks_of_its_own(message: str, answer: str | None, question: str, seen: MessageFeatures) -> bool:
    """Whether a message speaks of something that neither question nor answer speaks of: a new matter.

    "My printer does not work" after opening hours is a question for help, and "I was born in 1998" after a date is talk. After an
    answer with code in it, or where the message speaks to the assistant, it may well be the answer that does not work.
    """
    cues = seen.cues
    if cues & ELSEWHERE or (cues & OF_ANSWERS and cues & _OF_THINGS) or "```" in (answer or ""):
        return False
    text = fold_text(message[:MESSAGE])
    words = Words.of(text)
    # People tell of themselves and give orders; a plain statement of fact may well replace what the answer stated.
    if not cues & (_OF_THINGS | _GOES_ON) and _OWN.isdisjoint(words.tokens):
        return False
    if len(words.content) < OWN_CONTENT or not _ADDRESSING.isdisjoint(words.tokens) or _THERE.search(text):
        return False
    return touches(message, answer, question) == 0


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
    cues = seen.cues - _own_meaning(seen)
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
    cues = seen.cues
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
    return bool(own or seen.cues & _WISHING or seen.values.get("question"))
