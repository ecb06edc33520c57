"""Questions are asked in the language of their document."""

import asyncio

from evergold.generate.extractive import ExtractiveWriter
from evergold.generate.passages import passages
from evergold.generate.spec import Chunks
from evergold.model.generation import Document, Idea

SPANISH = (
    "# Garantía\n\nLa garantía es un compromiso del fabricante con el cliente por dos años. Los pedidos se envían desde el "
    "almacén de Arequipa.\n\n## Cuándo abre la tienda de Lima\n\nLa tienda de Lima abre los sábados hasta las 14:30 horas."
)
ENGLISH = "# Guarantee\n\nThe guarantee is a promise of the maker to the customer for two years. Orders are sent within 3 days."


def ideas(kind: str, text: str) -> list[Idea]:
    [passage] = passages(Document(name="politica.md", text=text, kind="markdown"), Chunks())
    return list(asyncio.run(ExtractiveWriter().ideas(kind, passage, 9)))


def test_a_document_is_asked_about_in_its_language() -> None:
    asked = [idea.instruction for idea in ideas("qa", SPANISH)]
    assert asked == ["¿Qué es la garantía?", "Garantía: ¿Cuándo abre la tienda de Lima?"]
    assert [idea.instruction for idea in ideas("qa", ENGLISH)] == ["What is the guarantee?"]


def test_topics_are_asked_about_in_the_language_of_the_passage() -> None:
    assert ideas("citations", SPANISH)[0].instruction.startswith("¿Qué dicen los documentos sobre")


def test_a_document_in_a_language_without_templates_is_asked_about_in_english() -> None:
    dutch = "# Garantie\n\nDe garantie is een belofte van de maker aan de klant en het is voor de tent en de schoenen."
    assert ideas("qa", dutch) == []
    [topic] = ideas("citations", dutch)
    assert topic.instruction.startswith("What do the documents say about")
