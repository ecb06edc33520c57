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
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from evergold.generate.passages import _LINK, _WRAP, clear_sentences, flatten
from evergold.model.generation import Draft, Idea, Passage, Section, WritingTask
from evergold.text.markers import markers
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
    return TEMPLATES.get(language_of(" ".join(passage.text[:1000] for passage in passages[:4])) or "en", ENGLISH)


LABEL = "extractive: taken from the documents word for word, no model"
SUMMARY_SENTENCES = 3
FEWEST_SUMMED = 2
OPENING = 2  # sentences at the beginning of a passage from which a summary is taken
TOPIC_SENTENCES = 3
LONGEST_QUESTION, LONGEST_ANSWER, FEWEST_DEFINING = 16, 260, 6  # words


def _match_any(texts: str) -> re.Pattern[str]:
    """One of these words, in any case; `_` stands for a space."""
    return re.compile(rf"\b(?:{'|'.join(texts.split()).replace('_', ' ')})\b", re.IGNORECASE)


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
# Steps may say "click here" and "the following": only what stands outside the section is missing.
_OUTSIDE = _match_any(
    r"""above previous(?:ly)? earlier as_(?:shown|seen|described|mentioned|explained|indicated) screenshots? pictured
    (?:figure|table|image|picture|figura|tabla|imagen)_\d+ (?:next|last|other)_(?:section|page|chapter|lesson)s? acab\w+_de_\w+
    (?:in|see|of|for)_(?:this|the|our)_(?:section|image|picture|example|tutorial|walkthrough|exercise|lab|lesson|scenario)
    (?:en|de|para)_(?:este|esta|el|la)_(?:tutorial|ejemplo|escenario|caso|ejercicio|lección|imagen|figura|sección|página|apartado)
    (?:step|paso)s?_\d (?:this|following)_links? links?_below
    (?:el|este|siguiente)_(?:siguiente_)?(?:enlace|vínculo) anteriormente más_arriba
    (?:described|listed|explained|shown)_below siguiente_(?:sección|página|apartado) follow_the_instructions?
    (?:paso|sección|apartado|capítulo|página|párrafo|lección|punto|acción|opción|ejemplo|procedimiento|tabla|método)s?_anterior(?:es)?
    capturas? como_se_(?:muestra|ve) como_se_indica_en
    coming_soon tbd work_in_progress deprecated próximamente"""
)
_PRONOUN = _match_any(
    """it its them they their he his him she her this that these those such here there above below following ello est[aeo]s?
    es[aeo]s? ést[aeo]s? aquell[oa]s? aquí así dich[oa]s? siguientes? anterior(?:es)? otr[oa]s? another others? again
    cada_un[oa] each_(?:one|of) ambos ambas both"""
)
_ORDERS = """accept access activate add adjust allow answer append apply approve archive ask assign attach avoid back block
    book browse build buy cancel change charge check choose claim clean clear click clone close combine compare complete
    configure confirm connect contact convert copy create customize customise deactivate define delete deploy disable
    disconnect display download drag duplicate edit email enable enroll enter exclude expand export fill filter find follow
    format get give go group hide highlight hold hover identify import include increase insert install invite issue join keep
    launch leave limit link list load locate lock log look mail make manage mark measure merge migrate mount move mute
    navigate obtain open order organize override paste pay perform pin place play plug post prepare press prevent preview
    print provide publish pull push put read record recover redeem reduce refund register reject remove rename reopen reorder
    repair replace reply report request reset resize resolve restart restore retrieve return review rotate run save scan
    schedule scroll search select sell send set share show sign skip sort specify split start stop store submit subscribe
    switch sync synchronize tag take tap test toggle track transfer translate turn type unarchive unblock undo uninstall
    unlink unlock unmute unsubscribe update upgrade upload use validate verify view visit wait watch write zoom"""
