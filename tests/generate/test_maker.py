"""Records of a document: what is asked for, what is written again, what is refused and under which reason."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.generate.maker import Maker, Outcome, Supports, _anchors, _spread
from evergold.generate.model_writer import BUILT_IN
from evergold.generate.passages import Library, WordSearch
from evergold.generate.spec import GenerationSpec
from evergold.model.generation import Draft, Idea, Passage, WritingTask
from tests.rows import each_row

LONG = "The ferry leaves at nine from the old pier and reaches the island before noon. " * 4


def a_passage(index: int = 0, text: str = LONG, document: str = "help.md") -> Passage:
    return Passage(document=document, index=index, start=0, end=len(text), text=text)


class Scripted:
    """A writer that gives its drafts one after the other, and so many ideas a passage."""

    identity = "scripted"
    label = "scripted for tests"

    def __init__(self, *drafts: Draft, ideas: int = 1, problem: str | None = None) -> None:
        self.drafts = list(drafts) or [Draft(text="The ferry leaves at nine [1].")]
        self.ideas_each = ideas
        self.problem = problem
        self.asked: list[tuple[str, int]] = []
        self.told: list[list[str]] = []

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        self.asked.append((kind, count))
        if self.problem:
            return [Idea(problem=self.problem)]
        texts = [f"{kind} question {passage.index}.{n}" for n in range(min(count, self.ideas_each))]
        return [Idea(instruction=text, method="scripted") for text in texts]

    async def write(self, assignment: WritingTask) -> Draft:
        return self.drafts[0]

    async def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Draft:
        self.told.append(list(problems))
        return self.drafts[min(len(self.told), len(self.drafts) - 1)]


def outcomes(
    writer: Scripted, passages: Sequence[Passage], supports: Supports | None = None, **settings: Any
) -> list[Outcome]:
    spec = GenerationSpec.model_validate({"tasks": {"qa": 1, "summaries": 0}, **settings})
    library = Library(list(passages), WordSearch(list(passages)), spec.seed)
    maker = Maker(spec, writer, library, BUILT_IN, "gen-1", supports)
    return asyncio.run(maker.of_document("help.md", passages))


def test_a_good_answer_is_a_record_of_its_writer() -> None:
    (made,) = outcomes(Scripted(), [a_passage()])
    assert made.record is not None and not made.rewritten
    assert made.record["expected_response"] == "The ferry leaves at nine [1]."
    assert made.record["metadata"]["generator"] == "scripted" and made.record["metadata"]["run_id"] == "gen-1"
    assert made.record["rag"]["sources"] == [f"help.md#char=0,{len(LONG)}"]


def test_kinds_come_in_a_fixed_order() -> None:
    made = outcomes(Scripted(), [a_passage()], tasks={"qa": 1, "summaries": 1, "citations": 1})
    assert [one.record["task_type"] for one in made if one.record] == ["qa", "summaries", "citations"]


def test_the_same_question_about_the_same_passages_has_the_same_id() -> None:
    first, again = (outcomes(Scripted(), [a_passage()])[0].record for _ in range(2))
    assert first is not None and again is not None and first["task_id"] == again["task_id"]


def test_a_badly_cited_answer_is_written_again_with_the_problems() -> None:
    writer = Scripted(Draft(text="The ferry leaves at nine."), Draft(text="The ferry leaves at nine [1]."))
    (made,) = outcomes(writer, [a_passage()])
    assert made.record is not None and made.rewritten
    assert writer.told == [["this sentence cites no passage: “The ferry leaves at nine.”"]]


@each_row(("rewrites", "drafts"), [(0, 1), (1, 2), (3, 4)])
def test_an_answer_that_stays_wrong_is_refused_with_all_its_drafts(rewrites: int, drafts: int) -> None:
    citations = {"rewrites": rewrites}
    (made,) = outcomes(Scripted(Draft(text="Nobody knows when it leaves.")), [a_passage()], citations=citations)
    assert made.record is None and made.reason == "citations"
    assert made.refusal is not None and len(made.refusal["drafts"]) == drafts
    assert made.refusal["instruction"] == "qa question 0.0" and made.rewritten is (rewrites > 0)


def test_a_draft_with_a_problem_is_counted_under_its_first_words() -> None:
    (made,) = outcomes(Scripted(Draft(problem="call failed: timeout after 3 s")), [a_passage()])
    assert (made.reason, made.record) == ("call failed", None)
    assert made.refusal is not None and made.refusal["detail"] == "call failed: timeout after 3 s"


def test_a_passage_without_an_idea_is_a_refusal_that_names_it() -> None:
    (made,) = outcomes(Scripted(problem="malformed reply: no list"), [a_passage()])
    assert made.reason == "malformed reply" and made.refusal is not None
    assert made.refusal["source"].startswith("help.md#char=0,")


def test_passages_that_give_nothing_are_replaced_by_others() -> None:
    writer = Scripted(ideas=1)
    made = outcomes(writer, [a_passage(n) for n in range(5)], tasks={"qa": 3, "summaries": 0})
    assert len(made) == 3 and len(writer.asked) == 3


def test_few_passages_are_asked_for_several_ideas_each() -> None:
    writer = Scripted(ideas=9)
    made = outcomes(writer, [a_passage(n) for n in range(2)], tasks={"qa": 5, "summaries": 0})
    assert len(made) == 5 and [count for _, count in writer.asked] == [3, 3]


def test_support_is_asked_only_of_what_is_cited_and_not_quoted() -> None:
    asked: list[tuple[str, int]] = []

    async def supports(claim: str, contexts: Sequence[str]) -> bool | None:
        asked.append((claim, len(contexts)))
        return "eleven" not in claim

    quoted = Scripted(Draft(text="The ferry leaves at nine from the old pier and reaches the island before noon [1]."))
    assert outcomes(quoted, [a_passage()], supports)[0].record is not None and asked == []
    (denied,) = outcomes(Scripted(Draft(text="The ferry leaves at eleven [1].")), [a_passage()], supports)
    assert denied.reason == "unsupported" and asked[0] == ("The ferry leaves at eleven.", 1)


def test_a_judge_without_an_answer_refuses_nothing() -> None:
    async def supports(claim: str, contexts: Sequence[str]) -> bool | None:
        return None

    assert outcomes(Scripted(Draft(text="The ferry leaves at eleven [1].")), [a_passage()], supports)[0].record


def test_a_document_without_passages_gives_nothing() -> None:
    assert outcomes(Scripted(), [], tasks={"qa": 2, "summaries": 1, "citations": 2}) == []


def test_short_passages_are_asked_about_only_where_there_are_no_others() -> None:
    short, long = a_passage(0, "Contents"), a_passage(1)
    assert _anchors([short, long], "0:qa") == [long]
    assert _anchors([short], "0:qa") == [short]


def test_the_order_of_passages_depends_on_the_seed_alone() -> None:
    passages = [a_passage(n) for n in range(8)]
    assert _anchors(passages, "0:qa") == _anchors(reversed(passages), "0:qa") != _anchors(passages, "1:qa")


@given(st.integers(1, 40), st.integers(1, 12))
def test_a_spread_begins_at_the_first_passage_and_stays_in_order(count: int, most: int) -> None:
    passages = [a_passage(n) for n in range(count)]
    chosen = [passage.index for passage in _spread(passages, most)]
    assert chosen[0] == 0 and chosen == sorted(set(chosen)) and len(chosen) == min(count, most)
