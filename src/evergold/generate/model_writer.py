"""The writer that is a model: it asks the questions, answers them from numbered passages, and mends what it is told to."""

from collections.abc import Mapping, Sequence
from typing import Any

from evergold.calls.objects import parse_object
from evergold.errors import BadInput
from evergold.generate.asking import Ask
from evergold.generate.prompts import BUILT_IN
from evergold.generate.templates import templates_of
from evergold.model.generation import Assignment, Draft, Idea, Passage
from evergold.model.run import Attempt

LABEL = "written by a model"
NOT_ANSWERABLE = "NOT ANSWERABLE"
_LISTS = {"qa": ("questions", "questions"), "citations": ("topics", "topics")}
_JSON_AGAIN = 'That is not usable: {problem}. Answer with one JSON object and nothing else: {{"{name}": ["…"]}}'


class ModelWriter:
    def __init__(self, ask: Ask, prompts: Mapping[str, str], identity: str) -> None:
        self._ask = ask
        self._prompts = prompts
        self.identity = identity
        self.label = LABEL

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        """Up to `count`; a reply that is no list of texts is sent back once."""
        template, name = _LISTS[kind]
        prompt = self._prompts[template].format(count=count, passage=passage.text, document=passage.document)
        messages = [_user(prompt)]
        purpose = f"{kind} ideas {passage.source}"
        attempt = await self._ask(purpose, messages)
        texts, problem = _texts(attempt, name)
        if attempt.error is None and problem:
            messages += [_assistant(attempt), _user(_JSON_AGAIN.format(problem=problem, name=name))]
            attempt = await self._ask(purpose, messages)
            texts, problem = _texts(attempt, name)
        if problem:
            return [Idea(problem=problem)]
        shape = templates_of([passage]).topic if kind == "citations" else "{topic}"
        return [Idea(instruction=shape.format(topic=text), method="model", basis=text) for text in texts[:count]]

    async def write(self, assignment: Assignment) -> Draft:
        return _draft(await self._ask(_purpose(assignment), [_user(assignment.prompt)]))

    async def rewrite(self, assignment: Assignment, draft: Draft, problems: Sequence[str]) -> Draft:
        request = self._prompts["rewrite"].format(problems="; ".join(problems), count=len(assignment.contexts))
        messages = [
            _user(assignment.prompt),
            {"role": "assistant", "content": draft.text or "(nothing)"},
            _user(request),
        ]
        return _draft(await self._ask(f"rewrite {_purpose(assignment)}", messages))


def make_model_writer(*, ask: Ask | None, prompts: Mapping[str, str] | None = None, identity: str = "") -> ModelWriter:
    if ask is None:
        raise BadInput("the writer `model` needs a model: give --model openai/NAME, or leave the writer out")
    return ModelWriter(ask, prompts or BUILT_IN, identity)


def _purpose(assignment: Assignment) -> str:
    return f"{assignment.kind} {assignment.document}: {assignment.idea.instruction}"


def _user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _assistant(attempt: Attempt) -> dict[str, Any]:
    return {"role": "assistant", "content": attempt.output or "(nothing)"}


def _texts(attempt: Attempt, name: str) -> tuple[list[str], str]:
    """The list a reply holds, or what is wrong with it."""
    if attempt.error is not None:
        return [], f"call failed: {attempt.error}"
    if attempt.finish_reason == "length":
        return [], "cut off: the reply ended at its token limit"
    result = (parse_object(attempt.output) or {}).get(name)
    if not isinstance(result, list):
        return [], f"malformed reply: no JSON object with a list {name!r}"
    texts = [" ".join(text.split()) for text in result if isinstance(text, str) and text.strip()]
    return (texts, "") if texts else ([], f"malformed reply: the list {name!r} holds no text")


def _draft(attempt: Attempt) -> Draft:
    text = attempt.output.strip()
    if attempt.error is not None:
        return Draft(problem=f"call failed: {attempt.error}")
    if attempt.finish_reason == "length":
        return Draft(text=text, problem="cut off: the reply ended at its token limit")
    # Models put the two words into quotes, bold or a sentence of their own.
    if text.upper().strip(" .\"'*").startswith(NOT_ANSWERABLE):
        return Draft(text=text, problem="not answerable: the model says that the passages do not hold the answer")
    return Draft(text=text)