_BASES = frozenset(_ORDERS.split())
_GERUNDS = {f"{base.removesuffix('e')}ing": base for base in _BASES}
_GERUNDS |= {f"{base}{base[-1]}ing": base for base in _BASES if re.search(r"[^aeiou][aeiou][bdgmnprt]$", base)}
_ORDER = re.compile(
    rf"(?:(?:then|please|now|first|next|simply|just|optionally|finally)[ ,]+)*(?:{'|'.join(_BASES)})\b"
    r"(?! (?:is|are|was|will|has|can)\b)|"
    r"(?:.{0,60}\b)?you(?:'ll| will)? (?:(?:should|must|need to|have to) (?!be|have|also|see|find|notice)|"
    r"can .{3,80} by \w+ing\b)",
    re.IGNORECASE,
)
# The orders of manuals, to "usted" and to "tú"; by their ending alone they cannot be told from statements.
_ORDEN = re.compile(
    r"(?:(?:luego|después|ahora|primero|por último|finalmente|a continuación|simplemente|opcionalmente|también|y)[ ,]+)*"
    r"(?:(?:acced|abr|escrib|elij|elig|escoj|escog|le|sub|a[ñn]ad|introdu[zc]|introdu[zc]c|dirij|dirig|ve|corr|defin|"
    r"incluy|imprim|"
    r"met|mantén|mantenga|pon|ponga|haz|haga|recib|vuelv|consig|obten|obtenga|permit|sig|eleg|descubr|revis|"
    r"selecci[oó]n|puls|presion|marc|marqu|desmarc|desmarqu|inici|copi|descarg|descargu|guard|agreg|agregu|cre|envi|enví|complet|"
    r"rellen|activ|desactiv|us|utili[zc]|configur|estable[zc]c?|to[cq]u?|cli[cq]u?|locali[zc]|bus[cq]u?|expand|"
    r"despli[eé]gu?|arrastr|"
    r"asegúr|verifi[cq]u?|comprueb|confirm|ingres|modifi[cq]u?|cambi|edit|elimin|borr|quit|asign|cargu?|habilit|deshabilit|"
    r"naveg|navegu|regístr|registr|instal|ejecut|repit|esper|acept|rechac|peg|pegu|pegue|ajust|apli[cq]u?|conect|desconect|"
    r"escane|mir|dé|da|presenta|presente|solicit|llam|gire|gira|retir|coloqu?|coloc|levant|apret|apriet|crea|vay|"
    r"especifi[cq]u?|indi[cq]u?|not|export|import|insert|public|publiqu|oprim|teclee|teclea|dej|entr|sal|salg|"
    r"cierr)(?:a|e|an|en|o)?"
    r"(?:se|te|lo|la|los|las)?)\b(?! (?:es|son|está|se)\b)|"
    r"(?:.{0,60}\b)?(?:deb(?:e|es|erá|erás)|tienes? que|hay que|es necesario|basta con) (?!ser|estar|tener|haber)\w+[aei]r",
    re.IGNORECASE,
)
_INFINITIVE = re.compile(
    r"(?!(?:lugar|hogar|mujer|taller|poder|placer|ser|par|bar|mar|ayer|familiar|celular)\b)[a-zà-ÿ]{2,}[aeií]r(?:se|l[oa]s?)?$"
)
_NOUNS = re.compile(
    r"(edi|(?:crea|instala|elimina|activa|desactiva|exporta|importa|actualiza|asigna|modifica|cancela|configura))ción "
    r"(de |del )(.+)$",
    re.IGNORECASE,
)
_MINE = {
    "yourself": "myself",
    "yours": "mine",
    "your": "my",
    "you": "I",
    "tus": "mis",
    "tu": "mi",
    "sus": "mis",
    "su": "mi",
}


class ExtractiveWriter:
    """Deterministic: the same passage gives the same ideas in the same order, the best first."""

    identity = "extractive"
    label = LABEL

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        language = language_of(f"{passage.heading or ''} {passage.text}") or "en"
        if kind == "citations":
            return _topics(passage, TEMPLATES.get(language, ENGLISH))[:count]
        once: dict[str, Idea] = {}
        for section in passage.sections if language in _TASKS else ():
            for idea in (idea for ask in ASKED for idea in ask(passage, section, language)):
                question = _name_page(idea.instruction, passage.title, section.above)
                if question and all(idea.basis not in other.basis for other in once.values()):
                    once.setdefault(question, idea.model_copy(update={"instruction": question}))
        return list(once.values())[:count]

    async def write(self, assignment: WritingTask) -> Draft:
        if assignment.kind == "summaries":
            return _summary(assignment)
        if assignment.kind == "citations":
            return _statements(assignment)
        lines = assignment.idea.basis.split("\n")
        texts = [strip_markup(one.text) for one in assignment.passages]
        cited: list[str] = []
        for line in lines:
            number = next((n for n, text in enumerate(texts, 1) if _ITEM.sub("", line) in text), None)
            if number is None:
                return Draft(problem="no context holds all of the text that answers the question")
            cited.append(_cite_line(line, number))
        return Draft(text="\n".join(cited))

    async def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Draft:
        """A quotation says what it says; it cannot be mended."""
        return Draft(text=draft.text, problem=f"citations: {'; '.join(problems)}")


def make_extractive(**_parts: object) -> ExtractiveWriter:
    return ExtractiveWriter()


def find_cited(sentence: str, number: int) -> str:
    """The sentence with its marker before the full stop."""
    return f"{sentence[:-1]} [{number}]{sentence[-1]}" if sentence[-1] in ".!?" else f"{sentence} [{number}]"


def _cite_line(line: str, number: int) -> str:
    """Every sentence of a line with its marker; what leads up to a list claims nothing."""
    item = _ITEM.match(line)
    cited = [each if each.endswith(":") else find_cited(each, number) for each in sentences(line)]
    return (item.group() if item else "") + " ".join(cited)


