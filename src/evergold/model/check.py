"""What checks and detectors read and return: turns, check results, remarks of users on earlier answers. Pure values.

`admits`, `regrets`, `agrees`: whether a reply concedes that the one before it was wrong; `strip_admission` gives the corrected
answer in it, as if nothing had gone before.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from evergold.model.trace import ScoreSource, TraceStatus


# Dataclasses and no pydantic models: one is made for each turn that checks see, and its values were validated before.
@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call of a trace, in the order of time; what came back and what was asked, as text, where that was recorded."""

    name: str
    failed: bool
    result: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A trace as checks see it: the question, the answer, how it ended, and what the user asked afterwards.

    `next_input` is the user's next message in the session, `next_seconds` how long after this turn it came, `next_output`
    the answer it got. `cost` is reported or priced, None where it is not known. `kinds` are those of its spans, `incomplete` what
    was found before that it lacks, `own_format` says that the answer has
    the format of nearly all answers of its app; `gaps` is what it lacks now (None: its texts show that
    it lacks nothing), by `exporter`.
    """

    id: str
    input: str
    output: str | None
    status: TraceStatus = TraceStatus.COMPLETED
    name: str = ""
    app: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    tools: tuple[ToolStep, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    output_type: str | None = None
    contexts: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    next_input: str | None = None
    next_seconds: float | None = None
    next_output: str | None = None
    cost: float | None = None
    incomplete: str = ""
    own_format: bool = False
    gaps: str | None = None
    exporter: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A value from 0 to 1 with the reason and the words or figures it rests on."""

    value: float
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check's outcome on one trace: a result, nothing where it does not apply, or the error that stopped it."""

    trace_id: str
    check: str
    version: str
    result: CheckResult | None = None
    error: str | None = None
    source: ScoreSource = ScoreSource.SYSTEM


class RemarkKind(StrEnum):
    """What a message says of an earlier answer: what is right instead, that it is wrong, that it may be, the question again, that
    it was right or worked."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    DOUBT = "doubt"
    REPEAT = "repeat"
    ACCEPTANCE = "acceptance"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A question and its answer before the message, and how many seconds lie between the two messages (None: unknown)."""

    id: str
    input: str
    output: str | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message, the turns before it in its session (the latest first), and the answer that it got, where there is one."""

    id: str
    text: str
    earlier: tuple[EarlierTurn, ...]
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What a message says, of which turn, how probably, the words or facts that decided, and whether it may make a failure."""

    kind: RemarkKind
    trace_id: str
    probability: float
    evidence: tuple[str, ...] = ()
    grounded: bool = True


class ShownRemark(BaseModel, frozen=True, extra="forbid"):
    """A remark as people see it: the message, the turn it is on, what it says, how probably, by what words, who found it."""

    message_id: str
    target_id: str
    kind: RemarkKind
    probability: float
    evidence: tuple[str, ...] = ()
    detector: str = ""
    message: str = ""


