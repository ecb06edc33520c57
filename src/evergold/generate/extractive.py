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


def _match_any(texts: str) -> re.Pattern[str]:
    """One of these words, in any case; `_` stands for a space."""
    return re.compile(rf"\b(?:{_words(texts).replace('_', ' ')})\b", re.IGNORECASE)


# A sentence that points at another place cannot be understood, or not be asked about, alone.
_POINTS = _match_any(
    r"""above below following here this these those aforementioned latter former instead previous(?:ly)? see_(?:also|the|our)
    as_shown as_follows for_example for_instance e\.g next_(?:section|page|chapter|step) steps?_\d
    (?:different|other|another)_ones? that_(?:special_)?(?:time|case|point|position|way|behaviou?r)
    (?:of|in|to|for|from|by|with)_that there(?!_(?:is|are|was|were|will|may|must|has|have|can)) allí ahí allá preceding
    (?:figure|table|section|article|clause|annex|figura|tabla|sección|artículo|capítulo|anexo)_\d+ siguientes?
    anterior(?:es|mente)? arriba abajo a_continuación antes similar_way dich[oa]s? mism[oa]s?
    (?<=\()(?:ver|see) ver_(?:también|la|el) véase aquí est[eao]s? es[eao]s? por_ejemplo p\.ej
    presente_(?:ley|reglamento|guía|documento|manual|convención)"""
)
_PRONOUN = _match_any("it they them their its he him his she her such ello ellos ellas ést[eao]s? aquell[oa]s?")
_RELATIVE = _match_any(
    """either neither instead also too again else another others? otherwise both anyway still así también además otr[oa]s?
    amb[oa]s tampoco tal(?:es)?"""
)
# What leaves open what is meant, or is an opinion.
_VAGUE = _match_any(
    """ones? yet problems? problemas? issues? inconvenientes? inquietudes sure unsure doubt anything something somehow often
    familiar curious busy any_kind cada_un[oa] \\w+[aei]r(?:l[oae]s?|me) (?:learn|read|know)_more questions? feedback
    further already sugerimos recomendamos ya_sea continu\\w+ proceed (?:do|did|done)_(?:this|that|so|it) get_started many
    simply now ahora (?:saber|conocer)_más ampliar dudas? consultas? preguntas? ello time tiempo choose_(?:to|which)
    comfortable best mejor todo situation situación cómo_funciona"""
)
# Words that a question must not be left with when somebody else asks it.
_SPOKEN_TO = _match_any(
    """you your\\w* yourself we our usted\\w* te ti tú nosotros nuestr\\w+ os \\w+[aei]r(?:te|nos|os|se) est[aá]s tienes
    puedes debes debemos quieres necesitas deseas acced[ae]s hag[ae]s abras uses vayas est[eé]s (?:busca|desea|quiere)s?"""
)
_ARTICLES = ("a", "an", "the", "el", "la", "los", "las", "un", "una", "unos", "unas")
DEFINITE = ("The", "El", "La", "Los", "Las")
# A first word that is no thing of its own: a pronoun, a preposition, a word of order, rank or praise.
_NO_SUBJECT = _match_any(
    """it this that these those they there he she we you i here what which who if when while one each all some many most such
    both other another everything nothing anything something everyone nobody no not as in on at for with from by to after
    before and but or so my your our their his her its only how why where part rest first second third last next goal idea
    point reason result way thing answer question problem key note example since although though because unless once
    whereas whether until given like unlike despite even more less larger smaller additional diferencia difference value
    default name option method function parameter file type valor nombre opción método función parámetro archivo tipo esto
    eso este esta ese esa estos estas esos esas ello él ella ellos ellas aquí allí lo que quien si cuando mientras cada de of
    todo toda todos todas nada nadie algo alguien como en a para con desde por y pero o así también además tampoco su
    sus tu tus mi mis nuestro nuestra se al del solo sólo uno una ejemplo idea resultado respuesta pregunta problema
    primero primera segundo segunda último última siguiente según entre sobre ante bajo durante hacia hasta tras mediante
    aunque donde cuyo existen existe hay parte mayoría resto mitad good great best common ideal buen[oa]? mejor aun aún
    version versión column columna left right top bottom"""
)
# What makes a subject unsteady wherever it stands in it.
_UNSTEADY = _match_any(
    """here now today each ten one two three first second third last next main suggested principal if si what ahora hoy
    muy very primer\\w* segund\\w* últim\\w* izquierd[oa] derech[oa] superior inferior"""
)
_NO_END = _match_any(
    "to that of for and or not will can may must should also de que y o no a en con para también además"
)
_ORDERS = _words(
    """add apply ask avoid be call change check choose click close complete configure confirm consider contact convert copy
    create decrease delete disable discuss document download drag edit email enable ensure enter escalate file fill find
    get give go include increase install keep leave let log look make mark migrate move open pay pick place prepare press
    provide push put raise reach record register remove rename replace report request reset restart return run save
    schedule select send set share sign speak specify split stop submit switch talk tell try turn type uninstall update
    upgrade upload use verify wait work write"""
)
_IMPERATIVE = re.compile(
    rf"(?:then |please |just |simply |always |never |do not |don't )*(?:{_ORDERS})\b(?! (?:is|are|was|were|will|"
    rf"has|have|can)\b)"
)
_INSTRUCTS = re.compile(
    r"you(?:'ll| will)? (?:should|must|need to|have to|can)\b(?! (?:\w+ly )?(?:be|have|also|probably|find|see|notice|not)\b)"
)
# The comma before it stands inside a list, or what follows is no answer by itself: it leads elsewhere, or to further steps.
_GOES_ON = re.compile(
    r"(?:or|and|but|because|such|including|however|for|they|he|she|through|via|with|in|on|at|from|by|first|"
    r"start|begin|even|although|though|while|since|as|if|when|unless|until|before|after|see|refer|consult|read|"
    r"visit|check|contact|take|follow|(?:please )?(?:see|review|read|refer|let us)|get to know|mir[ae]|"
    r"y|o|pero|como|incluyendo|sin embargo|primero|por|con|en|desde|mediante|aunque|cuando|mientras|ya|incluso|"
    r"consult[ae]r?|ve[ar]|visit[ae]|le[ae]|emp[ie]+[zc]\w+|com[ie]+n[zc]\w+|dale|echa|sig[ua]e?|abrimos)\b|"
    r"[^,]{1,40}, (?:and|or|and/or|y|o) |[^,]{1,60}\b(?:and|or|y|o|e)\b[^,]{0,40}, "
)
# What has to be there first is no instruction.
_REQUIRED = re.compile(
    r"(?:you(?:'ll)? (?:need|must|have|are required)|debemos|debes?|deberás?|tienes? que|es necesario|hay que)"
    r"(?: to)? (?:be|have|first|sign|know|understand|estar|ser|tener|haber|saber|poder)\b|you are required|you.ll (?:want|need)"
)
# A condition that befalls somebody; a state ("you are running a server") makes nobody ask.
_BEFALLS = re.compile(
    r"\b(?:cannot|can't|unable|nobody|nothing)\b|(?:\bnot|n't) (?:able|have|see|receive|find|know|get|remember|recognize)\b|"
    r"\b(?:is|are|does|do)(?: not|n't) (?!want|need)|\bneed (?:help|assistance|support|an?)\b|"
    r"\b(?:lose|lost|forget|forgot|forgotten|miss|fail|break|broke|damage|receive an?|find an?|notice|suspect|discover|"
    r"encounter|change|move|leave|delete|remove|cancel|stop|expire|arrive|fall|violate|refuse|reject)"
    r"(?:e?s|e?d)?\b|"
    r"\b(?:is|are|was|were|been|gets?) (?!interested|located|related|associated|hosted|based|scheduled|involved|concerned|"
    r"used|designed|needed|closely)(?:\w+ly )?\w+(?:ed|en|wn|lt)\b"
)
_FOLLOWS = re.compile(
    r"[^,]*?(?:\b(?:will|won't|cannot|can't|(?:is|are) (?:not|eligible|entitled))\b|'ll\b)(?! (?:notice|see|need|find|want))"
)
_MAY = re.compile(r"\b(?:may|might|could|should|need|probably|likely|pued\w+|podr\w+|útil|deb\w+)\b")
_HAS_SUBJECT = re.compile(
    r"(?:you|your|the|an?|all|any|no|someone|somebody|nobody)\b(?! (?:like|love|enjoy|prefer|think|feel|wonder)\b)|"
    r"[A-Za-z-]+s? (?:is|are|was|were|has|have|does|do|cannot|can't|fails?)\b"
)
_ADDS = _match_any("additional extra adicional(?:es)? posibilidades probabilidades chances odds es_lo_correcto")
_MORE = re.compile(  # more than what?
    r"\b(?:much|more|less|fewer|longer|later|earlier|sooner|bigger|smaller|easier|better|faster|mayor|menor|más|menos)\b"
    r"(?! (?:than|que|de)\b|(?: \w+){1,2} (?:than|que)\b)",
    re.IGNORECASE,
)
# "The checklist" of what? "Documents or materials" of which kind?
_THE = re.compile(r"\bthe\b(?! (?:\w+ ){1,3}(?:of|for|that|who|which)\b)", re.IGNORECASE)
_OBJETO = re.compile(r" (?:el|la|los|las) \w+$")
_PROMISES_A_LIST = re.compile(
    r"^(?:There are|Hay) (?:two|three|four|several|many|a few|dos|tres|varias?|varios|\d)|"
    r"\b(?:two|three|several|dos|tres|varias|diferentes) (?:\w+ )?(?:ways|methods|options|formas|maneras|opciones|vías)\b",
    re.IGNORECASE,
)
# What follows the verb of a definition: a kind of thing and what tells it from others; no praise, no rank, no figure of speech.
_PRAISE = re.compile(
    r"(?:an?|the|any|every|those|una?|el|la|los|las|unos|unas) (?:"
    + _words(
        """very great good fine bad useful key must lot bit little few art skill best most least only same first last
        cornerstone subject responsib\\w+ result reason case one thing allowed recommended default common popular preferred
        typical simple easy nice perfect powerful big huge new different better requirement member example sign matter part
        real core joint living source \\w{3,}est buen\\w* gran excelente mejor\\w* peor\\w* únic[oa]s? primer\\w*
        últim[oa]s? más clave parte responsab\\w+ resultado razón caso encargad[oa]s? que de(?!l) \\w+\\s+más"""
    )
    + r")\b|.*\b(?:"
    + _words(
        """importan\\w+ critical crític[oa]s? essential esencial necessary necesari[oa]s? useful útil helpful valuable
        valios[oa]s? crucial recomendad[oa]s? rich impactful integral exciting modern pervasive easier amigable
        poco común bastante totalmente completely distraction probably likely worth"""
    )
    + r")\b",
    re.IGNORECASE,
)
_OURS = _match_any("we our us I esperamos nuestr\\w+ pero but por_lo_que so and_will")
_DISTINGUISHES = _match_any(
    """that which who for used of to where whose designed with from by in between que de del para con por donde cuy[oa]s? en
    entre destinad[oa]s? utilizad[oa]s?"""
)
_ENGLISH_MINE = {"you are": "I am", "you're": "I'm", "you've": "I've", "you'll": "I'll", "you'd": "I'd"}
_ENGLISH_MINE |= {"yourself": "myself", "yours": "mine", "your": "my"}
_SPANISH_MINE = {"tus": "mis", "tu": "mi", "sus": "mis", "su": "mi"}
_VERBS_OF_USERS = """tienes=tengo tiene=tengo puedes=puedo puede=puedo pierdes=pierdo pierde=pierdo olvidas=olvido
    olvida=olvido recibes=recibo recibe=recibo encuentras=encuentro encuentra=encuentro sabes=sé sabe=sé
    recuerdas=recuerdo recuerda=recuerdo"""