_ITEM = re.compile(r"\A\s*(?:\d{1,2}[.)]|#\.|[-*+•])\s+")
# Pictures, targets and notes' labels are left out of what is quoted; code, tables and directives cannot be quoted in a line.
_LEFT_OUT = re.compile(
    r"<figure\b.{0,800}?</figure>|^[ >\t]*!\[[^\]]{0,300}\](?:\((?:[^()\n]|\([^()\n]{0,50}\)){0,300}\)|"
    r"\[[^\]\n]{0,100}\])(?:\{[^}\n]{0,200}\})?[ \t]*$|"
    r"(?<=\))\{[^}\n]{0,200}\}|<img\b[^>]{0,500}>|</?(?:br|p|div|a|span|center|kbd|b|i|u|em|strong|sup)\b[^>]{0,300}>|"
    r"<!--.{0,500}?-->|[ ]?\{[:#][^}]{0,100}\}|^[ ]*:::image[^\n]*:::[ ]*$|"
    r"\[!div[^\]\n]{0,200}\]|[ ]\(\[[^\]\n]{1,60}\]\([^()\s]{1,300}\)\)|"
    r"^[ ]*\.\. (?:image|figure|_)[^\n]*(?:\n[ ]+:[^\n]*)*|^[ ]*>[ ]?(?:\[![A-Z]+\])?",
    re.MULTILINE | re.DOTALL,
)
# An icon that stands in a sentence under the name of its file cannot be said either.
_UNQUOTABLE = re.compile(
    r"!\[(?P<icon>[^\]\n]{1,60})\]\((?:[^()\s]{0,300}/)?(?P=icon)\.[a-z]{2,4}\b|"
    r"```|~~~|!INCLUDE|^\s*\||^[+=-]{3,}|\{[{%]|^\s*:::|^\s*\.\. |[<\\]|^\s*!!!|::$|:[a-z_-]+:[^`\s]|^\t|^ {4,}\S.*[;{]$",
    re.MULTILINE,
)


_REFERS = re.compile(
    r"(?:^|, |; )(?:for (?:more|further|detailed|additional)|see\b|learn more|read more|refer to|check out|"
    r"more information|visit\b|"
    r"para (?:obtener )?(?:más|información|instrucciones|conocer más|saber más)|consult[ae]|ve[ar]\b|véase|"
    r"más información|obtenga más|"
    r"obtener más|lea\b|puede consultar)|"
    r"\b(?:more information|further information|for details|más información|más detalles|información adicional)\b|"
    r"\b(?:here|aquí)[.:)]*$|(?:link|enlace|vínculo)s?[.:]?$",
    re.IGNORECASE,
)


# A sentence that sends its reader to another text, or to other people.
_ELSEWHERE = re.compile(
    r"\b(?:see|refer|consult|read|check|visit|follow|described|explained|detailed|documented|covered|outlined|according|"
    r"found|listed|"
    r"consult\w+|ve[ar]|vea|le[ae]r?|revis\w+|visit\w+|sig[au]\w*|descrit[oa]s?|explica\w*|detalla\w*|indica\w*|según|"
    r"siguiendo)\b"
    r"[^.]{0,60}\b(?:sections?|chapters?|articles?|pages?|guides?|guidelines|tutorials?|documents?|documentation|docs?|"
    r"manuals?|website|"
    r"blogs?|posts?|faqs?|instructions|videos?|examples?|links?|wiki|readme|secci[oó]n\w*|capítulos?|artículos?|"
    r"páginas?|guías?|tutorial\w*|"
    r"documento|documentación|notas|notes|manual\w*|instrucciones|indicaciones|ejemplos?|enlaces?|vínculos?|tema|apartado)\b",
    re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"\b(?:contact(?:ing)?|get in touch|reach out|ask|e-?mail|write to|forums?|raise an? \w+|open an? (?:issue|ticket)|"
    r"support team|"
    r"p[oó]n\w* en contacto|contact[aeo]\w*|pregunt[ae]\w*|escrib[ae]\w* a|foros?|soporte|equipo de)\b",
    re.IGNORECASE,
)
MOST_SENT_AWAY = 0.3  # share of an answer's sentences


def strip_markup(text: str) -> str:
    """The text on one line as it is quoted: without pictures, tags and marks."""
    return flatten(_LEFT_OUT.sub("", text))


def _quote(text: str) -> list[str]:
    """The lines of a section as an answer quotes them; a paragraph that a line cannot show is `LOST`."""
    lines: list[str] = []
    number, written, margin, sent = 0, 0, 0, False
    for paragraph in re.split(r"\n\s*\n", _LEFT_OUT.sub("", text)):
        if _UNQUOTABLE.search(re.sub(r"(?<!`)`[^`\n]+`(?!`)", "", paragraph)):
            lines.append(LOST)
            continue
        for raw in _WRAP.sub(" ", paragraph).split("\n"):
            item, bare = _ITEM.match(raw), _ITEM.sub("", raw, count=1)
            margin = len(raw) - len(raw.lstrip()) if item and not (lines and _ITEM.match(lines[-1])) else margin
            ordered = item is not None and item.group().strip()[0] in "0123456789#"
            before = lines[-1] if lines and _ITEM.match(lines[-1]) else ""
            inner = len(raw) - len(raw.lstrip()) > margin + 1 or (before != "" and before[0].isdigit() != ordered)
            # A list within a list, or an item that only says where to read, cannot be quoted whole.
            if item and (inner or _LINK.fullmatch(bare.strip(" .")) or _REFERS.match(flatten(bare))):
                lines.append(LOST)
                continue
            # Where more is to be read answers nothing.
            if _LINK.fullmatch(bare.strip(" .")):
                continue
            every = sentences(flatten(bare))
            line = " ".join(one for one in every if not _REFERS.search(one))
            sent = sent or len(line) < len(flatten(bare))
            if any(map(str.isalnum, line)):
                if ordered and item:
                    raw_number = int(re.sub(r"\D", "", item.group()) or 1)
                    # A list that is numbered by hand begins anew with its 1.
                    number, written = (1 if raw_number == 1 < written else number + 1), raw_number
                elif not item and not (lines and _ITEM.match(lines[-1])):
                    number = written = 0
                lines.append(f"{number}. {line}" if ordered else f"- {line}" if item else line)
    # Where the rest is elsewhere, a sentence or two are no answer.
    return [LOST] if sent and len(" ".join(lines).split()) < FEWEST_BESIDE else lines


