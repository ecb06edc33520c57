"""The writer without a model: what it takes from a text, and what it leaves."""

import asyncio

from evergold.generate.extractive import ExtractiveWriter, find_cited
from evergold.generate.passages import clear_sentences, passages
from evergold.generate.spec import Chunks
from evergold.model.generation import Document, Idea, Passage, RetrievedPassage, WritingTask
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


def asked(text: str, kind: str = "markdown") -> list[tuple[str, str, str]]:
    """The questions of a document with their methods and what answers them."""
    document = Document(name="help.md", text=text, kind=kind)
    some = [idea for one in passages(document, Chunks()) for idea in asyncio.run(WRITER.ideas("qa", one, 10))]
    return [(idea.instruction, idea.method, idea.basis) for idea in some]


def test_what_a_heading_names_is_defined_by_a_sentence_under_it() -> None:
    told = "A refund is the price that a customer paid for the goods."
    whole = f"{told} It comes within a week."  # a definition is quoted with the rest of its paragraph
    assert asked(f"# Refunds\n\n{whole}\n\nIt is a fine day today.") == [("What is a refund?", "definition", whole)]
    assert asked(f"# Refunds\n\nIt is a fine day. {told}") == []
    assert not asked(f"# Parcels\n\n{told} It is a fine day today.")
    for praise in (
        "A refund is the best part of many for you.",
        "A refund is a refund of the money that was paid once.",
    ):
        assert not asked(f"# Refunds\n\n{praise}")


def test_a_heading_that_asks_is_answered_by_all_that_stands_under_it() -> None:
    question = "Can worn boots be returned?"
    answer = "Worn boots can be returned within a month, with:\n\n- the bill\n- the box of the boots\n\nThe shop gives credit."
    basis = (
        "Worn boots can be returned within a month, with:\n- the bill\n- the box of the boots\nThe shop gives credit."
    )
    for heading in (f"## {question}", f"**{question}**"):
        assert asked(f"{heading}\n\n{answer}\n\n## Bills\n\nOther.") == [(question, "heading", basis)]
    # A deeper heading goes on with it, a table cannot be quoted, and what is shown above is missing.
    for more in (
        "### With a bill\n\nAt once.",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "It is done as shown above.",
        "See [it](b.md)",
    ):
        assert question not in [one for one, _, text in asked(f"## {question}\n\nWorn boots:\n\n{more}")]


STEPS = "1. Open **Settings**.\n1. Select the account.\n\n   ![A picture of it](a.png)\n\n1. Click Save."
PASOS = "1. Abra **Ajustes**.\n1. Seleccione la cuenta de la tienda.\n1. Haga clic en Guardar."


