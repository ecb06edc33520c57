"""The writer without a model: what it takes from a text, and what it leaves."""

import asyncio

from evergold.generate.extractive import ExtractiveWriter, find_cited
from evergold.generate.passages import clear_sentences
from evergold.model.generation import Idea, Passage, RetrievedPassage, WritingTask
from tests.rows import each_row

WRITER = ExtractiveWriter()


def passage(text: str, heading: str = "", index: int = 0) -> Passage:
    return Passage(document="help.md", index=index, start=0, end=len(text), text=text, heading=heading)


def ideas(text: str, heading: str = "", kind: str = "qa", count: int = 10) -> list[Idea]:
    return list(asyncio.run(WRITER.ideas(kind, passage(text, heading), count)))


def written(kind: str, idea: Idea, *texts: str) -> str:
    contexts = tuple(RetrievedPassage(passage=passage(text, index=place)) for place, text in enumerate(texts))
    assignment = WritingTask(kind=kind, document="help.md", idea=idea, contexts=contexts, prompt="…")
    draft = asyncio.run(WRITER.write(assignment))
    return draft.text or f"problem: {draft.problem}"


def test_a_definition_becomes_a_question_with_the_sentence_as_its_answer() -> None:
    found = ideas(
        "A refund is the price that was paid for the goods. Refunds are the best of many. It is a fine day today."
    )
    assert [(idea.instruction, idea.method) for idea in found] == [("What is a refund?", "definition")]
    assert found[0].basis == "A refund is the price that was paid for the goods."


def test_a_heading_that_asks_is_answered_by_its_paragraph() -> None:
    asked = "## Can worn boots be returned?"
    answer = "Worn boots can be returned within a month. The shop gives credit for them only."
    [idea, *_] = ideas(f"{asked}\n\n{answer}\n\n## Bills", "Can worn boots be returned?")
    assert (idea.instruction, idea.basis) == ("Can worn boots be returned?", answer)
    # What leads up to a list is half an answer, and so is the first of several paragraphs.
    for more in (
        "- with a bill",
        "The bill has to be shown. It is kept for a year.",
        "See the page of bills for all of it.",
    ):
        found = ideas(f"{asked}\n\n{answer}\n\n{more}", "Can worn boots be returned?")
        assert not [idea for idea in found if idea.method == "heading"]


@each_row(
    ("sentence", "question"),
    [
        ("If you lose your badge, tell your supervisor at once.", "What should I do if I lose my badge?"),
        ("If a holiday falls on your day off, it will be moved.", "What happens if a holiday falls on my day off?"),
        ("To reset your old password, open the settings page.", "How do I reset my old password?"),
        ("You can cancel your order by calling the shop.", "How can I cancel my order?"),
        ("Worn boots can be returned within 30 days.", "Can worn boots be returned?"),
        ("The shop in Lima opens at 9:30 a.m. on Sundays.", "When does the shop in Lima open?"),
        ("Repairs after the warranty cost 40 soles an hour.", "How much do repairs after the warranty cost?"),
        ("The museum was founded in 1887 by two brothers.", "When was the museum founded?"),
        ("Only the owner can delete a shared project.", "Who can delete a shared project?"),
        (
            "Si desea cambiar su contraseña actual, abra la página de ajustes.",
            "¿Cómo puedo cambiar mi contraseña actual?",
        ),
        ("Para crear una cuenta nueva, haga clic en Registrarse.", "¿Cómo puedo crear una cuenta nueva?"),
        ("La tienda de Lima abre los sábados hasta las 14:30 horas.", "¿Cuándo abre la tienda de Lima?"),
        ("El curso incluye 12 clases de una hora.", "¿Cuántas clases incluye el curso?"),
        (
            "Las botas usadas no se pueden devolver sin el recibo.",
            "¿Se pueden devolver las botas usadas sin el recibo?",
        ),
        ("The tent cannot be stored wet.", "Can the tent be stored wet?"),
        ("The tent cannot be dried near a fire.", "Can the tent be dried near a fire?"),
        ("El horno tarda 40 minutos en llegar a 400 grados.", "¿Cuánto tarda el horno en llegar a 400 grados?"),
        ("El guarda es la persona que vigila el parque de noche.", "¿Quién es el guarda?"),
        ("El correo tiene 50 gigas de espacio.", "¿Cuántos gigas de espacio tiene el correo?"),
        (
            "Si la bici tiene un pinchazo grande, devuélvala a la estación más cercana.",
            "¿Qué se debe hacer si la bici tiene un pinchazo grande?",
        ),
        ("If you want to cancel your whole order, call the shop in Lima.", "How do I cancel my whole order?"),
        ("If you are neutral, you'll get no mail from the shop in Lima.", None),
        ("Si el balance de horas ya no alcanza, se pueden traspasar las vacaciones.", None),
        ("El horno tiene dos variantes para el pan de los domingos.", None),
        ("El horno incluye dos puertos HDMI para la pantalla de la sala.", None),
        ("Si el horno tiene una luz roja, ésta se ve desde la sala de los socios.", None),
        ("Los balances se pueden traspasar hasta el mes de enero.", "¿Se pueden traspasar los balances?"),
        # Nobody would ask these, or nobody could answer them alone.
        ("If your shop is hosted on a server of ours, you can use its pages.", None),
        ("To open the new door, you need to be a member of the club.", None),
        ("To open the left door, see the page of doors.", None),
        ("The ledger is a book that we keep for our members.", None),
        ("Late parcels are a distraction from the work of the shop.", None),
        ("El costo del horno será asumido por el importador.", None),
        ("La puerta izquierda es un panel con pestañas para los socios.", None),
        ("Para reparar el horno debemos llamar al taller, que está en Lima.", None),
        ("If you do so, tell your supervisor at once.", None),
        ("To the right of the page, you can see a list of names.", None),
        ("The following table is a list of all the boots.", None),
        ("Chicago is a very walkable city with plenty of shops.", None),
        ("The parcel reaches La Paz after 9 working days.", None),
        ("La principal diferencia es el método que se llama.", None),
        ("Para mejorarlo en su tienda, PrestaShop guarda los cambios.", None),
    ],
)
def test_a_sentence_is_asked_about_where_its_form_tells_how(sentence: str, question: str | None) -> None:
    spanish = sentence.split()[0] in ("Si", "Para", "El", "La", "Las", "Los")
    more = (
        "El resto del texto es para la lengua de los datos."
        if spanish
        else "The rest of the text is for the words of it."
    )
    asked = [idea.instruction for idea in ideas(f"{sentence} {more}") if idea.basis == sentence]
    assert asked == ([question] if question else [])


