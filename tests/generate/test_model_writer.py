"""The writer that is a model: what it sends, which replies it accepts, and what becomes of the others."""

import asyncio
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.generate.model_writer import BUILT_IN, Messages, ModelWriter, chosen_prompts, make_model_writer
from evergold.generate.spec import Prompts
from evergold.model.generation import Draft, Idea, Passage, RetrievedPassage, WritingTask
from evergold.model.run import Attempt
from tests.builders import an_attempt
from tests.rows import each_row

PASSAGE = Passage(document="help.md", index=0, start=0, end=9, text="The ferry leaves at nine from the old pier.")


class Model:
    """A model that gives its replies one after the other and keeps what it was asked."""

    def __init__(self, *replies: Attempt | str) -> None:
        self.replies = [an_attempt(reply) if isinstance(reply, str) else reply for reply in replies]
        self.asked: list[tuple[str, Messages]] = []

    async def ask(self, purpose: str, messages: Messages) -> Attempt:
        self.asked.append((purpose, list(messages)))
        return self.replies[len(self.asked) - 1]


def ideas(model: Model, kind: str = "qa", count: int = 3) -> list[Idea]:
    return list(asyncio.run(ModelWriter(model.ask, BUILT_IN, "openai/m").ideas(kind, PASSAGE, count)))


def an_assignment() -> WritingTask:
    contexts = (RetrievedPassage(passage=PASSAGE),)
    return WritingTask(kind="qa", document="help.md", idea=Idea(instruction="When?"), contexts=contexts, prompt="P")


def test_a_list_of_questions_becomes_ideas_and_no_more_than_asked_for() -> None:
    model = Model('Sure: {"questions": ["When does\\n it leave?", "", 7, "From where?", "To where?", "Why?"]}')
    assert [idea.instruction for idea in ideas(model)] == ["When does it leave?", "From where?", "To where?"]
    purpose, (prompt,) = model.asked[0]
    assert purpose.startswith("qa ideas help.md#") and PASSAGE.text in prompt["content"]


@each_row(
    "reply",
    [
        '["When?", "Where?"]',
        'Here:\n```json\n["When?", "Where?"]\n```',
        '[{"question": "When?"}, {"question": "Where?"}]',
    ],
)
def test_a_bare_list_is_a_list_of_questions(reply: str) -> None:
    assert [idea.instruction for idea in ideas(Model(reply))] == ["When?", "Where?"]


def test_topics_are_asked_about_in_the_words_of_their_template() -> None:
    (idea,) = ideas(Model('{"topics": ["ferry times"]}'), kind="citations")
    assert idea.basis == "ferry times" and "“ferry times”" in idea.instruction


def test_a_reply_that_is_no_list_is_sent_back_once_with_what_is_wrong() -> None:
    model = Model("I would ask when it leaves.", '{"questions": ["When?"]}')
    assert [idea.instruction for idea in ideas(model)] == ["When?"]
    _, messages = model.asked[1]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert "no JSON object with a list 'questions'" in messages[2]["content"]


@each_row(
    ("replies", "problem"),
    [
        (("no", "no"), "malformed reply: no JSON object with a list 'questions'"),
        (('{"questions": "When?"}',) * 2, "malformed reply: no JSON object with a list 'questions'"),
        (('{"questions": [" ", 3]}',) * 2, "malformed reply: the list 'questions' holds no text"),
        ((an_attempt("{", finish_reason="length"),) * 2, "cut off: the reply ended at its token limit"),
        ((an_attempt("", error="timeout"),), "call failed: timeout"),
    ],
)
def test_what_cannot_be_used_twice_is_one_idea_with_the_problem(replies: Any, problem: str) -> None:
    model = Model(*replies)
    (idea,) = ideas(model)
    assert idea.problem == problem and len(model.asked) == len(replies)


@each_row(
    ("reply", "text", "problem"),
    [
        (an_attempt(" At nine [1].\n"), "At nine [1].", None),
        (an_attempt("**Not answerable.** The passages do not say."), None, "not answerable"),
        (an_attempt('"NOT ANSWERABLE"'), None, "not answerable"),
        (an_attempt("It is not answerable"), "It is not answerable", None),
        (an_attempt("At ni", finish_reason="length"), "At ni", "cut off"),
        (an_attempt("", error="HTTP 500"), "", "call failed: HTTP 500"),
    ],
)
def test_a_reply_is_a_draft_or_a_problem(reply: Attempt, text: str | None, problem: str | None) -> None:
    draft = asyncio.run(ModelWriter(Model(reply).ask, BUILT_IN, "openai/m").write(an_assignment()))
    assert text is None or draft.text == text
    assert (draft.problem or "").startswith(problem or "") and (draft.problem is None) is (problem is None)


def test_a_rewrite_shows_the_draft_and_names_its_problems() -> None:
    model = Model("At nine [1].")
    draft = Draft(text="")
    asyncio.run(ModelWriter(model.ask, BUILT_IN, "openai/m").rewrite(an_assignment(), draft, ["no passage is cited"]))
    purpose, messages = model.asked[0]
    assert purpose == "rewrite qa help.md: When?"
    assert [message["content"] for message in messages[:2]] == ["P", "(nothing)"]
    assert "no passage is cited" in messages[2]["content"] and "1 to 1" in messages[2]["content"]


def test_a_writer_without_a_model_says_what_to_give() -> None:
    with pytest.raises(BadInput, match="give --model openai/NAME"):
        make_model_writer(ask=None)


@each_row(
    ("name", "template", "reason"),
    [
        ("questions", "{count} {passage:{width}}", "cannot be filled in"),
        ("questions", "{count:zz} {passage}", "cannot be filled in"),
        ("questions", "{passage!z} {count}", "cannot be filled in"),
        ("questions", "{} {passage} {count}", "which is not filled in"),
        ("answer", "{passages} {instruction", "write {{ and }} for braces"),
        ("rewrite", "{problems.text}", "lacks {problems}"),
    ],
)
def test_a_prompt_that_cannot_be_filled_in_is_refused_before_the_first_call(
    name: str, template: str, reason: str
) -> None:
    with pytest.raises(BadInput) as refused:
        chosen_prompts(Prompts(**{name: template}))
    assert reason in refused.value.message and f"generation.prompts.{name}" in refused.value.message


def test_a_prompt_may_format_its_number_and_write_braces() -> None:
    own = "{count:03d} of {passage} as {{json}}"
    assert chosen_prompts(Prompts(questions=own))["questions"] == own