LOST = "?"
FEWEST_BESIDE = 40  # words of a section that also says where to read more


def _title(text: str) -> str:
    """A heading as it is read: without marks, numbers and a sign at its end."""
    return re.sub(
        r"^(?:(?:(?:step|paso|part|parte|chapter|capítulo|lesson|lección|module|módulo|section|"
        r"sección) )?\d{1,2}(?:\.\d{1,2})*[.):]*|[a-zA-Z][.)]|[^\w¿¡“«\"'`(]+)\s+",
        "",
        strip_markup(text),
        flags=re.IGNORECASE,
    ).strip(" *_#:.`")


def _complete(lines: Sequence[str]) -> bool:
    """Whether quoted lines are an answer: of a fair length, closed, and pointing at nothing outside."""
    text = " ".join(lines)
    last = lines[-1] if lines else ""
    numbers = [line.partition(".")[0] for line in lines if line[0].isdigit()]
    every = [one for line in lines for one in sentences(line)]
    sent_away = [at for at, one in enumerate(every) if _PEOPLE.search(one)]
    dangling = re.match(
        r"(?:but|however|so|then|also|he|she|they|pero|además|también|entonces)\b", _ITEM.sub("", text), re.IGNORECASE
    )
    # What a line leads up to, if no list, was a picture or the like.
    led = all(_ITEM.match(after) for line, after in pairwise(lines) if line.endswith(":"))
    if dangling or not led:
        return False
    # Steps before the first, or under one of them, are somewhere else.
    if (numbers and numbers[0] not in "01") or any(_ITEM.match(line) and line.endswith(":") for line in lines):
        return False
    if any(map(_ELSEWHERE.search, every)) or sent_away[:1] == [0] or len(sent_away) > MOST_SENT_AWAY * len(every):
        return False
    return (
        6 <= len(text.split()) <= LONGEST_ANSWER
        and all(_ITEM.match(line) or line.endswith((".", "!", ":", ")")) for line in lines)
        and not last.endswith((":", ",", "?"))
        and not _OUTSIDE.search(text)
        and not re.search(r"https?://\S+\s*$|[?¿|{}]|\w_[A-Z]|\w\*\w|\.\d\. ", re.sub(r"`[^`]+`", "", text))
        and not re.search(r"``|\{%|(?<!\S):[a-z_-]+:(?!\S)", text)
        and all(text.count(one) == text.count(other) for one, other in ("()", "[]", "“”", "«»"))
        and text.count("`") % 2 == text.count('"') % 2 == 0
        and not markers(text)
    )


def _askable(question: str) -> bool:
    """Whether somebody who has not read the passage would understand a question."""
    words = question.split()
    return (
        4 <= len(words) <= LONGEST_QUESTION
        and not _PRONOUN.search(question)
        and question.count("?") == 1
        and not re.search(r"[/|<>{}=\[\]:]|\w_\w|\(|\b(?:we|our|us|nuestr\w+|nosotros)\b", question)
    )


def _name_page(question: str, title: str, above: str) -> str | None:
    """The question behind what it is asked about, as far as it does not say so itself; None where that is too long to say."""
    asked = _name_words(_ASKING.sub(" ", question))
    # What stands behind a bar is the name of the site.
    headings = (_PAGE_OF.sub("", _title(heading.partition(" | ")[0])) for heading in (title, above))
    missing: list[str] = []
    for heading in headings:
        words = _name_words(_ASKING.sub(" ", heading))
        # A product that the title names belongs to a question without a name, whatever else they share.
        named = not _find_names(" ".join((*missing, question))) and (_find_names(heading) or len(asked) < FEWEST_ASKED)
        if words - asked and (not words & asked or named) and not _GENERIC.fullmatch(heading):
            missing.append(heading[0].upper() + heading[1:])
            asked |= words
    if any(
        len(heading.split()) > LONGEST_HEADING
        or (heading.isupper() and len(heading) > LONGEST_ACRONYM)
        or re.search(r"[?:|{}<>%]|\d{2,}\D+\d{2,}", heading)
        for heading in missing
    ):
        return None
    return f"{', '.join(missing)}: {question}" if missing else question


def _find_names(text: str) -> list[str]:
    """The words with a capital or digit inside a text that is not all in such."""
    inner = [word for word in re.findall(r"[\w.-]+", text) if len(word) > 1][1:]
    names = [word for word in inner if word != word.lower()]
    return names if len(names) < len(inner) or len(inner) < 3 else []


