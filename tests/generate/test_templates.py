"""Questions are asked in the language of their document."""

import asyncio

import pytest

from evergold.generate.extractive import ExtractiveWriter
from evergold.model.generation import Idea, Passage

SPANISH = (
    "La garantía es un compromiso del fabricante con el cliente. Los pedidos se envían desde el almacén de Arequipa en "
    "menos de 3 días hábiles. La tienda de Lima abre los sábados hasta las 14 horas. La garantía dura 2 años. "
    "El reembolso se paga siempre con "
    "el mismo medio que el cliente usó para la compra."
)


def ideas(kind: str, text: str, heading: str = "Envío de pedidos") -> list[Idea]:
    passage = Passage(document="politica.md", index=0, start=0, end=len(text), text=text, heading=heading)
    return list(asyncio.run(ExtractiveWriter().ideas(kind, passage, 9)))


def test_a_spanish_document_is_asked_about_in_spanish() -> None:
    asked = [idea.instruction for idea in ideas("qa", SPANISH)]
    assert "¿Qué es la garantía?" in asked
    assert "¿Cuándo abre la tienda de Lima?" in asked
    assert not any("What" in text for text in asked)


def test_topics_are_asked_about_in_the_language_of_the_passage() -> None:
    assert ideas("citations", SPANISH)[0].instruction.startswith("¿Qué dicen los documentos sobre")


@pytest.mark.parametrize("heading", ["Shipping of orders", "Orders"])
def test_english_and_unknown_texts_are_asked_about_in_english(heading: str) -> None:
    text = "The guarantee is a promise of the maker to the customer. The guarantee ends in May. "
    text += "Orders are sent from the store within 3 days."
    asked = [idea.instruction for idea in ideas("qa", text, heading)]
    assert "What is the guarantee?" in asked