_SPANISH_VERBS = dict(pair.split("=") for pair in _VERBS_OF_USERS.split())
# Verbs that say little without what follows them.
_UNFINISHED = _match_any(
    """connected mapped added linked attached combined used displayed applied assigned converted considered found called
    identified made performed achieved served"""
)
_OTHER_GENDER = _match_any("días gigas megas mapas programas sistemas problemas temas idiomas")
_FEMININE = re.compile(r"(?:\w+as|\w+[cs]iones|\w+dades|veces|partes|clases|fases|bases|sedes)$", re.IGNORECASE)
Asking = Callable[[re.Match[str]], str | None]
"""What is asked of a sentence of some form; None where its words make no good question."""


def _subject(match: re.Match[str]) -> str | None:
    """The subject as it stands inside a question; None where it is no thing of its own."""
    text, words = match["subject"], match["subject"].split()
    bare = words[1:] if words[0].lower() in _ARTICLES else words
    if not bare or _NO_SUBJECT.match(bare[0].strip("“”\"'")) or _NO_END.fullmatch(words[-1]):
        return None
    gerund = words[0].endswith("ing") and len(words) > 1
    if (
        gerund
        or _UNSTEADY.search(text)
        or re.search(r"^\d|^EL|[/&¿]| [-–] | (?:El|La|Los|Las|The|An?) |(?:\.|mente|\bqué)$", text)
    ):
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
        parts = match.groupdict(default="")
        subject = _subject(match) if "subject" in parts else ""
        return None if subject is None else template.format(**parts | {"subject": subject})

    return ask