FEWEST_ASKED = 3  # words that carry meaning, without which a question needs its title
LONGEST_ACRONYM = 5  # letters
LONGEST_HEADING = 8  # words of a title or heading before a question
_PAGE_OF = re.compile(
    r"^(?:frequently asked questions|questions|faqs?|preguntas(?: más)?(?: frecuentes)?|(?:(?:an )?introduction|"
    r"overview|introducción|resumen|"
    r"información general)) (?:about|on|for|to|of|sobre|acerca de|a|de)(?: (?:las?|los|el))? ",
    re.IGNORECASE,
)
_GENERIC = re.compile(
    r"|overview|introduction|getting started|readme|faqs?|frequently asked questions|help|documentation|"
    r"(?:user )?(?:guide|manual)|contents|index|key features|general|summary|questions?|prerequisites|requirements|"
    r"prerrequisitos|requisitos(?: previos)?|resumen|preguntas|introducción|[íi]ndice|contenidos?|(?:visión|información|"
    r"descripción) general|preguntas (?:más )?frecuentes|"
    r"(?:guía|manual)(?: del usuario)?|ayuda|documentación",
    re.IGNORECASE,
)


def _ask_heading(passage: Passage, section: Section, language: str) -> Iterator[Idea]:
    """A heading that asks, answered by all that stands under it."""
    title, lines = _title(section.heading), _quote(section.text)
    if language == "en":
        title = _lower(title, section.text)
        title = title[:1].upper() + title[1:]
    question = _question_en(title) if language == "en" else _question_es(title)
    if not (question and section.whole and _askable(question) and _complete(lines)):
        return
    # "How can I contribute?" asks whoever reads the page; "what is X?" needs no more than X.
    asked = set(Text(_ASKING.sub(" ", question)).content)
    is_what = re.match(r"(?:what (?:is|are)|¿qué (?:es|son)) ", question, re.IGNORECASE)
    names = len(asked) > 1 or bool(asked and is_what)
    # What something is, its first words say; "some of them are old" does not.
    if what := re.match(r"(?:what (?:is|are|does)|¿qué (?:es|son|significa)) (.+)", question, re.IGNORECASE):
        names = bool(names and _name_words(" ".join(_bare(lines[0])[:2])) & _name_words(" ".join(_bare(what[1])[:2])))
    if names and asked & set(Text(" ".join(lines)).content):
        yield Idea(instruction=question, method="heading", basis="\n".join(lines))


def _bare(text: str) -> list[str]:
    """The words of a text behind its article."""
    words = re.findall(r"[\w'-]+", text)
    return words[1:] if words and words[0].lower() in _ARTICLES else words


_ASKING = _match_any(
    r"""qué cuál(?:es)? quién(?:es)? cuándo cuánt[oa]s? dónde cómo por_?qué puedo puedes? pueden se debo debes? hay tengo
    tiene que existen? necesito es son un una el la los las de del mi mis en a para al me hacer hago
    funcion\w+ use used work works contribute"""
)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|can|could|should|will|would|must|may|has|have)"
_ASKS = re.compile(
    r"(?:who|what|when|where|why|how|how (?:much|many|long|often|far|old)(?: \w+)?|(?:what|which)(?: kinds? of| types? of)? \w+|"
    rf"when and where)(?:'s| {_AUXILIARY}) ",
    re.IGNORECASE,
)


def _question_en(title: str) -> str | None:
    """The question that a heading asks, with or without its sign."""
    text = title.removesuffix("?")
    # A heading that asks as people do: "How Terraform Cloud is accessing accounts?" is a title with a sign behind it.
    if _ASKS.match(text):
        return f"{text}?"
    if title.endswith("?") and re.match(rf"(?:{_AUXILIARY}|am|who|which|what (?:if|happens)) ", text, re.IGNORECASE):
        return title
    if to := re.match(r"(When|Where|What|Which \w+) to (.+)$", text):
        return f"{to[1]} should I {_swap(to[2])}?"
    if passive := re.match(r"(How|When|Where|Why|What) (.+) (is|are) (\w+(?:ed|en|ade|ept|elt|ought|ent))$", text):
        return f"{passive[1]} {passive[3]} {_low(passive[2])} {passive[4]}?"
    if does := re.match(r"(How|When|Where|Why|What) (.+) (\w{3,}?)(?:(?<=[sxh])e)?s$", text):
        return (
            f"{does[1]} does {_low(does[2])} {does[3]}?"
            if does[3] in _DOES and not does[2].endswith("s") and does[2].split()[0].lower() not in _BASES
            else None
        )
    return None


_DOES = frozenset(
    (
        "work cover need contain include mean cost do offer provide happen come take use require support store "
        + _ORDERS
    ).split()
)


def _low(text: str) -> str:
    return text[0].lower() + text[1:] if re.match(r"(?:The|An?|My|Your)\b", text) else text


def _question_es(title: str) -> str | None:
    """The question that a heading asks, with or without its signs; one that only speaks to its reader asks nothing."""
    text = (title[title.find("¿") + 1 :] if "¿" in title else title).removesuffix("?")
    asks = r"(?:(?:a|con|de|en|para|por|desde|hasta) )?(?:qué|cuál(?:es)?|quién(?:es)?|cuándo|cuánt[oa]s?|dónde)\b|"
    asks += r"por ?qué|cómo (?!\w+[aei]r(?:se|l[oa]s?)?\b)"
    if "¿" in title or title.endswith("?"):
        asks += r"|(?:puedo|se puede[n]?|debo|tengo que|necesito|hay|existe[n]?|es (?:posible|necesario|obligatorio)|cómo)\b"
    return f"¿{text[0].upper()}{text[1:]}?" if re.match(asks, text, re.IGNORECASE) else None


