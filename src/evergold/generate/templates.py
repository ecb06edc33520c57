"""Questions and requests in the language of the document they are about."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from evergold.model.generation import Passage
from evergold.text.language import language_of


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


def language_of_passage(passage: Passage) -> str:
    """The language of a passage; English where none stands out."""
    return language_of(f"{passage.heading or ''} {passage.text}") or "en"


def templates_of(passages: Sequence[Passage]) -> Templates:
    """The templates in the language that these passages are written in."""
    # The first passages are enough to tell the language, and cost the same for a leaflet and a book.
    return TEMPLATES[language_of(" ".join(passage.text[:1000] for passage in passages[:4])) or "en"]