def _swap(text: str, pairs: Mapping[str, str]) -> str:
    """The text as said by whom it speaks to."""
    for word, own in pairs.items():
        text = re.sub(rf"\b{word}\b", own, text, flags=re.IGNORECASE)
    return text


def _ask_if(match: re.Match[str]) -> str | None:
    """“If you lose your badge, tell security.” → what should I do if I lose my badge?"""
    condition, rest = match["condition"].strip(), match["rest"].strip()
    if wanted := re.match(r"you(?:'d| would)? (?:want|wish|need|like|prefer) to (?P<task>\w.+)", condition):
        return _how("How do I", wanted["task"], rest, _ENGLISH_MINE)
    own = re.sub(r"^you (?:aren't|are not)\b", "I am not", re.sub(r"^you were\b", "I was", condition))
    spoken = _swap(re.sub(r"^you (?!are\b)", "I ", own, flags=re.IGNORECASE), _ENGLISH_MINE)
    long = len(re.findall(r"\w{4,}", condition))
    if not _HAS_SUBJECT.match(condition) or long < FEWEST_NAMING - condition.lower().startswith("you"):
        return None
    if _INSTRUCTS.match(rest) or _IMPERATIVE.match(rest):
        return f"What should I do if {spoken}?" if _BEFALLS.search(condition) else None
    happens = _FOLLOWS.match(rest) and not _MAY.search(rest) and long >= FEWEST_NAMING
    state = re.match(r"I(?: am|'m|'ve been| have been) (?!\w+(?:ed|ing|wn)\b)|I(?: am|'m) ", spoken)
    return f"What happens if {spoken}?" if happens and not state else None