def _ask_how(passage: Passage, section: Section, language: str) -> Iterator[Idea]:
    """Something to do that a heading names, answered by the steps under it."""
    title, lines = _title(section.heading), _quote(section.text)
    task = (
        None
        if title.endswith("?")
        else _task_en(title, section.text)
        if language == "en"
        else _task_es(title, section.text)
    )
    # "Report procedure" looks like an order: only where the steps are numbered is it surely none of a noun.
    ordered = any(line[0].isdigit() for line in lines) or language == "es" or title.split()[0].lower() not in _BASES
    # Steps that lead to something else than the heading, or to a part of it, do not answer it.
    leads = [match["task"] for line in lines if (match := _TASKS[language].match(line.replace("’", "'")))]
    other = task and any(lead.split()[0].lower() != task.split()[0] for lead in leads)
    if task and ordered and not other and section.whole and _complete(lines) and _has_steps(lines, language):
        yield from _how(task, lines, language, f"{passage.title} {section.above}", "steps")


def _ask_task(passage: Passage, section: Section, language: str) -> Iterator[Idea]:
    """What a paragraph says how to do, with the steps that it leads up to, where the heading or the title names it too."""
    title = f"{_title(section.heading)} {passage.title}"
    lines = _quote(section.text)
    headings = f"{passage.title} {section.above}"
    tasks = [at for at, line in enumerate(lines) if _TASKS[language].match(line.replace("’", "'"))]
    for start, line in enumerate(lines):
        match = None if _ITEM.match(line) else _TASKS[language].match(next(iter(sentences(line)), "").replace("’", "'"))
        # All of the section up to what it says how to do next; what stands before the first may be its condition.
        begin = start if any(at < start for at in tasks) else 0
        unit = lines[begin : min((at for at in tasks if at > start), default=None)]
        if (
            match is None
            or not section.whole
            or not _complete(unit)
            or _POINTS.search(match["task"])
            or len(sentences(line)) > MOST_SENTENCES
        ):
            continue
        leads = line.endswith(":") or re.search(r"\b(?:steps|pasos)\b", line)
        orders = (
            leads and _has_steps(unit, language)
            if len(unit) > 1
            else _is_instruction(match["rest"] or "", line, language)
        )
        # One paragraph answers only where it is all of its section, and the heading or the title names the same.
        shared = set(Text(match["task"].partition(" ")[2]).content) & set(Text(title).content)
        named = len(unit) > 1 or (len(lines) == 1 and shared)
        if orders and named:
            yield from _how(_swap(match["task"]), unit, language, headings, "task")


def _is_instruction(rest: str, line: str, language: str) -> bool:
    """Whether a paragraph says all of it: what to do, and neither what must be there before nor where more is to be read."""
    order = _ORDER if language == "en" else _ORDEN
    leads = re.match(
        r"(?:first|you|see|refer|check|contact|ask|follow|review|primero|deb|hay|ve[ar]|consult|compr?ueb|sig|revis)",
        rest,
    )
    return bool(order.match(rest)) and not leads and len(rest.split()) > FEWEST_ORDERING and not _POINTS.search(line)


def _has_steps(lines: Sequence[str], language: str) -> bool:
    """Whether lines hold a list that says what to do; its numbered items alone, where it has such."""
    items = [_ITEM.sub("", line) for line in lines if line[0].isdigit()]
    fewest = 0.7 if items else 1.0  # what stands beside an order in an open list is none of its steps
    items = items or [_ITEM.sub("", line) for line in lines if _ITEM.match(line)]
    orders = [_is_order(one, language) and not re.match(r"[^.,]{2,40}(?: [–—-]|:) ", one) for one in items]
    return len(items) > 1 and orders[0] and sum(orders) >= fewest * len(orders)


def _how(task: str, lines: Sequence[str], language: str, title: str, method: str) -> Iterator[Idea]:
    question = f"How do I {task}?" if language == "en" else f"¿Cómo puedo {task}?"
    if _askable(question) and not _OPEN.search(task) and not _SERIES.search(title) and _is_named(task, language):
        yield Idea(instruction=question, method=method, basis="\n".join(lines))


MOST_SENTENCES = 6  # sentences of a paragraph
FEWEST_ORDERING = 7  # words of what is to be done
_TASKS = {
    "en": re.compile(
        r"(?:To|If you (?:want|wish|would like) to) (?P<task>(?!be\b|do\b)[A-Za-z][a-z]+ [^,;:()]{4,70})(?:, (?P<rest>.{8,})|:)$"
    ),
    "es": re.compile(
        r"(?:Para|Si (?:deseas?|quieres?|necesitas?)) (?P<task>[a-zà-ÿ]+[aei]r [^,;:()]{4,70})(?:, (?P<rest>.{8,})|:)$"
    ),
}