_ADMITS = re.compile(
    r"\b(?:you(?:'re| are) (?:absolutely |completely |quite )?(?:right|correct)|my (?:mistake|bad|apologies|error)|"
    r"i stand corrected|"
    r"i (?:was wrong|made a mistake|misread|misunderstood|got (?:it|that) wrong)|(?:i )?apologi[sz]e|"
    r"sorry (?:about|for) (?:that|the)|"
    r"thanks? (?:you )?for (?:the correction|correcting|pointing)|good catch|"
    r"tienes? (?:usted )?(?:toda la )?razon|mi error|me equivoque|me confundi|mis disculpas|disculpa|perdon|"
    r"gracias por (?:la correccion|corregir\w*|avisar\w*))\b"
)
# That somebody is right is often granted of what is not so: only these say that the answer itself was at fault.
_OWNS = re.compile(
    r"\b(?:my (?:mistake|bad|apologies|error)|i stand corrected|"
    r"i (?:was wrong|made a mistake|misread|misunderstood|got (?:it|that) wrong)|apologi(?:[sz]e|es)|"
    r"sorry (?:about|for) (?:that|the)|mi error|me equivoque|me confundi|mis disculpas|disculpa|perdon|lo siento|lamento)\b"
)
# What grants a user's statement; after a question it may only confirm ("is it at 5?" "Correct, at 5").
_AGREES = re.compile(
    r"(?:(?:oh|ah|hm+|yes|si|ay|ups|oops|vaya),? )?(?:(?:good|fair|great) (?:point|catch|spot)|"
    r"that(?:'s| is) (?:true|right|correct)|"
    r"true|correct|right|fair enough|cierto|correcto|(?:es|muy) (?:cierto|verdad)|verdad|bien visto|buen punto|en efecto|"
    r"efectivamente|thank(?:s| you) for (?:checking|letting (?:me|us) know|the (?:update|heads[- ]up|clarification)|"
    r"telling (?:me|us)|flagging|spotting|noticing|clarifying)|gracias por (?:la (?:aclaracion|informacion)|aclarar\w*|"
    r"decir\w*|el aviso))\b"
)
# An apology that leads up to a refusal ("I apologize, but I cannot …") admits no mistake.
_EXCUSES = re.compile(
    r"\b(?:apologi[sz]e|(?:my|our) apologies|sorry|mis disculpas|disculpa\w*|perdon\w*)\b(?: (?:for|"
    r"por)[^.!?]{0,40}?)?[,;]? "
    r"(?:but|however|pero|sin embargo|aunque|as an?|como (?:un |una )?(?:modelo|ia|inteligencia))\b"
)
# An apology for something else than the answer: a delay, the system, what cannot be done, a word that was not understood.
_ELSEWHERE = re.compile(
    r"\b(?:apologi[sz]e|(?:my|our) apologies|sorry|disculpa\w*|perdon\w*|lo siento)\b[,.!]? ?(?:"
    r"(?:for|about|por) (?:the|any|this|la|el|las|los) (?:delay|wait|interruption|technical \w+|late \w+|demora|espera|"
    r"tardanza|retraso)|"
    r"(?:but )?(?:i|we|it|there)(?:'m| am| are|'re)? (?:can ?not|can't|could ?n[o']t|couldn't|do not|don't|did not|"
    r"didn't|unable|"
    r"not able|was (?:an?|some) (?:error|problem|issue) (?:in|with) (?:our|my|the) (?:system|server|connection))|"
    r"no (?:puedo|podemos|tengo|tenemos|encuentro|hay))\b"
)
# An apology for what may have been: polite after a complaint, and after many other messages.
_REGRETS = re.compile(
    r"\b(?:apologi[sz]e|apologies|sorry) (?:if|for any|that (?:you|my))\b|\b(?:disculpas|perdon) si\b"
)
# The last sentence of a reply that asks for more instead of answering; an offer of further help asks for nothing.
_ASKS_BACK = re.compile(
    r"\b(?:can|could|would|will) you (?:please |kindly )?(?:provide|clarify|specify|tell|give|explain|rephrase|"
    r"share|elaborate|confirm)\b|"
    r"\b(?:podrias?|puedes?|podria usted|puede) (?:por favor )?(?:indicar|aclarar|especificar|decir|dar|explicar|"
    r"proporcionar)\w*\b|"
    r"^(?:so,? |and |ok,? |y )?(?:what|which|where|when|who|whom|are you|do you|did you|que|cual|donde|cuando|"
    r"quien)\b[^?]*\?$|"
    r"\b(?:your|tu|su) [^.?]{2,40}, (?:please|por favor)\?$"
)
_OFFERS = re.compile(r"\b(?:anything else|something else|else i can|help you with|algo mas|ayudarte en)\b")
SHORT_REPLY = 300  # characters; a longer reply has answered before it asks
OPENING = 200  # an admission stands at the beginning