def _ask_si(match: re.Match[str]) -> str | None:
    condition, rest = match["condition"].strip(), match["rest"].strip()
    wants = r"(?:quieres?|deseas?|necesitas?|prefieres?|(?:te|le) gustaría|tienes? intención de) (?P<task>[a-zà-ÿ]+[aei]r\b.+)"
    if wanted := re.match(wants, condition):
        # What belongs to whoever "desea" is the reader's own; "su" of "deseas" and of nobody is somebody else's.
        polite = not condition.split()[0].endswith("s") and not condition.startswith("te ")
        return _how(
            "¿Cómo puedo", _swap(wanted["task"], _SPANISH_MINE) if polite else wanted["task"], rest, _SPANISH_MINE
        )
    no, first, others = re.match(r"(no )?(\S+)(.*)", condition, re.IGNORECASE).groups("")  # type: ignore[union-attr]
    if len(re.findall(r"\w{4,}", condition)) < FEWEST_NAMING:
        return None
    instructs = _ORDEN.match(rest) or re.match(r"(?:no )?(?:se )?(?:deb\w+|recomienda)", rest)
    comes = r"(?:se|no)\b|(?:(?:el|la|los|las|una?|cada|tod[oa]s?) )?[^,]*?\b(?:\w{2,}rán?|no|se|falla\w*|pierde\w*|queda\w*)\b"
    stated = re.match(comes, rest) and not _MAY.search(rest)
    if verb := _SPANISH_VERBS.get(first.lower()):
        # Who is addressed as "tú" has "tu"; "su" is then somebody else's. What one has or can do makes nobody ask.
        familiar = first.lower().endswith("s") and re.search(r"\bsus?\b", others)
        state = not no and re.match(r"(?:tienes?|puedes?|sabes?)\b", first)
        ask = "Qué debo hacer" if instructs else "Qué pasa" if stated else None
        return (
            f"¿{ask} si {_swap(f'{no}{verb}{others}', _SPANISH_MINE)}?" if ask and not familiar and not state else None
        )
    # A condition of somebody else is said as it stands; a verb of "you" cannot be.
    named = re.fullmatch(r"(?:el|la|los|las|un|una|se|hay|algún|alguna|existen?)", first, re.IGNORECASE)
    whose = re.search(r"\b(?:el|la|los|las|una?|ningún|[a-z]+s)\b", condition) and not re.search(r"\bsus?\b", condition)
    ask = (
        "Qué se debe hacer"
        if instructs and not rest.startswith(("pued", "se pued"))
        else "Qué pasa"
        if stated
        else None
    )
    return f"¿{ask} si {condition}?" if ask and named and whose else None


# What ends like an order and is none.
_NO_ORDEN = _words("una? el la se será ést[ea]s? que porque donde siempre cualquier cada toda alguna ninguna \\w+ría")
_ORDEN = re.compile(
    r"(?:simplemente |solo |sólo |también |no )?(?:puedes?|debes?|deberás?|tienes? que|se (?:deben?|pueden?|recomienda|"
    r"utiliza|usa)|es necesario|basta|hay que|haz|ve|pon|mediante|a través|utilizando|usando|por medio|"
    rf"(?!(?:{_NO_ORDEN})\b)[a-zà-ÿ]{{2,}}(?:a|e|ar|er|ir|[ae]l[oa]s?|te)\b(?! (?:es|son|no)\b))\b"
)


