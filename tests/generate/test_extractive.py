"""The writer without a model: what it takes from a text, and what it leaves."""

import asyncio

from evergold.generate.extractive import ExtractiveWriter, find_cited
from evergold.generate.passages import clear_sentences
from evergold.model.generation import Assignment, Idea, Passage, RetrievedPassage

WRITER = ExtractiveWriter()


def passage(text: str, heading: str = "", index: int = 0) -> Passage:
    return Passage(document="help.md", index=index, start=0, end=len(text), text=text, heading=heading)


def ideas(text: str, heading: str = "", kind: str = "qa", count: int = 10) -> list[Idea]:
    return list(asyncio.run(WRITER.ideas(kind, passage(text, heading), count)))


def written(kind: str, idea: Idea, *texts: str) -> str:
    contexts = tuple(RetrievedPassage(passage=passage(text, index=place)) for place, text in enumerate(texts))
    assignment = Assignment(kind=kind, document="help.md", idea=idea, contexts=contexts, prompt="…")
    draft = asyncio.run(WRITER.write(assignment))
    return draft.text or f"problem: {draft.problem}"


def test_a_definition_becomes_a_question_with_the_sentence_as_its_answer() -> None:
    found = ideas("A refund is the price paid for the goods. Refunds are the worry of many. It is a fine day today.")
    assert [(idea.instruction, idea.method) for idea in found] == [
        ("What is a refund?", "definition"),
        ("What are refunds?", "definition"),
    ]
    assert found[0].basis == "A refund is the price paid for the goods."


def test_a_heading_asks_for_the_sentence_that_takes_it_up() -> None:
    text = "Much is said here about other things. Worn boots can be returned within a month, for credit only."
    [idea] = ideas(text, "Returning worn boots")
    assert idea.instruction == "What does help.md say about “Returning worn boots”?"
    assert idea.basis.startswith("Worn boots")


def test_a_number_or_a_name_leaves_a_gap() -> None:
    found = ideas("The parcel reaches La Paz after 9 working days. Nothing much happens on the way over the passes.")
    assert [idea.instruction for idea in found] == [
        "Complete the sentence as the documents have it: “The parcel reaches La Paz after _____ working days.”"
    ]


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