def admits(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake."""
    return _ADMITS.search(_fold_certain(reply)) is not None


def owns_up(reply: str | None) -> bool:
    """Whether a reply opens by saying that the answer before it was at fault, and not only that the user is right."""
    return _OWNS.search(_fold_certain(reply)) is not None


def regrets(reply: str | None) -> bool:
    """Whether a reply opens by apologising for what may have been wrong ("I apologize if …", "for any confusion")."""
    return _REGRETS.search(_ELSEWHERE.sub(" ", _EXCUSES.sub(" ", _fold_opening(reply)))) is not None


def agrees(reply: str | None) -> bool:
    """Whether a reply opens by granting what the user stated."""
    return _AGREES.match(_fold_opening(reply)) is not None


def grants(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake, regretting one or agreeing: then it may be the corrected answer."""
    return admits(reply) or regrets(reply) or agrees(reply)


def asks_back(reply: str | None) -> bool:
    """Whether a short reply ends by asking the user for more: it is no corrected answer yet."""
    plain = _fold((reply or "").strip())
    if len(plain) > SHORT_REPLY:
        return False
    last = re.split(r"(?<=[.!?;]) +", plain)[-1]
    return _ASKS_BACK.search(last) is not None and _OFFERS.search(last) is None


def _fold_certain(reply: str | None) -> str:
    """The opening without apologies that lead up to a refusal, are for something else, or for what may have been."""
    return _REGRETS.sub(" ", _ELSEWHERE.sub(" ", _EXCUSES.sub(" ", _fold_opening(reply))))


def _fold_opening(reply: str | None) -> str:
    # Accents are removed ("razón" → "razon"), so the patterns above are written without them.
    return _fold((reply or "")[:OPENING]).lstrip(' ¡!"')


def _fold(text: str) -> str:
    bare = unicodedata.normalize("NFD", text.casefold().replace("’", "'"))
    return "".join(sign for sign in bare if not unicodedata.combining(sign))


_CLAUSE = r"[^.!?;:,\n()—–]*"  # the rest of a clause
_SENTENCE = r"(?:[^.!?;:\n—–]|\.(?=\S))*"  # the rest of a sentence
_JUST = r"(?:'d| had| have|'ve| just| clearly| must have| also| seem to have| accidentally| mistakenly| incorrectly)*"
# What a reply opens with that is said of the mistake and answers no question, in folded text.
_CONCESSIONS = (
    rf"(?:you(?:'re| are|r)|ur)(?: \w+ly| quite| so| very| both)? (?:right|correct)"
    rf"(?: that(?= )|(?: about| to| for| in| on| and i){_CLAUSE}| again| there)?",
    rf"(?:tienes|tiene|tenes|teneis|llevas)(?: usted| toda la| mucha| mas que| completamente)* razon"
    rf"(?: en que(?= )|(?: en| con| sobre| al){_CLAUSE})?",
    r"(?:that(?:'s| is| was) |such |very )?(?:an? )?(?:good|great|nice|fair|excellent|valid) "
    r"(?:catch|point|spot|eye|call|enough)",
    rf"(?:(?:that|it)(?:'s| is| was) )?(?:my|our|an?) (?:mistake|bad|error|fault|(?:\w+ )?apologies|oversight|slip)"
    rf"(?: (?:about|for|on|in){_CLAUSE})?",
    rf"(?:i(?:'m| am| do|'d like to| must| want to| would like to| need to)? |we )?(?:\w+ly |so |very |really |do )?"
    rf"(?:sorry|apologi[sz]e|apologies)(?: (?:again|there))?(?:,? (?:about|for|if|that|to){_CLAUSE})?",
    rf"i stand corrected|(?:now )?i (?:now )?understand(?: now)?(?: (?:that|what|why) you{_CLAUSE}|(?= ?[,.!:;—–-]))",
    rf"(?:ahora |ya )?(?:entiendo|comprendo)(?: ahora)?(?: (?:que|lo que|por que) {_CLAUSE}|(?= ?[,.!:;—–-]))",
    rf"(?:many |muchas |mil )?(?:thanks|thank you|thx|gracias)(?: so much| very much)?(?: (?:for|por){_CLAUSE}|(?= ?[,.!]))",
    r"(?:that(?:'s| is) )?(?:true|correct|right|exactly|indeed|correcto|cierto|exacto|exactamente|efectivamente|en efecto|"
    r"verdad|asi es|es (?:cierto|verdad|correcto)|tal cual)(?= ?[,.!;:—–-])",
    r"that(?:'s| is) (?:true|right|correct)|es (?:cierto|verdad)(?: que)?",
    rf"(?:te |le |os |les )?(?:pido (?:mil |muchas )?(?:disculpas|perdon)|ofrezco (?:una disculpa|disculpas)|"
    rf"(?:mil |mis |muchas )?(?:disculpas?|perdones|perdon)|disculp\w+|perdon\w+|lo (?:siento|lamento)(?: mucho)?|"
    rf"me disculpo|una disculpa)(?:,? (?:por|la|el|las|los|si|que|de){_CLAUSE})?",
    r"(?:fue |ha sido |es |un )?(?:mi|nuestro) (?:error|culpa|fallo|equivocacion)|(?:error|fallo|culpa) mi[oa]",
    r"(?:bien|buen|buena) (?:visto|punto|observacion|ojo)",
    rf"(?:i|we){_JUST} (?:was|were|been) (?:wrong|mistaken|incorrect|confused|mixed up|off|thinking){_CLAUSE}",
    rf"(?:i|we){_JUST} (?:made|make) (?:a|an|the|some|that){_CLAUSE}",
    rf"(?:i|we){_JUST} (?:misread|misunderstood|misspoke|misremembered|misstated|miscounted|miscalculated|mix(?:ed)?|"
    rf"confus\w+|got|overlooked|missed|forgot|mistook|swapped|switched|should(?:'ve| have)){_SENTENCE}",
    rf"(?:there|that|this|it|my (?:previous |earlier |last |first )?(?:answer|response|reply|message|calculation)) was "
    rf"(?:an? (?:mistake|error|typo|mix)|my|wrong|incorrect|inaccurate|mistaken|off|confusing|outdated){_SENTENCE}",
    rf"(?:me|nos) (?:equivo\w+|confund\w+|he (?:equivocado|confundido)){_CLAUSE}",
    rf"(?:hubo|habia|cometi|he cometido|tuve) un (?:error|fallo){_CLAUSE}|se me (?:paso|fue|olvido){_CLAUSE}",
    rf"(?:lei|entendi|calcule|escribi|puse|conte|sume|interprete) (?:mal|\w+ mal){_CLAUSE}",
    rf"(?:let me|allow me to|i(?:'ll| will)|permiteme|dejame|deja que)(?: quickly| just| now)? (?:correct|fix|clarify|"
    rf"rephrase|redo|restate|try|revise|corregir\w*|corrij\w*|aclarar\w*|rectificar\w*)"
    rf"(?: (?:that|this|it|myself|my|again|eso|lo|mi)\b)?{_CLAUSE}",
)
_CONCEDES = re.compile(
    r"(?:(?:oh|ah|oops|ups|uy|ay|vaya|yes|yeah|ok|okay|no|si|hm+|well|bueno|pues|indeed|actually|claro|i see|ya veo|"
    rf"entiendo|i understand)[,!. ]+)*(?:(?:and|so|y|tambien) )?(?:{'|'.join(_CONCESSIONS)})(?![\w'])"
)
_JOINS = re.compile(r"[\s,.;:!…—–)-]*(?:(?:and|so|y|asi que|indeed|in fact|de hecho)\b[, ]*)?")
_QUOTE_END = re.compile(r"^[\"”»]\s+")  # of a quotation that the concession held
_HOWEVER = re.compile(r"(?:but|however|though|although|pero|sin embargo|aunque)\b")
# "Here is the corrected code:" is "Here is the code:"; only where a reply leads up to what follows.
_LEADS_UP = re.compile(
    r"(here(?:'s| is| are)|aqui (?:tienes|esta|estan|te dejo|va|van)|est[ea] es) (?:the|your|an?|el|la|los|las|tu|un|una)\b"
)
_MENDED = re.compile(
    r" (?:corrected|updated|revised|fixed|amended|modified|adjusted|right|correct|proper)(?: and \w+ed)?(?= )|"
    r" (?:corregid|actualizad|modificad|arreglad|ajustad|revisad)[oa]s?\b"
)
# A reply that tells what it mended or will do answers the remark, not the question that was asked before.
_OF_EXCHANGE = re.compile(
    r"\b(?:(?:i|we)(?:'ve| have|'ll| will|'m| am)?(?: now| just| already| gone ahead and| going to| also)* "
    r"(?:updat|correct|chang|fix|adjust|revis|replac|remov|modif|amend|swapp?|switch|rebook|recalculat|redo|resen[dt]|mov)"
    r"(?:e|ed|ing|ied|ify)?\b|"
    r"(?:is|has been|have been|it's|are) (?:now )?(?:updated|corrected|changed|fixed|adjusted|revised|replaced|removed)\b|"
    r"(?:he |hemos |ha sido |queda |esta |ya |lo |la |se )+(?:corregid|actualizad|cambiad|modificad|arreglad|ajustad)[oa]s?\b|"
    r"(?:corrijo|corregi|actualice|actualizo|cambie|modifique|arregle|ajuste|reemplace)\b|"
    r"as you (?:said|say|mention\w*|point\w*|not\w+|stat\w+|correctly)|"
    r"como (?:bien )?(?:dices|dijiste|mencion\w+|senal\w+|indic\w+|comentas)|"
    r"what i (?:said|wrote|told)|i (?:said|told you|mentioned|stated|wrote) (?:earlier|before|previously)|"
    r"(?:my|the|mi|la) (?:previous|earlier|last|first|original|prior) (?:answer|response|reply|message|statement)|"
    r"(?:respuesta|mensaje) anterior|(?:updated|corrected|changed|fixed|done|noted|understood|got it|will do|hecho|listo|"
    r"anotado|entendido|corregido|actualizado|cambiado)(?=[.!,:]))"
)
_PROMISES = re.compile(
    r"(?:i(?:'ll| will|'m going to| am going to)|we(?:'ll| will)|let me|allow me|give me|one (?:moment|second|sec)|just a|"
    r"hold on|i (?:don't|do not|can't|cannot|couldn't)|voy a|vamos a|dejame|permiteme|dame|un momento|un segundo|espera|"
    r"no (?:puedo|tengo|se)\b)"
)
_BARE_WORDS = re.compile(
    r"(?:(?:it|that|this|he|she|they|there|you|i|is|was|are|were|does|did|do|has|will|now|so|too|well|indeed|es|era|asi|eso|"
    r"esa|ese|lo|si|no|yes|ok|okay|sure|of course|claro|hay|esta|tambien|ya|right|correct|true)\b[\s,.!]*)*"
)
_CLOSES = re.compile(r"(?:[,;—–-] ?|(?<=[.!?]) |\n+)([^.!?\n,;—–]{2,90})[.!]*\s*$")


def concedes(reply: str | None) -> bool:
    """Whether a reply opens with words that are said of a mistake and answer no question."""
    return _CONCEDES.match(_fold_each((reply or "").replace("’", "'")).lstrip(' ¡!"')) is not None


def strip_admission(reply: str | None) -> str | None:
    """Give the answer in a reply without what it says of the mistake before it; None where nothing is left that answers.

    "You're right, sorry — the coat costs 500 pesos" answers the question with "The coat costs 500 pesos". A reply that only
    concedes, promises, or tells what it changed answers the remark and not the question.
    """
    text = unicodedata.normalize("NFC", (reply or "").replace("’", "'")).strip().lstrip("¡")
    conceded = False
    while match := _CONCEDES.match(folded := _fold_each(text)):
        conceded = True
        joined = _JOINS.match(folded, match.end())
        text = text[joined.end() if joined else match.end() :].lstrip("¡")
        text = _QUOTE_END.sub("", text)
    text = _strip_closing(text.strip())
    folded = _fold_each(text)
    if lead := _LEADS_UP.match(folded):
        line = folded.find("\n") if "\n" in folded else len(folded)
        if mended := _MENDED.search(folded, lead.end(), line):
            text = text[: mended.start()] + text[mended.end() :]
            folded = _fold_each(text)
    opening = re.split(r"(?<=[.!?]) |\n", folded, maxsplit=1)[0]
    unlike = (_PROMISES.match(folded), _OF_EXCHANGE.search(opening), _BARE_WORDS.fullmatch(folded))
    if any(unlike) or (conceded and (_HOWEVER.match(folded) or grants(text))):
        return None
    # "iPhone", "foo()": a word that is written so stays so.
    if (
        conceded
        and text[0].islower()
        and text.split()[0][1:].strip(",.;:!'").isalpha()
        and text.split()[0][1:].islower()
    ):
        text = text[0].upper() + text[1:]
    return text


def _strip_closing(text: str) -> str:
    """The text without apologies, concessions and thanks at its end."""
    while match := _CLOSES.search(text):
        closing = _fold_each(match[1]).strip(" ¡")
        concedes = _CONCEDES.match(closing)
        if concedes is None or closing[concedes.end() :].strip(" ,.!"):
            return text
        kept = text[: match.start()].rstrip()
        text = kept if kept.endswith((".", "!", "?", ":")) else kept + "."
    return text


def _fold_each(text: str) -> str:
    """Fold a text character by character, so that places in both are the same."""
    return "".join((_fold(sign) or sign)[:1] for sign in text)