def _how(start: str, task: str, rest: str, mine: Mapping[str, str], *, leads: bool = True) -> str | None:
    """How something is done, where whoever reads is told so; a statement about something else is no instruction."""
    english = start.startswith("How")
    if english:
        ways = r"(?:we recommend|by|using|via|through)\b"
        instructs = bool(re.match(ways, rest) or _INSTRUCTS.match(rest) or _IMPERATIVE.match(rest))
        task = re.sub(r"\b(?:we|you)\b(?!')", "I", task)
    else:
        instructs = not re.search(r"\bsus?\b", task) and bool(_ORDEN.match(rest))
    unfinished = re.search(r"\b(?:debemos|se debe|hay|es|son) |\bque [a-zà-ÿ]+$", task) or len(task.split()) < 3
    if (
        not instructs
        or unfinished
        or _PROMISES_A_LIST.search(rest)
        or _REQUIRED.match(rest)
        or (leads and _GOES_ON.match(rest))
    ):
        return None
    return f"{start} {_swap(task.strip(), mine)}?"


def _ask_how(start: str, mine: Mapping[str, str], *, leads: bool = True) -> Asking:
    """“To reset your password, open Settings.” → how do I reset my password?"""
    return lambda match: _how(start, match["task"], match["rest"], mine, leads=leads)


def _ask_plain(opening: str) -> Asking:
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
        return f"{opening}{thing} {'do' if plural else 'does'} {subject} {base}?"

    return ask


def _ask_cuantos(match: re.Match[str]) -> str | None:
    subject, thing = _subject(match), match["thing"]
    feminine = _FEMININE.match(thing.split()[0]) and not _OTHER_GENDER.match(thing)
    # Of other words in -es nobody can tell the gender: "variantes", "límites".
    known = feminine or re.match(r"\w+(?:[oa]s|[oa]r?les|ores|meses)\b", thing)
    return (
        None
        if subject is None or not known
        else f"¿{'Cuántas' if feminine else 'Cuántos'} {thing} {match['verb']} {subject}?"
    )


_LIMITED = re.compile(
    r"(?:within (?:\d+|a|an|one|two|three|the first)|for \d+|until|up to|only|once|if|when|at any time|before|after|"
    r"hasta|dentro|en \d+|solo|sólo|si|cuando|antes|después|únicamente|durante)\b"
)
_BY = re.compile(r"(?:by \w+ing|using|via|through|mediante|usando|utilizando|desde|a través|por medio)\b")


def _ask_allowed(english: bool) -> Asking:
    """“Worn boots can be returned within 30 days” → can worn boots be returned? With what follows “by” it is asked how."""

    def ask(match: re.Match[str]) -> str | None:
        subject, done, rest = _subject(match), match["done"], match["rest"].rstrip(".")
        common = subject and (subject.split()[0].lower() in _ARTICLES or subject[1:].islower())
        if subject is None or not common or _UNFINISHED.fullmatch(done):
            return None
        denied = "no" in match["may"]
        thing = (
            f"{subject[0].lower()}{subject[1:]} be {done}"
            if english
            else f"{match['may'].split()[-1]} {done} {subject}"
        )
        # What cannot be done under some condition may be possible else: the condition belongs into the question.
        if denied:
            limit = f" {rest}" if len(rest.split()) <= MOST_LIMIT else None
        elif _BY.match(rest):
            return f"How can {thing}?" if english else f"¿Cómo se {thing}?"
        else:
            limit = "" if _LIMITED.match(rest) else None
        return None if limit is None else f"Can {thing}{limit}?" if english else f"¿Se {thing}{limit}?"

    return ask