def test_code_tables_fragments_and_dangling_words_are_no_sentences() -> None:
    text = (
        "| a | table |\n\nThis depends on what was said before it. See https://example.org for more about the thing.\n\n"
        "Half of a\n\n- An item of a list that says something whole.\n\nPrice [3] was found by others before us."
    )
    assert clear_sentences(text) == ["An item of a list that says something whole."]


def test_lines_that_were_wrapped_are_joined() -> None:
    text = "Worn boots can be re-\nturned within **thirty days**, for [store credit](credit.md)\nonly. The rest is silence here."
    assert clear_sentences(text)[0] == "Worn boots can be returned within thirty days, for store credit only."


def test_an_answer_cites_the_context_that_holds_it() -> None:
    idea = Idea(instruction="?", method="definition", basis="A refund is the price paid.")
    assert (
        written("qa", idea, "Other things.", "Text. A refund is the\nprice paid. More.")
        == "A refund is the price paid [2]."
    )
    assert written("qa", idea, "Other things.").startswith("problem: no context holds")


def test_a_summary_takes_the_sentences_nearest_to_the_whole_and_cites_them() -> None:
    text = (
        "Boots can be returned to the shop within a month. The shop pays the postage of boots that are returned. "
        "A cat sat somewhere else entirely. Returned boots must carry the number that the shop gave out."
    )
    summary = written("summaries", Idea(instruction="Summarise.", method="summary"), text)
    assert "cat" not in summary
    assert summary.count("[1]") == 3


def test_a_topic_is_answered_with_one_sentence_of_each_passage() -> None:
    [topic] = ideas("Warranty claims need a photograph.", "Warranty", kind="citations")
    assert topic.instruction == "What do the documents say about “Warranty”? Cite the passage of each statement."
    said = written(
        "citations", topic, "The warranty covers faults of material.", "Every warranty claim needs a photograph."
    )
    assert said == "The warranty covers faults of material [1]. Every warranty claim needs a photograph [2]."


def test_the_marker_stands_before_the_stop() -> None:
    assert find_cited("Is it so?", 3) == "Is it so [3]?"
    assert find_cited("no stop", 1) == "no stop [1]"


def test_a_summary_holds_no_sentence_that_points_elsewhere() -> None:
    text = "Parcels are packed in the town by hand. The example below packs parcels. Parcels of the town leave at noon."
    summary = written("summaries", Idea(instruction="Summarise.", method="summary", basis=text), text)
    assert summary == "Parcels are packed in the town by hand [1]. Parcels of the town leave at noon [1]."
    alone = "To pack parcels by hand, ask the people of the town."
    assert written("summaries", Idea(instruction="Summarise.", method="summary", basis=alone), alone).startswith(
        "problem"
    )