@each_row(
    ("heading", "text", "question"),
    [
        ("Create a new account", STEPS, "How do I create a new account?"),
        ("Creating a new account", STEPS, "How do I create a new account?"),
        ("How to Change Your Password", STEPS, "How do I change my password?"),
        ("Crear una cuenta nueva", PASOS, "¿Cómo puedo crear una cuenta nueva?"),
        ("Creación de una cuenta nueva", PASOS, "¿Cómo puedo crear una cuenta nueva?"),
        ("Cómo cambiar su contraseña", PASOS, "¿Cómo puedo cambiar mi contraseña?"),
        ("Conectarse a la tienda de Lima", PASOS, "¿Cómo puedo conectarme a la tienda de Lima?"),
        ("Accounts", f"To add a second account:\n\n{STEPS}", "How do I add a second account?"),
        (
            "Cuentas",
            f"Para agregar una segunda cuenta, siga estos pasos:\n\n{PASOS}",
            "¿Cómo puedo agregar una segunda cuenta?",
        ),
        (
            "Deleting accounts",
            "To delete an old account, open the page of accounts, then click Delete beside its name.",
            "How do I delete an old account?",
        ),
        (
            "What the warranty covers",
            "The warranty covers faults of material for three years.",
            "What does the warranty cover?",
        ),
        ("How a claim is made", "A claim is made with two photographs and the order number.", "How is a claim made?"),
        (
            "When to call the workshop",
            "The workshop is called when a stove leaks gas or does not light.",
            "When should I call the workshop?",
        ),
        (
            "Qué cubre la garantía",
            "La garantía cubre las fallas de material durante tres años.",
            "¿Qué cubre la garantía?",
        ),
        # Nobody would ask these, or what stands there does not answer them.
        ("Report procedure", "- Report it to the manager.\n- Report it to the shop.", None),
        ("Clear cache options", "1. Clear all – Clears all caches.\n2. Clear some – Clears some caches.", None),
        ("Create a new account", "1. The shop has accounts.\n2. Accounts have names.", None),
        ("Creating a new account", "Accounts are created by the shop and by nobody else in it.", None),
        ("Update the shop", "1. Follow the steps above.\n2. Click Save.", None),
        ("Realizar la actualización", PASOS, None),
        ("¿Es nuevo en la tienda?", "La tienda abre los sábados para los socios de Lima.", None),
        ("How can I contribute?", "Who contributes gets a letter from the shop in Lima.", None),
        ("Accounts", "To add a second account, see the page of the accounts of the shop in Lima.", None),
        ("Accounts", "To add a second account, you must be a member of the club of the shop.", None),
        # Another text or other people have the answer, or it is about something else than the question.
        ("How is a claim made?", "A claim is made as described in the guide for claims of the shop.", None),
        ("Which stove should I buy?", "Please ask in the forum of the club which stove suits your boat.", None),
        ("What is store credit?", "Some of it is paid at once and some of it comes later as store credit.", None),
        (
            "Duplicate accounts",
            f"To find two accounts of one name:\n\n{STEPS}",
            "How do I find two accounts of one name?",
        ),
        ("Filter function", STEPS, None),
        ("Why use pull requests", "Pull requests turn a change into a conversation of its readers.", None),
        ("Install as a service", STEPS, None),
        ("Add a second account", f"This goes on from the list above.\n\n{STEPS}", None),
        ("Add a second account", STEPS.replace("Select the account.", "Select the account:"), None),
        ("Tutorial for accounts", f"To add a second account of the example in this tutorial:\n\n{STEPS}", None),
        ("Accounts", f"To add a second account:\n\n{STEPS}\n\nIt looks like this:\n\nThen it is done.", None),
    ],
)
def test_a_section_is_asked_about_where_its_heading_or_first_words_tell_how(
    heading: str, text: str, question: str | None
) -> None:
    spanish = text == PASOS or "¿" in f"{heading}{question}" or heading == "Cuentas"
    about = (
        "# Tienda\n\nEs para los socios de la ciudad y para los que la visitan."
        if spanish
        else "# Shop\n\nIt is for all of us."
    )
    # A question that does not name its page is asked behind the page's title.
    page = "" if "tienda" in (question or "") else "Tienda: " if spanish else "Shop: "
    expected = [f"{page}{question}"] if question else []
    assert [one for one, _, _ in asked(f"{about}\n\n## {heading}\n\n{text}\n")] == expected


def test_a_question_stands_alone() -> None:
    text = f"# Video calls\n\nThey are made by others.\n\n## Webex\n\n### Configure your server\n\n{STEPS}"
    assert [one for one, _, _ in asked(text)] == ["Video calls, Webex: How do I configure my server?"]
    assert [one for one, _, _ in asked(text.replace("Video calls", "Overview"))] == [
        "Webex: How do I configure my server?"
    ]
    # A title that nobody would say leaves it out, and so does a heading that is no question.
    assert not asked(text.replace("Video calls", "All that one may want to know of calls with a picture"))
    assert not asked("# Shop\n\n## ¿Qué hacer: abrir la tienda?\n\nLa tienda abre los sábados para los socios de Lima.")