def _ask_what(match: re.Match[str]) -> str | None:
    """What something is, where the sentence defines it."""
    subject, defined, being = _subject(match), match["defined"], match["being"]
    words = defined.split()
    opening = " ".join(words[:5])
    # A kind with what tells it from others, before anything goes on; no consequence, no list, no praise.
    instructs = _DISTINGUISHES.search(" ".join(words[1:7]))
    if (
        subject is None
        or len(words) < FEWEST_DEFINING
        or not instructs
        or re.search(r"\b(?:and|y|,)\b", opening.split(instructs[0])[0])
    ):
        return None
    if _PRAISE.match(opening) or _OURS.search(defined) or re.search(r"[;:]|\w+er than\b", defined):
        return None
    # One in a circle, and "the minutes is …", "comments are a distraction".
    if set(Text(subject).content) <= set(Text(opening).content):
        return None
    number = re.search(r"[a-z](?<![sui])s$", subject) and subject.split()[-1].islower()
    if (being == "is" and number) or (being == "are" and re.match(r"an?\b", defined)):
        return None
    # The first word of a plural is no name unless others have capitals too.
    if being == "are" and subject[1:].islower():
        subject = subject.lower()
    if being in ("es", "son"):
        who = re.match(r"(?:la persona|quien|el profesional|la empleada|el empleado)\b", defined)
        return f"¿{'Quién' if who else 'Qué'} {being} {subject}?"
    return f"What {being} {subject}?"


_THING = (
    r"(?P<subject>(?:(?:An?|The)\s+)?[A-ZÀ-Þ`“\"][^\s,;:()]*(?:\s+(?!that\b|which\b|who\b|is\b|are\b|was\b|may\b|"
    r"and\b|or\b)[^\s,;:()]+){0,4}?)"
)
_COSA = (
    r"(?P<subject>(?:(?:El|La|Los|Las|Un|Una)\s+)?[A-ZÀ-Þ`a-zà-ÿ“\"][^\s,;:()]*"
    r"(?:\s+(?!que\b|quien\b|cual\b|es\b|son\b|fue\b|y\b|o\b|no\b|se\b)[^\s,;:()]+){0,4}?)"
)
_MANY = (
    r"(?:(?:up to|at least|at most|about|around|only|exactly|over|more than|hasta|al menos|como máximo|unos|unas|solo|"
    r"más de) )?(?:\d[\d.,]*|two|three|four|five|six|seven|eight|nine|ten|twelve|"
    r"dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce)"
)
_COUNTING = _words("has have gets? receives? includes? contains? lasts offers? requires? supports?")
_CUENTAN = _words("tienen? incluyen? contienen? dura[n]? ofrecen? requieren? reciben? abarcan? cubren?")
_DONE = _words(
    "founded created established released published launched built introduced approved signed adopted invented"
)
_HECHO = _words(
    "fundad cread establecid publicad lanzad construid introducid aprobad promulgad firmad adoptad inaugurad"
)
_VALUES = _words(
    "purpose aim maximum minimum deadline limit price cost length size duration capital role rate fee penalty"
)
_VALORES = _words(
    "objetivos? finalidad propósito función plazos? horarios? precio costo coste límite duración capital máximo mínimo"
)
_PART = _words("[a-z]{3,}ed sent made given taken sold kept paid bought brought")
_YEAR = r"\b.*\b(?:1[5-9]|20)\d\d\b.*$"
_UNTOLD = _words(
    r"""ver\b encontrar\b us\w+ utiliz\w+ emple\w+ especific\w+ indic\w+ defin\w+ configur\w+ leer\b consider\w+ decir\b
    hacer\b dividir\b"""
)