def _is_order(text: str, language: str) -> bool:
    """Whether a sentence says what to do, at once or after what it is for or where it is done."""
    order = _ORDER if language == "en" else _ORDEN
    return bool(order.match(text) or order.match(text.partition(", ")[2]))


def _is_named(task: str, language: str) -> bool:
    """Whether a task says of what, as people do: neither "the update", known to readers alone, nor "filter function"."""
    words = task.split()[1:]
    thing = set(Text(" ".join(word for word in words if word.lower() not in _ARTICLES)).content)
    definite = words[0].lower() in ("the", "el", "la", "los", "las")
    has_object = (
        _OBJECT.match(" ".join(words)) or next(iter(words))[0] in '`"“«' or any(word[0].isupper() for word in words[:2])
    )
    whole = words[0].lower() not in _WITHOUT_OBJECT
    return bool(thing) and (len(thing) > 1 or not definite) and whole and bool(has_object)


# An article or the like, a preposition, or a plural before any of these.
_OBJECT = re.compile(
    r"(?:\w+ ){0,2}?(?:an?|the|my|all|each|every|any|more|multiple|one|two|into?|out|up|down|off|on|from|to|for|with|as|"
    r"at|between|"
    r"el|la|los|las|una?|unos|mis?|todos?|todas?|cada|varios|varias|a|al|del?|en|con|como|por|desde|entre|que|si)\b|"
    r"(?:\w+ ){0,2}?\w+[^s\W]s\b",
    re.IGNORECASE,
)


# "Remove from the list" and "update on a phone" do not say what.
_WITHOUT_OBJECT = ("from", "on", "as", "for", "with", "using", "via", "at", "desde", "en", "como", "mediante")
_ARTICLES = ("a", "an", "the", "el", "la", "los", "las", "un", "una", "unos", "unas", "de", "del")


# Steps of a tutorial are about its example, and go on from the ones before.
_SERIES = re.compile(
    r"\b(?:tutorial\w*|walkthroughs?|labs?|exercises?|examples?|scenarios?|quick ?starts?|lessons?|ejemplos?|"
    r"ejercicios?|escenarios?|"
    r"inicio rápido|paso|lección)\b",
    re.IGNORECASE,
)
# What a task must not end with or hold when somebody else asks for it.
_OPEN = re.compile(
    r"\b(?:y|o|and|or|de|en|a|to|with|con|etc|everything|todo|things?|cosas?|procedure|process|options|settings|"
    r"polic(?:y|ies)|overview|guide|reference)$|^(?:comprender|entender|conocer|saber|aprender|empezar|comenzar|begin|"
    r"start \w+ing)\b|"
    r"\b(?:required|necessary|needed|corresponding|respective|relevant|appropriate|desired|specified|selected|certain|"
    r"requerid[oa]s?|necesari[oa]s?|correspondientes?|respectiv[oa]s?|adecuad[oa]s?|desead[oa]s?|seleccionad[oa]s?)\b|"
    r"\b(?-i:the|el|la|los|las|al|del) (?-i:[a-zà-ÿ]+)$|"
    r"[:;,–—]| - |\b(?:step|paso|part|parte|example|ejemplo|pulsa|haz|haga|seleccion[ae]|debes?|puedes?|vaya)\b",
    re.IGNORECASE,
)


def _task_en(title: str, text: str) -> str | None:
    title = re.sub(r"^(?:how (?:to|do (?:I|you)|can (?:I|you)) |to )", "", title, flags=re.IGNORECASE)
    first, _, others = title.partition(" ")
    base = first.lower() if first.lower() in _BASES else _GERUNDS.get(first.lower())
    if base is None or not others:
        return None
    return _swap(f"{base} {_lower(others, text)}")


def _task_es(title: str, text: str) -> str | None:
    title = re.sub(r"^(?:cómo|para) ", "", title, flags=re.IGNORECASE)
    if noun := _NOUNS.match(title):
        title = (
            f"{'edita' if noun[1].lower() == 'edi' else noun[1].lower()}r {'el ' if noun[2] == 'del ' else ''}{noun[3]}"
        )
    first, _, others = title.partition(" ")
    if not _INFINITIVE.match(first.lower()) or not others:
        return None
    return _swap(f"{re.sub('se$', 'me', first.lower())} {_lower(others, text)}")


def _lower(words: str, text: str) -> str:
    """The words of a heading as they stand inside a sentence: a capital stays where the text has it too."""
    longer = [word for word in words.split() if len(word) > 3]
    # A heading in sentence case has capitals for names alone.
    if 2 * sum(map(str.istitle, longer)) <= len(longer):
        return words
    made, text = [], strip_markup(text)
    every = words.split()
    for before, word, after in zip(["", *every], every, [*every[1:], ""], strict=False):
        bare = word.strip(".,!?\"'()")
        # A name of two words or more stays whole.
        name = any(
            len(pair.split()) > 1 and pair in text for pair in (f"{before} {bare}", f"{word} {after}".strip(" ?"))
        )
        common = (
            bare.istitle()
            and bare != "I"
            and not name
            and (
                re.search(rf"\b{re.escape(bare.lower())}\b", text)
                or not re.search(rf"(?<=[\w,] ){re.escape(bare)}\b", text)
            )
        )
        made.append(word.lower() if common else word)
    return " ".join(made)


