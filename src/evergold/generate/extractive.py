"""The writer without a model: questions that a sentence of a document answers, and summaries, word for word.

A sentence becomes a question only where its form tells what somebody would ask: it defines something, says what to do if or in
order to, how many, when, who may; or it stands under a heading that asks. The answer is that sentence. Most sentences have no
such form and give nothing: a document without a good question gives none. Sentences that point elsewhere ("above") are
left out, and so is what nobody would ask who has not read the passage. A summary is the document's first sentence and those at
the beginning of passages that have most in common with the rest.
Questions and requests are in the language of the document; questions of this writer are English or Spanish.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from evergold.generate.passages import clear_sentences, flatten
from evergold.model.generation import Draft, Idea, Passage, WritingTask
from evergold.text.words import Text, language_of, sentences


class Templates(NamedTuple):
    """What is asked of a topic and of a whole document."""

    topic: str
    summary: str


ENGLISH = Templates(
    topic="What do the documents say about “{topic}”? Cite the passage of each statement.",
    summary="Summarise {document} in a few sentences.",
)
TEMPLATES = {
    "en": ENGLISH,
    "es": Templates(
        topic="¿Qué dicen los documentos sobre «{topic}»? Cite el pasaje de cada afirmación.",
        summary="Resuma {document} en unas pocas frases.",
    ),
    "fr": Templates(
        topic="Que disent les documents sur « {topic} » ? Citez le passage de chaque affirmation.",
        summary="Résumez {document} en quelques phrases.",
    ),
    "de": Templates(
        topic="Was sagen die Dokumente über „{topic}“? Geben Sie zu jeder Aussage die Textstelle an.",
        summary="Fassen Sie {document} in wenigen Sätzen zusammen.",
    ),
    "pt": Templates(
        topic="O que dizem os documentos sobre “{topic}”? Cite a passagem de cada afirmação.",
        summary="Resuma {document} em poucas frases.",
    ),
    "it": Templates(
        topic="Che cosa dicono i documenti su «{topic}»? Citi il passaggio di ogni affermazione.",
        summary="Riassuma {document} in poche frasi.",
    ),
}


def templates_of(passages: Sequence[Passage]) -> Templates:
    """The templates in the language that these passages are written in."""
    # The first passages are enough to tell the language, and cost the same for a leaflet and a book.
    return TEMPLATES[language_of(" ".join(passage.text[:1000] for passage in passages[:4])) or "en"]


LABEL = "extractive: taken from the documents word for word, no model"
SUMMARY_SENTENCES = 3
FEWEST_SUMMED = 2
OPENING = 2  # sentences at the beginning of a passage from which a summary is taken
TOPIC_SENTENCES = 3
MOST_QUESTION_WORDS = 18
FEWEST_DEFINING = 5  # words of a definition
FEWEST_NAMING = 3  # longer words of a condition
MOST_ANSWERING = 3  # sentences of a paragraph that is an answer as a whole
MOST_LIMIT = 8  # words of what limits a "cannot"


def _words(texts: str) -> str:
    return "|".join(texts.split())


def _set(texts: str) -> frozenset[str]:
    return frozenset(texts.split())


def _match_any(texts: str) -> re.Pattern[str]:
    """One of these words, in any case; `_` stands for a space."""
    return re.compile(rf"\b(?:{_words(texts).replace('_', ' ')})\b", re.IGNORECASE)


# A sentence that points at another place cannot be understood, or not be asked about, alone.
_POINTS = _match_any(
    r"""above below following here this these those aforementioned latter former instead previous(?:ly)? see_(?:also|the|our)
    as_shown as_follows for_example for_instance e\.g next_(?:section|page|chapter|step) steps?_\d
    (?:different|other|another)_ones? that_(?:special_)?(?:time|case|point|position|way) (?:of|in|to|for|from|by|with)_that
    there(?!_(?:is|are|was|were|will|may|must|has|have|can)) allí ahí allá preceding figure_\d table_\d siguientes?
    anterior(?:es|mente)? arriba abajo a_continuación dich[oa]s? mism[oa]s? ver_(?:también|la|el) véase aquí est[eao]s?
    es[eao]s? por_ejemplo p\.ej presente_(?:ley|reglamento|guía|documento|manual)"""
)
_PRONOUN = _match_any(
    """it they them their its he she him his her this these those such ello ellos ellas ést[eao]s? es[eao]s? est[eao]s?
    aquell[oa]s?"""
)
_RELATIVE = _match_any(
    """either neither instead also too again else another others? otherwise both anyway still así también además otr[oa]s?
    amb[oa]s tampoco tal(?:es)?"""
)
_VAGUE = _match_any(
    """ones? yet problems? problemas? issues? inconvenientes? inquietudes sure unsure doubt anything something somehow
    familiar curious busy any_kind cada_un[oa] \\w+[aei]r(?:l[oae]s?|me) more_(?:information|details|about)
    (?:learn|read|know)_more questions? feedback further already sugerimos recomendamos ya_sea continu\\w+ proceed
    (?:do|did|done)_(?:this|that|so|it) más_información más_detalles (?:saber|conocer)_más ampliar dudas? consultas?
    preguntas? ello"""
)
# Words that a question must not be left with when somebody else asks it.
_SPOKEN_TO = _match_any(
    """you your\\w* yourself we us our usted\\w* te ti tú nosotros nuestr\\w+ os \\w+[aei]r(?:te|nos|os|se) est[aá]s tienes
    puedes debes quieres necesitas deseas acced[ae]s hag[ae]s abras uses vayas"""
)
_ARTICLES = _set("a an the el la los las un una unos unas")
_NO_SUBJECT = _set(
    """it this that these those they there he she we you i here what which who if when while one each all some many most such
    both other another everything nothing anything something everyone nobody no not as in on at for with from by to after
    before and but or so my your our their his her its only how why where part rest first second third last next goal idea
    point reason result way thing answer question problem key note example since although though because unless once
    whereas whether until given like unlike despite even more less larger smaller additional diferencia difference value
    default name option method function parameter file type valor nombre opción método función parámetro archivo tipo esto
    eso este esta ese esa estos estas esos esas ello él ella ellos ellas aquí allí lo que quien si cuando mientras cada
    todo toda todos todas nada nadie algo alguien no como en a para con desde por y pero o así también además tampoco su
    sus tu tus mi mis nuestro nuestra se al del solo sólo uno una ejemplo idea resultado respuesta pregunta problema
    primero primera segundo segunda último última siguiente según entre sobre ante bajo durante hacia hasta tras mediante
    aunque donde cuyo existen existe hay parte mayoría resto mitad"""
)
_NO_END = _set(
    "to that of for and or not will can must should also de que y o no a en con para también además solo sólo"
)
# A first word that cannot stand for a thing, wherever it is in the subject.
_UNSTEADY = re.compile(
    r"\b(?:here|now|today|each|ten|one|two|three|first|second|third|last|next|main|suggested|principal|if|si|what|"
    r"ahora|hoy|primer\w*|segund\w*|últim\w*)\b"
    r"|^\d|[/&]| [-–] ",
    re.IGNORECASE,
)
_ORDERS = _words(
    """add apply ask avoid be call change check choose click close complete configure confirm consider convert copy create
    decrease delete disable discuss document download drag edit email enable ensure enter escalate file fill find get give
    go include increase install keep leave let log look make mark migrate move open pay pick place prepare press provide
    push put raise reach record register remove rename replace report request reset restart return run save schedule
    select send set share sign speak specify split stop submit switch talk tell try turn type uninstall update upgrade
    upload use verify wait work write"""
)
_IMPERATIVE = re.compile(
    rf"(?:then |please |just |simply |always |never |do not |don't )*(?:{_ORDERS})\b(?! (?:is|are|was|were|will|"
    rf"has|have|can)\b)"
)
_HAS_SUBJECT = re.compile(
    r"(?:you|your|the|an?|all|any|no|there|someone|somebody|nobody)\b(?! (?:like|love|enjoy|prefer|think|feel|wonder)\b)|"
    r"[A-Za-z-]+s? (?:is|are|was|were|has|have|does|do|cannot|can't|fails?)\b"
)
# The comma before it stands inside a list, or what follows is no answer by itself: it leads elsewhere, or to further steps.
_GOES_ON = re.compile(
    r"(?:or|and|but|because|such|including|however|for|they|he|she|through|via|with|in|on|at|from|by|first|"
    r"start|begin|even|although|"
    r"though|while|since|as|if|when|unless|until|before|after|see|refer|consult|read|visit|check|contact|take|"
    r"follow|y|o|pero|como|incluyendo|"
    r"sin embargo|primero|por|con|en|desde|mediante|aunque|cuando|mientras|ya|incluso|consult[ae]|ve[ar]|"
    r"visit[ae]|le[ae]|empieza|empiece|comien\w+|dale|echa|sig[ua]e?|abrimos)\b|"
    r"[^,]{1,40}, (?:and|or|and/or|y|o) |[^,]{1,60}\b(?:and|or|y|o|e)\b[^,]{0,40}, "
)
# Something that follows from a condition, and what is an opinion on it.
_FOLLOWS = re.compile(
    r"\b(?:will|may|must|should|cannot|can't|won't|has to|have to|needs? to|are (?:eligible|required|entitled|"
    r"paid|charged|not)|"
    r"is (?:not|required))\b|'ll\b"
)
_HEDGES = _match_any(
    "probably likely maybe perhaps better best fine important worth good great easier what_steps find_that"
)
# An answer of these depends on what stands before it, or only says that something is possible.
_ADDS = _match_any(
    """additional extra adicional(?:es)? pueden?_(?:no_)?(?:ser|estar|haber|resultar|continuar|llegar|verse|\\w+rse)
    (?:más|menos)_(?:efectiv\\w+|difícil\\w*) posibilidades probabilidades chances odds es_lo_correcto"""
)
_MORE = re.compile(  # more than what?
    r"\b(?:much|more|less|fewer|longer|later|earlier|sooner|further|bigger|smaller|mayor|menor|más|menos)\b"
    r"(?! (?:than|que|de)\b|(?: \w+){1,2} (?:than|que)\b)",
    re.IGNORECASE,
)
# "The checklist" of what? "Documents or materials" of which kind? And nobody asks what happens where one is eligible.
_THE = re.compile(r"\bthe\b(?! (?:\w+ ){1,3}(?:of|for|that|who|which)\b)", re.IGNORECASE)
_DESIRE = re.compile(r"\b(?:want|like|need) (?!(?:an?|to|my|help|some|any)\b)", re.IGNORECASE)
_STATE = re.compile(
    r"What happens if I(?: am|'m|'ve been| have been) (?!\w+(?:ed|ing|wn)\b)|What .* if I(?: am|'m) an? "
)
_PROMISES_A_LIST = re.compile(
    r"^(?:There are|Hay) (?:two|three|four|several|many|a few|dos|tres|varias?|varios|\d)", re.IGNORECASE
)
DEFINITE = ("The", "El", "La", "Los", "Las")
_KIND = re.compile(r"(?:an?|any|every|una?|unos|unas|cualquier|tod[oa]|aquell?[oa]?s?)\b", re.IGNORECASE)
_DISTINGUISHES = re.compile(
    r"\b(?:that|which|who|whose|where|by which|of \w+ing|que|quien|cuy[oa]s?|donde|de \w+[aei]r(?:se)?)\b"
)
# What follows the verb of a definition: a kind of thing and what tells it from others; no praise, no rank, no figure of speech.
_PRAISE = re.compile(
    r"(?:an?|the|any|every|those|una?|el|la|los|las|unos|unas) (?:(?:very|great|good|fine|bad|useful|important|"
    r"critical|key|must|lot|bit|"
    r"little|few|art|skill|best|most|least|only|same|first|last|cornerstone|subject|responsib\w+|result|reason|"
    r"case|one|thing|allowed|"
    r"recommended|default|common|popular|typical|simple|easy|nice|perfect|powerful|valuable|essential|necessary|"
    r"big|huge|new|different|better|"
    r"requirement|member|example|sign|matter|part|\w{3,}est|buen\w*|gran|excelente|mejor\w*|peor\w*|únic[oa]s?|"
    r"primer\w*|últim[oa]s?|más|"
    r"clave|parte|responsab\w+|resultado|razón|caso|importante|encargad[oa]s?|que)\b)",
    re.IGNORECASE,
)
_DISTINGUISHES = _match_any(
    """that which who for used of to where whose designed with from by in between que de del para con por donde cuy[oa]s? en
    entre destinad[oa]s? utilizad[oa]s?"""
)
_ENGLISH_MINE = {
    "you are": "I am",
    "you're": "I'm",
    "you've": "I've",
    "you'll": "I'll",
    "you'd": "I'd",
    "yourself": "myself",
    "yours": "mine",
}
_ENGLISH_MINE["your"] = "my"
_SPANISH_MINE = {"tus": "mis", "tu": "mi", "sus": "mis", "su": "mi"}
_VERBS_OF_USERS = """
tienes=tengo tiene=tengo quieres=quiero quiere=quiero necesitas=necesito necesita=necesito deseas=deseo desea=deseo
puedes=puedo puede=puedo usas=uso usa=uso utilizas=utilizo utiliza=utilizo pierdes=pierdo pierde=pierdo olvidas=olvido
olvida=olvido recibes=recibo recibe=recibo encuentras=encuentro encuentra=encuentro eres=soy trabajas=trabajo
trabaja=trabajo sabes=sé sabe=sé
"""
_SPANISH_VERBS = dict(pair.split("=") for pair in _VERBS_OF_USERS.split())
_OF_READER = re.compile(
    r"\b(?:I|I'm|I've|my)\b|¿Qué (?:se debe|debo) hacer|si (?:no )?(?:"
    + _words(" ".join(_SPANISH_VERBS.values()))
    + r")\b"
)
# Verbs that say little without what follows them.
_UNFINISHED = _set(
    """connected mapped added linked attached combined used displayed applied assigned converted considered found called
    identified"""
)
_OTHER_GENDER = _match_any("días gigas megas mapas programas sistemas problemas temas idiomas")
_FEMININE = re.compile(r"(?:\w+as|\w+[cs]iones|\w+dades|veces|partes|clases|fases|bases|sedes)$", re.IGNORECASE)
Asking = Callable[[re.Match[str]], str | None]
"""What is asked of a sentence of some form; None where its words make no good question."""


def _subject(match: re.Match[str]) -> str | None:
    """The subject as it stands inside a question; None where it is no thing of its own."""
    text, words = match["subject"], match["subject"].split()
    bare = words[1:] if words[0].lower() in _ARTICLES else words
    if not bare or bare[0].lower().strip("“”\"'") in _NO_SUBJECT or words[-1].lower() in _NO_END:
        return None
    if _PRONOUN.search(text) or _UNSTEADY.search(text) or (words[0].endswith("ing") and len(words) > 1):
        return None
    # A name keeps its capital. Of a first word nobody can tell, unless it is an article or has the ending of a common noun.
    if words[0].lower() in _ARTICLES or (words[0].istitle() and words[0].endswith("ing")):
        return text[0].lower() + text[1:]
    if len(words) > 1 or not words[0].istitle():
        return text
    if abstract := re.search(r"(dad|ción|sión|eza|encia|ancia|tud)$|(miento|ismo|aje)$", text):
        return f"{'la' if abstract[1] else 'el'} {text.lower()}"
    return text


def _of(template: str) -> Asking:
    """A question about the subject, with the other parts of the sentence in their places."""

    def ask(match: re.Match[str]) -> str | None:
        subject, parts = _subject(match), match.groupdict(default="")
        return None if subject is None else template.format(**parts | {"subject": subject})

    return ask


def _ask_whole(template: str) -> Asking:
    """A question in the words of the sentence, where none of them points at somebody."""

    def ask(match: re.Match[str]) -> str | None:
        question = template.format(**match.groupdict(default=""))
        return None if _PRONOUN.search(question) or _SPOKEN_TO.search(question) else question

    return ask


def _swap(text: str, pairs: Mapping[str, str]) -> str | None:
    """The text as said by whom it speaks to; None where a word is left that would be wrong in another mouth."""
    for word, own in pairs.items():
        text = re.sub(rf"\b{word}\b", own, text, flags=re.IGNORECASE)
    return None if _SPOKEN_TO.search(text) or _PRONOUN.search(text) or text.endswith(" that") else text


def _is_definite(condition: str, rest: str) -> bool:
    """Whether a condition says what it is about, and what follows it is an answer."""
    vague = _VAGUE.search(condition) or _RELATIVE.search(condition) or _GOES_ON.match(rest) or rest.endswith("?")
    return not vague and condition[-1].isalnum()


def _ask_if(match: re.Match[str]) -> str | None:
    """“If you lose your badge, tell security.” → what should I do if I lose my badge?"""
    condition, rest = match["condition"].strip(), match["rest"].strip()
    own = re.sub(r"^you (?:aren't|are not)\b", "I am not", re.sub(r"^you were\b", "I was", condition))
    spoken = _swap(re.sub(r"^you (?!are\b)", "I ", own, flags=re.IGNORECASE), _ENGLISH_MINE)
    if spoken is None or not _HAS_SUBJECT.match(condition) or not _is_definite(condition, rest) or " ARE " in condition:
        return None
    if len(re.findall(r"\w{4,}", condition)) < FEWEST_NAMING - condition.lower().startswith("you"):
        return None
    if re.match(r"you (?:can|may) (?!be\b|have\b)", rest):
        return f"What can I do if {spoken}?"
    if re.match(
        r"you(?:'ll| will)? (?:should|must|need|have to|are required|be required|want to)\b", rest
    ) or _IMPERATIVE.match(rest):
        return f"What should I do if {spoken}?"
    follows = (
        _FOLLOWS.search(rest) and not _HEDGES.search(rest) and len(re.findall(r"\w{4,}", condition)) >= FEWEST_NAMING
    )
    return f"What happens if {spoken}?" if follows else None


def _ask_si(match: re.Match[str]) -> str | None:
    condition, rest = match["condition"].strip(), match["rest"].strip()
    no, first, others = re.match(r"(no )?(\S+)(.*)", condition, re.IGNORECASE).groups("")  # type: ignore[union-attr]
    if not _is_definite(condition, rest) or first.lower() in ("te", "me", "nos", "os", "le"):
        return None
    if verb := _SPANISH_VERBS.get(first.lower()):
        familiar = first.lower().endswith("s")  # who is addressed as "tú" has "tu"; "su" is then somebody else's
        spoken = None if familiar and re.search(r"\bsus?\b", others) else _swap(f"{no}{verb}{others}", _SPANISH_MINE)
        if spoken is None or len(re.findall(r"\w{4,}", condition)) < FEWEST_NAMING:
            return None
        stated = re.match(
            r"(?:el|la|los|las|un|una|se|existen?|hay|cada|tod[oa]s?|puedes? (?:ser|estar)|(?!deber)[a-z]+rás?)\b", rest
        )
        return f"¿{'Qué pasa' if stated else 'Qué debo hacer'} si {spoken}?"
    # A condition of somebody else is said as it stands; a verb of "you" cannot be.
    named = re.fullmatch(r"(?:el|la|los|las|un|una|se|hay|algún|alguna|existen?)", first, re.IGNORECASE)
    instructed = len(re.findall(r"\w{4,}", condition)) >= FEWEST_NAMING and re.search(
        r"\b(?:el|la|los|las|una?|ningún|[a-z]+s)\b", condition
    )
    if named is None or not instructed or _PRONOUN.search(condition) or _swap(condition, {}) is None:
        return None
    ordered = re.match(
        r"(?:no )?(?:se )?(?:deb\w+|recomienda|\w+[aei]r(?:l[aeo]s?|se)?\b|asegúr\w+|"
        r"(?!el\b|la\b|se\b)[a-zà-ÿ]+[ae] (?:a )?(?:el|las?|los|una?|un[oa]s|al)\b|[a-zà-ÿ]*[áéí][a-z]+[aei]l[ao]s?\b)",
        rest,
    )
    # "Animarla a toser no es efectivo" and "se previene la hipoxia" tell what comes of it.
    is_instruction = re.match(r"\w+[aei]r\w* [^,.;]*\b(?:es|son|no)\b|se (?!deb|recomienda)", rest)
    return f"¿Qué se debe hacer si {condition}?" if ordered and not is_instruction else f"¿Qué pasa si {condition}?"


_ORDEN = re.compile(
    r"(?:simplemente |solo |sólo |también )?(?:puedes?|debes?|deberás?|tienes? que|se (?:debe|puede|recomienda|"
    r"utiliza|usa)|es necesario|"
    r"basta|hay que|haz|ve|pon|mediante|a través|utilizando|usando|por medio|[a-zà-ÿ]{2,}(?:a|e|ar|er|ir|[ae]l[oa]s?|te)\b)"
)


def _ask_how(start: str, mine: Mapping[str, str]) -> Asking:
    """“To reset your password, open Settings.” → how do I reset my password?"""

    def ask(match: re.Match[str]) -> str | None:
        task, rest = match["task"].strip(), match["rest"]
        spoken = _swap(re.sub(r"\b(?:we|you)\b", "I", task), mine)
        # Whoever is told what to do is told so: "you can …", "click …"; a statement about something else is no instruction.
        english = start.startswith("How")
        instructed = re.match(r"(?:you|we recommend|by|using|via|through)\b", rest) or _IMPERATIVE.match(rest)
        other = not english and (re.search(r"\bsus?\b", task) or not _ORDEN.match(rest))
        if (
            spoken is None
            or other
            or (english and not instructed)
            or len(task.split()) < 3
            or _VAGUE.search(task)
            or _RELATIVE.search(task)
        ):
            return None
        leads = match.re.pattern.startswith(("To", "Para")) and _GOES_ON.match(rest)
        return None if leads else f"{start} {spoken}?"

    return ask


def _ask_plain(opening: str, instead: str = "") -> Asking:
    """“The shop opens at 9:30” → when does the shop open?"""

    def ask(match: re.Match[str]) -> str | None:
        subject, verb = _subject(match), match["verb"].lower()
        if subject is None:
            return None
        plural = not verb.endswith("s")
        # The first word of a plural is no name: "Orders to Chile arrive …".
        if plural and subject.split()[0].istitle() and subject.split()[0].endswith("s"):
            subject = subject[0].lower() + subject[1:]
        base = verb if plural else {"has": "have", "does": "do"}.get(verb, verb[:-1])
        thing = f" {match['thing']}" if "thing" in match.groupdict() else ""
        return f"{opening}{thing} {'do' if plural else 'does'} {subject} {instead or base}?"

    return ask


def _ask_cuantos(match: re.Match[str]) -> str | None:
    subject, thing = _subject(match), match["thing"]
    feminine = _FEMININE.match(thing.split()[0]) and not _OTHER_GENDER.match(thing)
    return None if subject is None else f"¿{'Cuántas' if feminine else 'Cuántos'} {thing} {match['verb']} {subject}?"


def _ask_passive(match: re.Match[str]) -> str | None:
    """“Worn boots can be returned within 30 days” → can worn boots be returned? With what follows “by” it is asked how."""
    subject, done, rest = _subject(match), match["done"], match["rest"]
    if subject is None or done in _UNFINISHED or not (subject.split()[0] in _ARTICLES or subject[1:].islower()):
        return None
    thing = f"{subject[0].lower()}{subject[1:]} be {done}"
    if re.match(r"(?:by \w+ing|using|via|through)\b", rest):
        return f"How can {thing}?" if match["may"] == "can" else None
    # What cannot be done under some condition may be possible else: the condition belongs into the question.
    if match["may"] != "can":
        limit = rest.rstrip(".")
        return f"Can {thing} {limit}?" if len(limit.split()) <= MOST_LIMIT and not _PRONOUN.search(limit) else None
    limited = re.match(r"(?:within|for|until|up to|only|once|if|when|at any time|before|after|without)\b", rest)
    return f"Can {thing}?" if limited else None


def _ask_se_puede(match: re.Match[str]) -> str | None:
    subject, may = _subject(match), f"{match['verb']} {match['done']}"
    if subject is None:
        return None
    if re.match(r"(?:mediante|usando|utilizando|con|desde|a través|por medio)\b", match["rest"]):
        return None if match["no"] else f"¿Cómo se {may} {subject}?"
    if match["no"]:
        limit = match["rest"].rstrip(".")
        return (
            f"¿Se {may} {subject} {limit}?" if len(limit.split()) <= MOST_LIMIT and not _PRONOUN.search(limit) else None
        )
    limited = re.match(
        r"(?:hasta|dentro|en \d|solo|sólo|si|cuando|sin|antes|después|únicamente|durante)\b", match["rest"]
    )
    return f"¿Se {may} {subject}?" if limited else None


def _ask_what(match: re.Match[str]) -> str | None:
    """What something is, where the sentence defines it."""
    subject, defined, being = _subject(match), match["defined"], match["being"]
    if (
        subject is None
        or _PRAISE.match(defined)
        or not _DISTINGUISHES.search(defined)
        or len(defined.split()) < FEWEST_DEFINING
    ):
        return None
    # A definition that goes on to a consequence or a list, one in a circle, and "the minutes is …".
    opening = " ".join(defined.split()[:5])
    if _HEDGES.search(opening) or re.search(
        r"\b(?:importante|esencial|essential|useful|útil|helpful|valuable|valios[oa]|crític[oa]|crucial|más \w+|\w+er than)\b",
        opening,
    ):
        return None
    circular = set(Text(subject).content) & set(Text(" ".join(defined.split()[1:3])).content)
    if ", so " in defined or ":" in defined or (circular and len(subject.split()) < 2):
        return None
    if being == "is" and re.search(r"[a-z](?<![sui])s$", subject) and subject.split()[-1].islower():
        return None
    # The first word of a plural is no name unless others have capitals too.
    if being == "are" and subject[1:].islower():
        subject = subject.lower()
    if being in ("es", "son"):
        who = re.match(r"(?:la persona|quien|el profesional|la empleada|el empleado)\b", defined)
        return f"¿{'Quién' if who else 'Qué'} {being} {subject}?"
    return f"What {being} {subject}?"


_THING = (
    r"(?P<subject>(?:(?:An?|The)\s+)?[A-ZÀ-Þ`“\"][^\s,;:()]*(?:\s+(?!that\b|which\b|who\b|is\b|are\b|was\b|"
    r"and\b|or\b)[^\s,;:()]+){0,4}?)"
)
_COSA = (
    r"(?P<subject>(?:(?:El|La|Los|Las|Un|Una)\s+)?[A-ZÀ-Þ`a-zà-ÿ“\"][^\s,;:()]*"
    r"(?:\s+(?!que\b|quien\b|cual\b|es\b|son\b|fue\b|y\b|o\b|no\b|se\b)[^\s,;:()]+){0,4}?)"
)
_MANY = (
    r"(?:(?:up to|at least|at most|about|around|only|exactly|over|more than) )?(?:\d[\d.,]*|two|three|four|five|"
    r"six|seven|eight|nine|ten|twelve)"
)
_CIFRAS = _words("dos tres cuatro cinco seis siete ocho nueve diez doce")
_MUCHOS = rf"(?:(?:hasta|al menos|como máximo|unos|unas|solo|más de) )?(?:\d[\d.]*|{_CIFRAS})"
_COUNTING = _words(
    """has have gets get receives receive includes include contains contain lasts offers offer requires require supports
    support"""
)
_CUENTAN = _words(
    """tiene tienen incluye incluyen contiene contienen dura duran ofrece ofrecen requiere requieren recibe reciben abarca
    cubre"""
)
_DONE = _words(
    "founded created established released published launched built introduced approved signed adopted discovered invented"
)
_HECHO = _words(
    """fundad cread establecid publicad lanzad construid introducid aprobad sancionad promulgad firmad adoptad inventad
    inaugurad"""
)
_VALUES = _words(
    """purpose aim maximum minimum deadline limit price cost length size duration capital role mission rate fee age penalty
    address"""
)
_VALORES = _words(
    """objetivos? finalidad propósito función misión plazos? horarios? precio costo coste límite duración capital máximo
    mínimo fecha"""
)
_PART = _words("[a-z]{3,}ed sent made given taken sold kept paid bought brought")
_YEAR = r"\b.*\b(?:1[5-9]|20)\d\d\b.*$"
_UNTOLD = _words(
    r"""ver\b encontrar\b us\w+ utiliz\w+ emple\w+ especific\w+ indic\w+ defin\w+ configur\w+ leer\b consider\w+ decir\b
    hacer\b dividir\b"""
)
_WEEK = _words("lunes martes miércoles jueves viernes sábados domingos días")

Form = tuple[str, str, Asking]
# The forms of sentences that are asked about, the best first: pattern, name, question.
ENGLISH_FORMS: tuple[Form, ...] = (
    (r"If (?P<condition>[^,;:()]{8,110}), (?:then )?(?P<rest>[^,].{10,})$", "condition", _ask_if),
    (
        r"To (?P<task>(?!(?:be|whom|date|the|an?|this|your|my|which|what|some|all|do|"
        r"always)\b)[a-z]+ [^,;:]{4,80}), (?P<rest>[a-z].{6,})$",
        "task",
        _ask_how("How do I", _ENGLISH_MINE),
    ),
    (
        r"You can (?P<task>(?!no\b|also\b)[a-z]+ [^,;:]{4,70}?) "
        r"(?P<rest>(?:by (?!some|any|no|every)\w+ing|using|via|through)\b.{4,})$",
        "task",
        _ask_how("How can I", _ENGLISH_MINE),
    ),
    (
        rf"{_THING} (?P<was>was|were) (?:first |originally |officially )?(?P<done>{_DONE}){_YEAR}",
        "date",
        _of("When {was} {subject} {done}?"),
    ),
    (
        r"Only (?!one\b|two\b)(?:[^,;:]{3,60}?) (?P<may>can|may|must) (?P<task>(?!not\b|be\b|want\b|need\b)[a-z]+ .{3,90})[.]$",
        "who",
        _ask_whole("Who {may} {task}?"),
    ),
    (
        rf"{_THING} (?P<verb>{_COUNTING}) {_MANY} (?P<thing>(?:[a-z-]+ )?(?!percent)[a-z]{{2,}}s(?: of [a-z]+)?)\b.*$",
        "number",
        _ask_plain("How many"),
    ),
    (
        rf"{_THING} (?P<verb>takes?) (?:(?:about|around|up to|at least|between|from) )*\d[^,;]*?\b(?:minutes|"
        rf"hours|days|weeks|months|years)\b.*$",
        "number",
        _ask_plain("How long"),
    ),
    (
        rf"{_THING} (?P<verb>arrives?) (?:in|within) \d[^,;]*?\b(?:hours|days|weeks)\b.*$",
        "number",
        _ask_plain("How long", "take to arrive"),
    ),
    (rf"{_THING} (?P<verb>costs?) [^,;]*\d.*$", "number", _ask_plain("How much")),
    (
        rf"{_THING} (?P<verb>opens?|closes?|starts?|begins?|ends?|departs?|expires?) (?:at|on|from|in|after|"
        rf"every|daily|between)\b.*(?:\d|days?\b).*$",
        "date",
        _ask_plain("When"),
    ),
    (
        rf"{_THING} (?P<may>can|cannot|may not|must not) be (?P<done>{_PART}),? (?P<rest>.{{4,}})$",
        "allowed",
        _ask_passive,
    ),
    (
        rf"The (?P<value>(?:{_VALUES}) (?:\w+ )?(?:of|for) [^,;:]{{3,60}}?) (?:is|are) "
        r"(?!\w+(?:er|ly)\b|more\b|less\b|not\b).{4,}$",
        "value",
        _ask_whole("What is the {value}?"),
    ),
    (
        rf"{_THING} (?P<being>is|are) (?:located|situated|headquartered|based(?= in)) (?:in|at|on|near) .+$",
        "place",
        _of("Where {being} {subject} located?"),
    ),
    (
        rf"{_THING} (?:stands for|is short for|is an? (?:acronym|abbreviation) for) \S.*$",
        "definition",
        _of("What does {subject} stand for?"),
    ),
    (
        r"(?P<subject>[A-Z][\w-]+(?: [a-z-]+)?) means (?!that\b|you\b|we\b|the\b|to\b)\S.*$",
        "definition",
        _of("What does {subject} mean?"),
    ),
    (
        rf"{_THING} (?P<being>is|are) (?:defined as )?(?P<defined>(?:an?|the|any|every|those) \S.*)$",
        "definition",
        _ask_what,
    ),
)
SPANISH_FORMS: tuple[Form, ...] = (
    (
        r"(?:Si|En caso de que) (?P<condition>[^,;:()]{8,110}), (?:entonces )?(?P<rest>[^,].{10,})$",
        "condition",
        _ask_si,
    ),
    (
        r"Para (?P<task>(?:no )?(?!(?:poder|lograr|hacer|saber)\b)[a-zà-ÿ]+[aei]r(?:se|lo|"
        r"la)? [^,;:]{4,80}), (?P<rest>.{10,})$",
        "task",
        _ask_how("¿Cómo puedo", _SPANISH_MINE),
    ),
    (
        r"(?:Usted )?[Pp]uedes? (?P<task>[a-zà-ÿ]+[aei]r [^,;:]{4,70}?) (?P<rest>(?:mediante|a través de|"
        r"utilizando|usando|por medio de)\b.{4,})$",
        "task",
        _ask_how("¿Cómo puedo", _SPANISH_MINE),
    ),
    (
        rf"{_COSA} (?P<was>fue|fueron) (?P<done>(?:{_HECHO})[oa]s?){_YEAR}",
        "date",
        _of("¿Cuándo {was} {done} {subject}?"),
    ),
    (
        r"(?:Solo|Sólo|Solamente|Únicamente) [^,;:]{3,60}? (?:puede|pueden) (?P<task>(?!ser\b)[a-zà-ÿ]+[aei]r .{3,90})[.]$",
        "who",
        _ask_whole("¿Quién puede {task}?"),
    ),
    (
        rf"{_COSA} (?P<verb>{_CUENTAN}) {_MUCHOS} "
        r"(?P<thing>[a-zà-ÿ]+s(?: de (?!una?\b|el\b|l[oa]s?\b|\w+enta\b|\w+e\b)[a-zà-ÿ]+| [a-zà-ÿ]+[aeo]s)?)\b.*$",
        "number",
        _ask_cuantos,
    ),
    (
        rf"{_COSA} (?P<verb>abren?|cierran?|empiezan?|comienzan?|terminan?|vencen?) (?:[a-zà-ÿ]+ ){{0,3}}?"
        rf"(?:a las? \d|el \d|los (?:{_WEEK})|de lunes|todos los días|a los \d).*$",
        "date",
        _of("¿Cuándo {verb} {subject}?"),
    ),
    (
        rf"{_COSA} (?P<verb>tardan?|demoran?|cuestan?) [^,;]*?(?:\d|\b(?:{_CIFRAS}) )[^,;]*?"
        r"(?P<doing> en [a-zà-ÿ]+[aei]r(?:se)?\b[^,;.]*)?[,;.].*$",
        "number",
        _of("¿Cuánto {verb} {subject}{doing}?"),
    ),
    (
        rf"(?=(?:El|La|Los|Las|Un|Una) ){_COSA} (?P<no>no )?se (?P<verb>puede|"
        rf"pueden) (?P<done>(?!{_UNTOLD})[a-zà-ÿ]+[aei]r),? (?P<rest>.{{4,}})$",
        "allowed",
        _ask_se_puede,
    ),
    (
        rf"(?P<subject>(?:El|La|Los|Las) (?:{_VALORES})(?: \w+)? (?:de|del|para) [^,;:]{{3,60}}?) (?P<being>es|será) .{{4,}}$",
        "value",
        _of("¿Cuál {being} {subject}?"),
    ),
    (
        rf"{_COSA} (?P<being>está|están) (?:ubicad|situad|localizad)[oa]s? (?:en|sobre|cerca) .+$",
        "place",
        _of("¿Dónde {being} {subject}?"),
    ),
    (
        r"Se (?:entiende|entenderá) por (?P<subject>[^,;:]{3,60}?)(?:,| a) \S.*$",
        "definition",
        _of("¿Qué se entiende por {subject}?"),
    ),
    (rf"{_COSA} consiste en (?!que\b)\S.*$", "definition", _of("¿En qué consiste {subject}?")),
    (
        rf"{_COSA} (?P<being>es|son) (?P<defined>(?:una?|el|la|los|las|unos|unas|aquel|aquella|aquell[oa]s|"
        rf"cualquier|todo|toda) \S.*)$",
        "definition",
        _ask_what,
    ),
)
FORMS = {
    language: tuple((re.compile(pattern), name, ask) for pattern, name, ask in forms)
    for language, forms in {"en": ENGLISH_FORMS, "es": SPANISH_FORMS}.items()
}
_ASKS = re.compile(
    rf"(?:{_words('what how can do does who when where why which is are should will may must')})\b|¿", re.IGNORECASE
)


class ExtractiveWriter:
    """Deterministic: the same passage gives the same ideas in the same order, the best first."""

    identity = "extractive"
    label = LABEL

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        language = language_of(f"{passage.heading or ''} {passage.text}") or "en"
        if kind == "citations":
            return _topics(passage, TEMPLATES[language])[:count]
        once: dict[str, Idea] = {}
        for idea in (*_under_question(passage), *_questions(passage, FORMS.get(language, ()))):
            if all(idea.basis != other.basis for other in once.values()):
                once.setdefault(idea.instruction, idea)
        return list(once.values())[:count]

    async def write(self, assignment: WritingTask) -> Draft:
        if assignment.kind == "summaries":
            return _summary(assignment)
        if assignment.kind == "citations":
            return _statements(assignment)
        basis = assignment.idea.basis
        passage_number = next((n for n, one in enumerate(assignment.passages, 1) if basis in flatten(one.text)), None)
        if passage_number is None:
            return Draft(problem="no context holds the sentence that answers the question")
        return Draft(text=" ".join(find_cited(each, passage_number) for each in sentences(basis)))

    async def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Draft:
        """A quotation says what it says; it cannot be mended."""
        return Draft(text=draft.text, problem=f"citations: {'; '.join(problems)}")


def make_extractive(**_parts: object) -> ExtractiveWriter:
    return ExtractiveWriter()


def find_cited(sentence: str, number: int) -> str:
    """The sentence with its marker before the full stop."""
    return f"{sentence[:-1]} [{number}]{sentence[-1]}" if sentence[-1] in ".!?" else f"{sentence} [{number}]"


def _questions(passage: Passage, forms: Sequence[tuple[re.Pattern[str], str, Asking]]) -> Iterator[Idea]:
    """A question of each sentence whose form tells what is asked, the best forms first."""
    clear = clear_sentences(passage.text)
    quotable = [sentence for sentence in clear if not _POINTS.search(sentence) and _is_closed(sentence)]
    taken: set[str] = set()
    for pattern, method, ask in forms:
        for sentence in quotable:
            match = None if sentence in taken else pattern.match(sentence.replace("’", "'"))
            question = ask(match) if match else None
            if (
                match
                and question
                and _stands_alone(match, question, method, passage)
                and len(question.split()) <= MOST_QUESTION_WORDS
                and not _POINTS.search(question)
            ):
                taken.add(sentence)
                yield Idea(instruction=question, method=method, basis=sentence)


def _stands_alone(match: re.Match[str], question: str, method: str, passage: Passage) -> bool:
    """Whether somebody who has not read the passage would ask this, and be answered: it names what it is about."""
    parts = match.groupdict(default="")
    asked = parts.get("task") or parts.get("condition") or ""
    if asked and not _is_named(asked, passage.heading) and (_THE.search(asked) or _DESIRE.search(asked)):
        return False
    if method == "condition":
        condition, rest = asked, parts["rest"]
        own = re.match(r"(?:your|tu|su) (\w+)", rest)
        if _STATE.match(question) or _MORE.search(condition) or _ADDS.search(rest) or (own and own[1] not in condition):
            return False
        # What the reader does or is told to do needs no more; a state of things has to say of what.
        return bool(_OF_READER.search(question)) or _is_named(condition, passage.heading)
    subject = parts.get("subject", "")
    words = subject.split()
    if method in ("date", "place", "value") and words and words[0].lower() in ("a", "an", "un", "una"):
        return False
    if "defined" not in parts and 1 < len(words) <= 3 and words[0] in DEFINITE and subject[1:].islower():
        return not passage.heading or _is_named(" ".join(words[1:]), passage.heading)
    if method != "definition" or "defined" not in parts:
        return True
    article, defined = words[0].lower(), parts["defined"]
    definite, one = words[0] in DEFINITE, article in ("el", "la", "un", "una", "a", "an")
    bare = " ".join(words[1:] if article in _ARTICLES else words)
    english = match.re.pattern.startswith(_THING)
    # "Una causa son los ataques" has its subject behind; "Lindisfarne are a group" is asked about in the singular.
    if parts["being"] in ("son", "are") and (one or (english and len(words) == 1 and not bare.endswith("s"))):
        return False
    kind = _KIND.match(defined) and _DISTINGUISHES.search(re.split("[,;]", defined)[0])
    if (
        not (kind or _DISTINGUISHES.search(" ".join(defined.split()[:8])))
        or ";" in defined
        or bare.endswith(("mente", "ly"))
    ):
        return False
    often = len(re.findall(rf"\b{re.escape(bare)}", flatten(passage.text), re.IGNORECASE)) > 1
    return not re.match(r"(?:el|la|los|las) (?:de|que)\b", defined) and (
        often or not definite or question.startswith("¿Quién") or _is_named(bare, passage.heading)
    )


def _is_named(text: str, heading: str) -> bool:
    """Whether a text has a word of the heading it stands under, or a name of its own."""
    own = re.search(r"(?<!^)(?<!“)\b[A-ZÀ-Þ]\w+", text)
    return own is not None or bool(set(Text(text).content) & set(Text(heading).content))


def _is_closed(sentence: str) -> bool:
    """Whether a sentence ends all that it opens, and states something."""
    # A stop inside, before a capital: two sentences that an abbreviation joined.
    if re.search(r"\.\s+[A-ZÀ-Þ][a-zà-ÿ]+ |[.!?] [¡¿]|, [¡¿]|:[a-z_]+:", sentence):
        return False
    pairs = all(sentence.count(opening) == sentence.count(closing) for opening, closing in ("()", "[]", "“”", "«»"))
    return pairs and sentence.count('"') % 2 == sentence.count("`") % 2 == 0 and not sentence.endswith("?")


def _under_question(passage: Passage) -> list[Idea]:
    """The paragraph under a heading that asks is its answer, where it is short, complete and no introduction to a list."""
    title = flatten(passage.heading).strip(" #*`")
    title = title[title.find("¿") :] if "¿" in title else title
    if not title.endswith("?") or len(title.split()) < 4 or _PRONOUN.search(title) or not _ASKS.match(title):
        return []
    heading, *blocks = re.split(r"\n\s*\n|(?<=\?)[ \t#*]*\n", passage.text.strip(), maxsplit=3)
    # The passage may begin in the middle of its section: then its first paragraph answers nothing.
    if title not in flatten(heading) or not blocks or re.match(r"\s*(?:[-*•]|\d+[.)])\s", "".join(blocks[1:2])):
        return []
    answer = sentences(flatten(blocks[0]))
    fits = 0 < len(answer) <= MOST_ANSWERING and list(answer) == clear_sentences(blocks[0])
    shared = set(Text(title).content) & set(Text(" ".join(answer)).content)
    unfit = any(_POINTS.search(each) or not _is_closed(each) for each in answer)
    quotable = fits and len(shared) > 1 and not unfit and not _PROMISES_A_LIST.search(answer[0])
    return [Idea(instruction=title, method="heading", basis=" ".join(answer))] if quotable else []


def _topics(passage: Passage, shapes: Templates) -> list[Idea]:
    """The heading, where a sentence below takes it up."""
    title = flatten(passage.heading).strip(" .:#*`")
    words = {word for word in Text(title).content if len(word) > 2}
    on_topic = [sentence for sentence in clear_sentences(passage.text) if words & set(Text(sentence).content)]
    if not words or not on_topic or title.endswith("?") or len(title.split()) > 8:
        return []
    return [Idea(instruction=shapes.topic.format(topic=title), method="topic", basis=title)]


def _statements(assignment: WritingTask) -> Draft:
    """From each passage the sentence that says most about the topic."""
    wanted = set(Text(assignment.idea.basis).content)
    citations: list[str] = []
    for number, passage in enumerate(assignment.passages, 1):
        scored = [(len(wanted & set(Text(one).content)), one) for one in clear_sentences(passage.text)]
        best = max(scored, key=lambda pair: pair[0], default=(0, ""))
        # Passages overlap, so two of them may hold the same sentence.
        if best[0] and all(best[1] not in other for other in citations):
            citations.append(find_cited(best[1], number))
    if not citations:
        return Draft(problem="no sentence of the contexts is about the topic")
    return Draft(text=" ".join(citations[:TOPIC_SENTENCES]))


# Labels, steps, entries of a list, and what leads up to one or goes on from a sentence before.
_LEADS_ON = re.compile(
    rf"^(?:{_IMPERATIVE.pattern}|[A-ZÀ-Þ][a-zà-ÿ]+[aei]r |[A-Z]{{2,}} [-–] )|: |{_PROMISES_A_LIST.pattern}|"
    rf"^(?:In addition|Specifically|Additionally|Además|En concreto)\b|{_RELATIVE.pattern}",
    re.IGNORECASE,
)


def _summary(assignment: WritingTask) -> Draft:
    """The sentences nearest to the middle of the document's vocabulary, in the document's order."""
    middle: Counter[str] = Counter()
    unique: dict[str, tuple[int, Counter[str]]] = {}
    opening: list[str] = []
    for number, passage in enumerate(assignment.passages, 1):
        for index, text in enumerate(clear_sentences(passage.text)):
            if text not in unique and _is_closed(text) and not _POINTS.search(text) and not _LEADS_ON.search(text):
                unique[text] = (number, Counter(Text(text).content))
                if index < OPENING:
                    opening.append(text)
                # Each sentence counts a word once, so that a long sentence does not pull the middle towards itself.
                middle.update(unique[text][1].keys())
    if len(unique) < FEWEST_SUMMED:
        return Draft(problem="the document has too few clear sentences")
    order = list(unique)
    # What a document begins with says what it is about; further in, what a passage begins with says more than its details.
    pool = opening if len(opening) > SUMMARY_SENTENCES else order
    central = sorted(
        (text for text in pool if text not in opening[:1]),
        key=lambda text: (-_nearness(unique[text][1], middle), order.index(text)),
    )
    chosen = sorted({*opening[:1], *central[: SUMMARY_SENTENCES - 1]}, key=order.index)
    return Draft(text=" ".join(find_cited(text, unique[text][0]) for text in chosen))


def _nearness(words: Counter[str], middle: Counter[str]) -> float:
    shared = sum(often * middle[word] for word, often in words.items())
    length = sum(often * often for often in words.values()) ** 0.5
    # Divided by its length, or the longest sentence would always win.
    return shared / length if length else 0.0
