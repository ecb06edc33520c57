"""The writer without a model: questions and summaries taken from the documents word for word.

A question comes from a sentence that defines something, from the heading it stands under, or from a sentence with a gap;
its answer is that sentence. A summary is the sentences that have most in common with the rest of the document. All of it is
true of the document and none of it is written well: it makes the loop run offline, and says in every record what it is.
Questions and requests are in the language of the document.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from evergold.generate.passages import clear_sentences, flat
from evergold.model.generation import Assignment, Draft, Idea, Passage
from evergold.text.words import Text, language_of


class Templates(NamedTuple):
    """What is asked of a heading, a gap, a topic, a whole document; and where to cite."""

    heading: str
    gap: str
    topic: str
    summary: str


ENGLISH = Templates(
    heading="What does {document} say about “{title}”?",
    gap="Complete the sentence as the documents have it: “{gapped}”",
    topic="What do the documents say about “{topic}”? Cite the passage of each statement.",
    summary="Summarise {document} in a few sentences.",
)
TEMPLATES = {
    "en": ENGLISH,
    "es": Templates(
        heading="¿Qué dice {document} sobre «{title}»?",
        gap="Complete la frase tal como figura en los documentos: «{gapped}»",
        topic="¿Qué dicen los documentos sobre «{topic}»? Cite el pasaje de cada afirmación.",
        summary="Resuma {document} en unas pocas frases.",
    ),
    "fr": Templates(
        heading="Que dit {document} sur « {title} » ?",
        gap="Complétez la phrase telle qu’elle figure dans les documents : « {gapped} »",
        topic="Que disent les documents sur « {topic} » ? Citez le passage de chaque affirmation.",
        summary="Résumez {document} en quelques phrases.",
    ),
    "de": Templates(
        heading="Was sagt {document} über „{title}“?",
        gap="Ergänzen Sie den Satz so, wie er in den Dokumenten steht: „{gapped}“",
        topic="Was sagen die Dokumente über „{topic}“? Geben Sie zu jeder Aussage die Textstelle an.",
        summary="Fassen Sie {document} in wenigen Sätzen zusammen.",
    ),
    "pt": Templates(
        heading="O que diz {document} sobre “{title}”?",
        gap="Complete a frase tal como está nos documentos: “{gapped}”",
        topic="O que dizem os documentos sobre “{topic}”? Cite a passagem de cada afirmação.",
        summary="Resuma {document} em poucas frases.",
    ),
    "it": Templates(
        heading="Che cosa dice {document} su «{title}»?",
        gap="Completi la frase così come si trova nei documenti: «{gapped}»",
        topic="Che cosa dicono i documenti su «{topic}»? Citi il passaggio di ogni affermazione.",
        summary="Riassuma {document} in poche frasi.",
    ),
}


class Definitions(NamedTuple):
    """How a language defines things: the sentence, words that are no subject, articles, and the question per verb."""

    pattern: re.Pattern[str]
    no_subject: frozenset[str]
    articles: frozenset[str]
    questions: dict[str, str]
    otherwise: str


_NO_SPANISH_SUBJECT = """esto eso este esta ese esa estos estas esos esas ello él ella ellos ellas aquí allí lo que quien
si cuando mientras cada todo toda todos todas nada nadie algo alguien no como en a para con desde por y pero o así también
además tampoco"""
SPANISH_DEFINITIONS = Definitions(
    re.compile(
        r"(?P<subject>(?:(?:El|La|Los|Las|Un|Una)\s+)?[A-ZÀ-Þ`a-zà-ÿ][^\s,;:()]*(?:\s+(?!que\b|quien\b|cual\b)[^\s,;:()]+){0,3}?)\s+"
        r"(?:(?P<being>es|son)\s+(?:una?|el|la|los|las|uno|cualquier|cada|lo)\b|"
        r"(?P<verb>significa|se refiere a|se define como|consiste en|se llama|se denomina))\s+\S"
    ),
    frozenset(_NO_SPANISH_SUBJECT.split()),
    frozenset({"El", "La", "Los", "Las", "Un", "Una"}),
    {
        "son": "¿Qué son {}?",
        "significa": "¿Qué significa {}?",
        "se refiere a": "¿A qué se refiere {}?",
        "consiste en": "¿En qué consiste {}?",
        "se llama": "¿Cómo se llama {}?",
        "se denomina": "¿Cómo se denomina {}?",
    },
    "¿Qué es {}?",
)


def templates_of(passages: Sequence[Passage]) -> Templates:
    """The templates in the language that these passages are written in."""
    # The first passages are enough to tell the language, and cost the same for a leaflet and a book.
    return TEMPLATES[language_of(" ".join(passage.text[:1000] for passage in passages[:4])) or "en"]


LABEL = "extractive: taken from the documents word for word, no model"
SUMMARY_SENTENCES = 3
TOPIC_SENTENCES = 3
GAP = "_____"
_DEFINES = re.compile(
    # The lazy repeat stops at the first verb; at most four words keep clauses from being read as a subject.
    r"(?P<subject>(?:(?:An?|The)\s+)?[A-ZÀ-Þ`][^\s,;:()]*(?:\s+(?!that\b|which\b|who\b)[^\s,;:()]+){0,3}?)\s+"
    r"(?:(?P<being>is|are)\s+(?:an?|the|one|any|what|how|where|when|those|every)\b|"
    r"(?P<verb>means|refers to|is defined as|consists of|is called|stands for))\s+\S"
)
# A sentence that begins with one of these refers to another one and defines nothing by itself.
_NO_SUBJECT_WORDS = """it this that these those they there he she we you i here what which who if when while one each
all some many most such both other another everything nothing anything something everyone nobody no not as in on at for
with from by to after before and but or so"""
_NO_SUBJECT = frozenset(_NO_SUBJECT_WORDS.split())
_ARTICLES = frozenset({"A", "An", "The"})
_QUESTIONS = {
    "are": "What are {}?",
    "means": "What does {} mean?",
    "refers to": "What does {} refer to?",
    "consists of": "What does {} consist of?",
    "is called": "What is {} called?",
    "stands for": "What does {} stand for?",
}
_DEFINITIONS = {
    "en": Definitions(_DEFINES, _NO_SUBJECT, _ARTICLES, _QUESTIONS, "What is {}?"),
    "es": SPANISH_DEFINITIONS,
}
# A number is whole: the looks around it keep "1.5" and "2,000" from being cut at their signs.
_NUMBER = re.compile(r"(?<![\w.,])\d[\d.,]*\d(?!\w)|(?<![\w.,])\d(?![\w.,]\w)")
# A capital after a lower-case word: the first word of a sentence has one without being a name.
_NAME = re.compile(r"(?<=[a-zà-ÿ,] )[A-ZÀ-Þ][\w’'-]+(?: [A-ZÀ-Þ][\w’'-]+)*")
_PLAIN_TITLES = """introduction abstract overview summary conclusion conclusions references contents notes
introducción resumen índice conclusiones referencias notas"""
_PLAIN_HEADINGS = frozenset(_PLAIN_TITLES.split())


class ExtractiveWriter:
    """Deterministic: the same passage gives the same ideas in the same order, the best first."""

    identity = "extractive"
    label = LABEL

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        language = language_of(f"{passage.heading or ''} {passage.text}") or "en"
        shapes = TEMPLATES[language]
        if kind == "citations":
            return _topics(passage, shapes)[:count]
        sentences = clear_sentences(passage.text)
        defined = _definitions(sentences, _DEFINITIONS[language]) if language in _DEFINITIONS else []
        results = [*defined, *_under_heading(passage, sentences, shapes), *_gaps(sentences, shapes)]
        once: dict[str, Idea] = {}
        for idea in results:
            # One sentence gives one question: the definition is tried first, then the heading, then the gap.
            if all(idea.basis != other.basis for other in once.values()):
                once.setdefault(idea.instruction, idea)
        return list(once.values())[:count]

    async def write(self, assignment: Assignment) -> Draft:
        if assignment.kind == "summaries":
            return _summary(assignment)
        if assignment.kind == "citations":
            return _statements(assignment)
        basis = assignment.idea.basis
        passage_number = next((n for n, one in enumerate(assignment.passages, 1) if basis in flat(one.text)), None)
        if passage_number is None:
            return Draft(problem="no context holds the sentence that answers the question")
        return Draft(text=find_cited(basis, passage_number))

    async def rewrite(self, assignment: Assignment, draft: Draft, problems: Sequence[str]) -> Draft:
        """A quotation says what it says; it cannot be mended."""
        return Draft(text=draft.text, problem=f"citations: {'; '.join(problems)}")


def make_extractive(**_parts: object) -> ExtractiveWriter:
    return ExtractiveWriter()


def find_cited(sentence: str, number: int) -> str:
    """The sentence with its marker before the full stop."""
    return f"{sentence[:-1]} [{number}]{sentence[-1]}" if sentence[-1] in ".!?" else f"{sentence} [{number}]"


def _definitions(sentences: Sequence[str], how: Definitions) -> list[Idea]:
    ideas = []
    for sentence in sentences:
        match = how.pattern.match(sentence)
        if match is None or match["subject"].split()[0].lower() in how.no_subject:
            continue
        subject, verb = match["subject"], match["being"] or match["verb"]
        first = subject.split()[0]
        # "A refund" becomes "a refund" inside the question; a name keeps its capital.
        if first in how.articles or (verb in ("are", "son") and first.istitle()):
            subject = subject[0].lower() + subject[1:]
        question = how.questions.get(verb, how.otherwise)
        ideas.append(Idea(instruction=question.format(subject), method="definition", basis=sentence))
    return ideas


def _under_heading(passage: Passage, sentences: Sequence[str], shapes: Templates) -> list[Idea]:
    """What a section says first is what its heading promises."""
    title = flat(passage.heading).strip(" .:#*`")
    words = {word for word in Text(title).content if len(word) > 2}
    if not words or title.casefold() in _PLAIN_HEADINGS:
        return []
    on_topic = [sentence for sentence in sentences if words & set(Text(sentence).content)]
    if not on_topic:
        return []
    question = title if title.endswith("?") else shapes.heading.format(document=passage.document, title=title)
    return [Idea(instruction=question, method="heading", basis=on_topic[0])]


def _gaps(sentences: Sequence[str], shapes: Templates) -> list[Idea]:
    ideas = []
    for sentence in sentences:
        match = _gap_in(sentence)
        if match is not None:
            gapped = sentence[: match.start()] + GAP + sentence[match.end() :]
            ideas.append(Idea(instruction=shapes.gap.format(gapped=gapped), method="gap", basis=sentence))
    return ideas


def _gap_in(text: str) -> re.Match[str] | None:
    """The first number, else the first name; nothing inside a command or a piece of code."""
    matches = (match for pattern in (_NUMBER, _NAME) for match in pattern.finditer(text))
    # An odd number of backticks before it means that the match is inside code.
    return next((match for match in matches if text[: match.start()].count("`") % 2 == 0), None)


def _topics(passage: Passage, shapes: Templates) -> list[Idea]:
    title = flat(passage.heading).strip(" .:#*`")
    names = Counter(match[0] for match in _NAME.finditer(flat(passage.text)))
    ranked = sorted(names, key=lambda name: (-names[name], name))
    topics = [title] if title and title.casefold() not in _PLAIN_HEADINGS else []
    topics += [name for name in ranked if name.casefold() != title.casefold()]
    return [Idea(instruction=shapes.topic.format(topic=topic), method="topic", basis=topic) for topic in topics]


def _statements(assignment: Assignment) -> Draft:
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


def _summary(assignment: Assignment) -> Draft:
    """The sentences nearest to the middle of the document's vocabulary, in the document's order."""
    middle: Counter[str] = Counter()
    unique: dict[str, tuple[int, Counter[str]]] = {}
    for number, passage in enumerate(assignment.passages, 1):
        for text in clear_sentences(passage.text):
            if text not in unique:
                unique[text] = (number, Counter(Text(text).content))
                # Each sentence counts a word once, so that a long sentence does not pull the middle towards itself.
                middle.update(unique[text][1].keys())
    if not unique:
        return Draft(problem="the document has no clear sentence")
    order = list(unique)
    central = sorted(order, key=lambda text: (-_nearness(unique[text][1], middle), order.index(text)))
    chosen = sorted(central[:SUMMARY_SENTENCES], key=order.index)
    return Draft(text=" ".join(find_cited(text, unique[text][0]) for text in chosen))


def _nearness(words: Counter[str], middle: Counter[str]) -> float:
    shared = sum(often * middle[word] for word, often in words.items())
    length = sum(often * often for often in words.values()) ** 0.5
    # Divided by its length, or the longest sentence would always win.
    return shared / length if length else 0.0