def test_a_list_that_cannot_be_quoted_whole_answers_nothing() -> None:
    inner = STEPS.replace("1. Click Save.", "   - Of the shop.\n   - Of Lima.\n1. Click Save.")
    assert not asked(f"# Create a new account\n\n{inner}")
    linked = STEPS.replace("1. Click Save.", "1. [Its page](page.md)\n1. Click Save.")
    assert not asked(f"# Create a new account\n\n{linked}")
    icon = STEPS.replace("Click Save", "Click ![SaveDisk](/icons/SaveDisk.svg) to save")
    assert not asked(f"# Create a new account\n\n{icon}")
    code = "To turn off the lights of the shop, set the first line of its file to this one:\n\n```\nlights: off\n```"
    assert not asked(f"# Lights of the shop\n\n{code.replace(' to this one:', ' to off.')}")


def test_an_answer_keeps_its_numbers_and_all_that_belongs_to_it() -> None:
    sizes = "Reports are made in the sizes P1 to P3.  They can also be made in larger sizes, as the shop wishes."
    [(_, _, basis)] = asked(f"# Which sizes do reports have?\n\n{sizes}")
    assert basis == sizes.replace("  ", " ")
    after = "The account is ready after a minute."
    [(_, _, basis)] = asked(f"# Accounts\n\nTo add a second account:\n\n{STEPS}\n\n{after}")
    assert basis.endswith(f"3. Click Save.\n{after}")
    condition = "Only owners of the shop can do this."
    [(_, _, basis)] = asked(f"# Accounts\n\n{condition}\n\nTo add a second account:\n\n{STEPS}")
    assert basis.startswith(condition)


def test_a_question_without_a_name_is_asked_behind_the_product_of_its_page() -> None:
    text = f"# Accounts of the Acme shop\n\nThey are for members.\n\n## Create an account\n\n{STEPS}"
    assert [one for one, _, _ in asked(text)] == ["Accounts of the Acme shop: How do I create an account?"]


def test_steps_are_quoted_in_order_without_their_pictures() -> None:
    [(_, method, basis)] = asked(f"# Create a new account\n\n{STEPS}")
    assert (method, basis) == ("steps", "1. Open Settings.\n2. Select the account.\n3. Click Save.")


def test_front_matter_underlined_headings_and_labels_are_read() -> None:
    front = "---\ntitle: Accounts\nid: 7\n\n---\n\n# Create a new account {#create}\n\n"
    labelled = "1. Open [!UICONTROL Settings].\n2. Click **[!UICONTROL Save]**."
    assert [basis for *_, basis in asked(front + labelled)] == ["1. Open Settings.\n2. Click Save."]
    rst = "================\nCreate an account\n================\n\n1. Open Settings.\n2. Click Save.\n"
    assert [one for one, *_ in asked(rst, kind="text")] == ["How do I create an account?"]


def test_code_tables_fragments_and_dangling_words_are_no_sentences() -> None:
    text = (
        "| a | table |\n\nThis depends on what was said before it. See https://example.org for more about the thing.\n\n"
        "Half of a\n\n- An item of a list that says something whole.\n\nPrice [3] was found by others before us."
    )
    assert clear_sentences(text) == ["An item of a list that says something whole."]


def test_lines_that_were_wrapped_are_joined() -> None:
    text = "Worn boots can be re-\nturned within **thirty days**, for [store credit](credit.md)\nonly. The rest is silence here."
    assert clear_sentences(text)[0] == "Worn boots can be returned within thirty days, for store credit only."


def test_an_answer_cites_the_contexts_that_hold_it() -> None:
    idea = Idea(instruction="?", method="steps", basis="A refund is paid:\n1. Open it. Read it.\n2. Click Save.")
    cited = "A refund is paid:\n1. Open it [2]. Read it [2].\n2. Click Save [3]."
    assert written("qa", idea, "Other.", "A refund is\npaid:\n\n1. Open it. Read it.", "2. Click **Save**.") == cited
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