def _swap(text: str) -> str:
    """The text as said by whom it speaks to."""
    for word, own in _MINE.items():
        text = re.sub(rf"\b{word}\b", own, text)
    return text


def _ask_what(passage: Passage, section: Section, language: str) -> Iterator[Idea]:
    """What a heading or a title names, where a sentence under it says what that is."""
    named = {_name_words(_title(section.heading)), _name_words(passage.title if section == passage.sections[0] else "")}
    for line in _quote(section.text)[:3]:
        # The sentence that defines begins its paragraph, all of which is the answer.
        sentence = next(iter(sentences(line)), "")
        match = _DEFINES[language].match(sentence)
        if match is None:
            continue
        subject, kind, being = match["subject"], match["kind"], match["being"]
        bare = _name_words(subject)
        circular = bare & _name_words(kind) or "`" in subject or "'" in kind
        if (
            not bare
            or bare not in named
            or circular
            or len(kind.split()) < FEWEST_DEFINING
            or not _DISTINGUISHES.search(kind)
        ):
            continue
        if not _complete([line]) or any(words.search(sentence) for words in (_POINTS, _OURS)) or _PRAISE.match(kind):
            continue
        subject = subject[0].lower() + subject[1:] if match["article"] else subject
        question = f"What {being} {subject}?" if language == "en" else f"¿Qué {being} {subject}?"
        if not _PRONOUN.search(question):
            yield Idea(instruction=question, method="definition", basis=line)
            return


_OURS = _match_any(
    r"""we our us I you your esperamos nuestr\w+ tus? usted pued\w+ deb\w+ muy very pero but also
    también more less más menos mejor better predeterminad[oa]s? default"""
)
_DISTINGUISHES = _match_any(
    "that which who for used of to where whose designed with from by in between que de del para con por donde cuy[oa]s? en entre"
)


def _name_words(text: str) -> frozenset[str]:
    return frozenset(
        Text(
            re.sub(r"\b(?:el|la|los|las|una?|de|del)\b", " ", re.sub(r"\(.*?\)", "", text), flags=re.IGNORECASE)
        ).content
    )


_DEFINES = {
    "en": re.compile(
        r"(?P<subject>(?P<article>(?:An?|The) )?[^,;:.]{2,50}?) (?P<being>is) (?P<kind>(?:an?|the|any) [a-z].+)$"
    ),
    "es": re.compile(
        r"(?P<subject>(?P<article>(?:El|La|Los|Las|Una?) )?[^,;:.]{2,50}?) (?P<being>es) "
        r"(?P<kind>(?:una?|el|la|los|las|unos|unas|cualquier) [a-zà-ÿ].+)$"
    ),
}
_PRAISE = re.compile(
    r"(?:\w+ ){1,2}(?:document\w*|guide|page|manual|tutorial|book|guía|página|"
    r"basic|básic[oa]|very|great|good|key|must|lot|way|most|best|only|same|first|last|result|reason|"
    r"case|one|thing|"
    r"default|common|"
    r"popular|preferred|powerful|member|example|part|new|different|better|important|essential|critical|crucial|fantastic|"
    r"gran|buen\w*|excelente|mejor|únic[oa]|primer\w*|últim[oa]|más|parte|resultado|razón|caso|fantástic[oa]|encargad[oa]|"
    r"responsab\w+|importante|esencial|forma|manera|fundamental)\b",
    re.IGNORECASE,
)


ASKED: tuple[Callable[[Passage, Section, str], Iterator[Idea]], ...] = (_ask_heading, _ask_how, _ask_what, _ask_task)


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


_RELATIVE = _match_any(
    """either neither instead also too again else another others? otherwise both anyway still así también además otr[oa]s?
    amb[oa]s tampoco tal(?:es)?"""
)
_PROMISES_A_LIST = re.compile(
    r"^(?:There are|Hay) (?:two|three|four|several|many|a few|dos|tres|varias?|varios|\d)|"
    r"\b(?:two|three|several|dos|tres|varias|diferentes) (?:\w+ )?(?:ways|methods|options|formas|maneras|opciones|vías)\b",
    re.IGNORECASE,
)


def _is_closed(sentence: str) -> bool:
    """Whether a sentence ends all that it opens, and states something."""
    # A stop inside, before a capital: two sentences that an abbreviation joined.
    if re.search(r"\.\s+[A-ZÀ-Þ][a-zà-ÿ]+ |[.!?] [¡¿]|, [¡¿]|:[a-z_]+:", sentence):
        return False
    pairs = all(sentence.count(opening) == sentence.count(closing) for opening, closing in ("()", "[]", "“”", "«»"))
    return pairs and sentence.count('"') % 2 == sentence.count("`") % 2 == 0 and not sentence.endswith("?")


# Labels, steps, entries of a list, and what leads up to one or goes on from a sentence before.
_LEADS_ON = re.compile(
    rf"^(?:{'|'.join(_BASES)})\b|^[A-ZÀ-Þ][a-zà-ÿ]+[aei]r |^[A-Z]{{2,}} [-–] |: |{_PROMISES_A_LIST.pattern}|"
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