Form = tuple[str, str, Asking]
# The forms of sentences that are asked about, the best first: pattern, name, question.
ENGLISH_FORMS: tuple[Form, ...] = (
    (r"If (?P<condition>[^,;:()]{8,110}), (?:then )?(?P<rest>[^,].{10,})$", "condition", _ask_if),
    (
        r"To (?P<task>(?!(?:be|whom|date|the|an?|this|your|my|which|what|some|all|do|"
        r"understand|always)\b)[a-z]+ [^,;:]{4,80}), (?P<rest>[a-z].{6,})$",
        "task",
        _ask_how("How do I", _ENGLISH_MINE),
    ),
    (
        r"You can (?P<task>(?!no\b|also\b)[a-z]+ [^,;:]{4,70}?) "
        r"(?P<rest>(?:by (?!some|any|no|every)\w+ing|using|via|through)\b.{4,})$",
        "task",
        _ask_how("How can I", _ENGLISH_MINE, leads=False),
    ),
    (
        rf"{_THING} (?P<was>was|were) (?:first |originally |officially )?(?P<done>{_DONE}){_YEAR}",
        "date",
        _of("When {was} {subject} {done}?"),
    ),
    (
        r"Only (?!one\b|two\b)(?:[^,;:]{3,60}?) (?P<may>can|may|must) (?P<task>(?!not\b|be\b|want\b|need\b)[a-z]+ .{3,90})[.]$",
        "who",
        _of("Who {may} {task}?"),
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
        _ask_allowed(english=True),
    ),
    (
        rf"(?P<value>The (?:{_VALUES}) (?:\w+ )?(?:of|for) [^,;:]{{3,60}}?) (?P<being>is|are) "
        r"(?!\w+(?:er|ly|ed)\b|more\b|less\b|not\b|both\b).{4,}$",
        "value",
        lambda match: f"What {match['being']} t{match['value'][1:]}?",
    ),
    (
        rf"{_THING} (?:stands for|is short for|is an? (?:acronym|abbreviation) for) \S.*$",
        "definition",
        _of("What does {subject} stand for?"),
    ),
    (
        rf"{_THING} (?P<being>is|are) (?:defined as )?(?P<defined>(?:an?|the|any|every|those) \S.*)$",
        "definition",
        _ask_what,
    ),
)
SPANISH_FORMS: tuple[Form, ...] = (
    (r"Si (?P<condition>[^,;:()]{8,110}), (?:entonces )?(?P<rest>[^,].{10,})$", "condition", _ask_si),
    (
        r"Para (?P<task>(?:no )?(?!(?:poder|lograr|hacer|saber|entender|comprender)\b)[a-zà-ÿ]+[aei]r(?:se|lo|la)? "
        r"[^,;:()]{4,80}), (?P<rest>.{10,})$",
        "task",
        _ask_how("¿Cómo puedo", _SPANISH_MINE),
    ),
    (
        r"(?:Usted )?[Pp]uedes? (?P<task>[a-zà-ÿ]+[aei]r [^,;:()]{4,70}?) (?P<rest>(?:mediante|a través de|"
        r"utilizando|usando|por medio de)\b.{4,})$",
        "task",
        _ask_how("¿Cómo puedo", _SPANISH_MINE, leads=False),
    ),
    (
        rf"{_COSA} (?P<was>fue|fueron) (?P<done>(?:{_HECHO})[oa]s?){_YEAR}",
        "date",
        _of("¿Cuándo {was} {done} {subject}?"),
    ),
    (
        r"(?:Solo|Sólo|Solamente|Únicamente) [^,;:]{3,60}? (?:puede|pueden) (?P<task>(?!ser\b)[a-zà-ÿ]+[aei]r .{3,90})[.]$",
        "who",
        _of("¿Quién puede {task}?"),
    ),
    (
        rf"{_COSA} (?P<verb>{_CUENTAN}) {_MANY} "
        r"(?P<thing>[a-zà-ÿ]+s(?! diferentes| distint| fundamental)(?: de (?!una?\b|el\b|l[oa]s?\b|\w+enta\b|\w+e\b)[a-zà-ÿ]+|"
        r" [a-zà-ÿ]+[aeo]s)?)\b(?! [A-ZÀ-Þ]).*$",
        "number",
        _ask_cuantos,
    ),
    (
        rf"{_COSA} (?P<verb>abren?|cierran?|empiezan?|comienzan?|terminan?|vencen?) (?:[a-zà-ÿ]+ ){{0,3}}?"
        rf"(?:a las? \d|el \d|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos|días)|"
        r"de lunes|todos los días|a los \d).*$",
        "date",
        _of("¿Cuándo {verb} {subject}?"),
    ),
    (
        rf"{_COSA} (?P<verb>tardan?|demoran?|cuestan?) [^,;]*?\b{_MANY} [^,;]*?"
        r"(?P<doing> en [a-zà-ÿ]+[aei]r(?:se)?\b[^,;.]*)?[,;.].*$",
        "number",
        _of("¿Cuánto {verb} {subject}{doing}?"),
    ),
    (
        rf"(?=(?:El|La|Los|Las|Un|Una) ){_COSA} (?P<may>(?:no )?se (?:puede|pueden)) "
        rf"(?P<done>(?!{_UNTOLD})[a-zà-ÿ]+[aei]r),? (?P<rest>.{{4,}})$",
        "allowed",
        _ask_allowed(english=False),
    ),
    (
        rf"(?P<subject>(?:El|La|Los|Las) (?:{_VALORES})(?: \w+)? (?:de|del|para) [^,;:]{{3,60}}?) "
        r"(?P<being>es|será) (?!\w+[ai]d[oa]s?\b).{4,}$",
        "value",
        _of("¿Cuál {being} {subject}?"),
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
# A heading that asks as people do: "How Terraform Cloud is accessing accounts?" is a title with a sign behind it.
_ASKS = re.compile(
    r"(?:what|which|who|when|where|why|how(?= (?:do|does|did|can|could|is|are|was|should|will|would|much|many|long|often|"
    r"to|old|far)\b)|can|do|does|is|are|should|will|must)\b|¿",
    re.IGNORECASE,
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
            if match and question and _stands_alone(match, question, method, passage):
                taken.add(sentence)
                yield Idea(instruction=question, method=method, basis=sentence)


def _stands_alone(match: re.Match[str], question: str, method: str, passage: Passage) -> bool:
    """Whether somebody who has not read the passage would ask this, and be answered: it names what it is about."""
    parts = match.groupdict(default="")
    asked = parts.get("task") or parts.get("condition") or ""
    if len(question.split()) > MOST_QUESTION_WORDS or not _is_closed(question.rstrip("?")):
        return False
    if any(words.search(question) for words in (_POINTS, _PRONOUN, _SPOKEN_TO)):
        return False
    if asked and (
        _VAGUE.search(asked)
        or _RELATIVE.search(asked)
        or _MORE.search(asked)
        or re.search(r"\bthat \w+$|\b(?:when|if|while|and|or|with|al)$|\W$", asked)
    ):
        return False
    if (
        asked
        and (_THE.search(asked) or (parts.get("task") and _OBJETO.search(asked)))
        and not _is_named(asked, passage.heading)
    ):
        return False
    if method == "condition":
        rest = parts["rest"]
        own = re.match(r"(?:your|tu|su) (\w+)", rest)
        if (
            _ADDS.search(rest)
            or _GOES_ON.match(rest)
            or rest.endswith(("?", "!"))
            or re.match(r"we\b|it(?: is|'s)\b.* to\b|.* do (?:that|this|so)\b", rest)
        ):
            return False
        if own and own[1] not in asked:
            return False
        # What the reader does or is told to do needs no more; a state of things has to say of what.
        return bool(re.search(r"\b(?:I|I'm|I've|my|puedo|debo|se debe)\b", question)) or _is_named(
            asked, passage.heading
        )
    subject = parts.get("subject", "")
    words = subject.split()
    if method in ("date", "value") and words and words[0].lower() in ("a", "an", "un", "una"):
        return False
    if method == "value" and len(Text(question).content) < 3 and not _is_named(question, passage.heading):
        return False
    # A thing with an article and a word or two is known only to whoever reads the section, unless its heading has it.
    bare = " ".join(words[1:] if words and words[0].lower() in _ARTICLES else words)
    if method != "definition" or "defined" not in parts:
        known = not words or words[0] not in DEFINITE or len(words) > 3 or not subject[1:].islower()
        return known or not passage.heading or _is_named(bare, passage.heading)
    # A heading that ran into its sentence, "una causa son los ataques", and "Lindisfarne are a group".
    one = words[0].lower() in ("el", "la", "un", "una", "a", "an")
    english = match.re.pattern.startswith(_THING)
    if parts["being"] in ("son", "are") and (one or (english and len(words) == 1 and not bare.endswith("s"))):
        return False
    if (len(words) > 1 and words[0] == passage.heading.strip(" *#")) or bare.endswith(("mente", "ly")):
        return False
    often = len(re.findall(rf"\b{re.escape(bare)}", flatten(passage.text), re.IGNORECASE)) > 1
    return often or words[0] not in DEFINITE or question.startswith("¿Quién") or _is_named(bare, passage.heading)


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
    """What stands under a heading that asks is its answer, where it is short, complete and holds no list."""
    title = flatten(passage.heading).strip(" #*`")
    title = title[title.find("¿") :] if "¿" in title else title
    if (
        not title.endswith("?")
        or len(title.split()) < 4
        or _PRONOUN.search(title)
        or _POINTS.search(title)
        or not _ASKS.match(title)
    ):
        return []
    heading, *blocks = re.split(r"\n\s*\n|(?<=\?)[ \t#*]*\n", passage.text.strip())
    # The passage may begin in the middle of its section: then its first paragraph answers nothing.
    if title not in flatten(heading):
        return []
    ends = next((at for at, block in enumerate(blocks) if re.match(r"#|\*\*.*\*\*$|.*\?$", block.strip())), len(blocks))
    text = "\n\n".join(blocks[:ends])
    answer = [one for block in blocks[:ends] for one in sentences(flatten(block))]
    shared = set(Text(title).content) & set(Text(" ".join(answer)).content)
    fits = 0 < len(answer) <= MOST_ANSWERING and answer == clear_sentences(text) and len(shared) > 1
    unfit = any(_POINTS.search(each) or not _is_closed(each) for each in answer)
    if not fits or unfit or _GOES_ON.match(answer[0].lower()) or _PROMISES_A_LIST.search(answer[0]):
        return []
    return [Idea(instruction=title, method="heading", basis=" ".join(answer))]


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
