"""Prompts for the model that writes. The passages are numbered, and an answer cites the numbers.

A prompt of the user's own replaces one of these; it must name the same places, or the model would never see the passage.
"""

from collections.abc import Mapping, Sequence
from string import Formatter

from evergold.errors import BadInput
from evergold.generate.spec import Prompts
from evergold.model.generation import Passage

QUESTIONS = """\
Write {count} questions that a reader of the document would really ask and that the passage below answers.
Each question must be clear without the passage: name what it is about, never say "the passage" or "the text".
Ask about different facts, in the language of the passage. Answer with one JSON object: {{"questions": ["…", …]}}

Passage, from {document}:
{passage}"""

TOPICS = """\
Name {count} topics that the passage below says something definite about, each in a few words of its own language.
Answer with one JSON object: {{"topics": ["…", …]}}

Passage, from {document}:
{passage}"""

ANSWER = """\
Answer from the numbered passages alone, in the language of the question. {rule}
If the passages do not hold the answer, reply with the two words NOT ANSWERABLE.

{passages}

{instruction}"""

SUMMARY = """\
Write from the numbered passages alone, and say nothing they do not say. {rule}

{passages}

{instruction}"""

REWRITE = """\
That cannot be used yet: {problems}.
The passages are numbered 1 to {count}. Write the whole text again so that this is mended, and nothing but the text."""

RULES = {
    "sentence": "End every sentence with the number of the passage it rests on, like this [1].",
    "answer": "Cite the passages you use by their numbers, like this [1].",
    "none": "",
}
# What a prompt must hold to be of use; `_ALLOWED` is what it may hold as well.
_FIELDS = {
    "questions": {"count", "passage"},
    "topics": {"count", "passage"},
    "answer": {"passages", "instruction"},
    "summary": {"passages", "instruction"},
    "rewrite": {"problems"},
}
_ALLOWED = {
    "questions": {"count", "passage", "document"},
    "topics": {"count", "passage", "document"},
    "answer": {"passages", "instruction", "rule"},
    "summary": {"passages", "instruction", "rule"},
    "rewrite": {"problems", "count"},
}
BUILT_IN = {"questions": QUESTIONS, "topics": TOPICS, "answer": ANSWER, "summary": SUMMARY, "rewrite": REWRITE}


def chosen_prompts(own: Prompts) -> Mapping[str, str]:
    """Every prompt: the user's where there is one, else the built-in."""
    chosen = dict(BUILT_IN)
    for name, template in own.model_dump().items():
        if template:
            _check(name, template)
            chosen[name] = template
    return chosen


def _check(name: str, template: str) -> None:
    try:
        # Formatter parses as str.format does, doubled braces included.
        fields = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
    except ValueError as problem:
        raise BadInput(f"generation.prompts.{name}: {problem}; write {{{{ and }}}} for braces") from None
    missing, extra = _FIELDS[name] - fields, fields - _ALLOWED[name]
    if missing or extra:
        reason = f"lacks {{{min(missing)}}}" if missing else f"names {{{min(extra)}}}, which is not filled in"
        allowed = ", ".join(f"{{{field}}}" for field in sorted(_ALLOWED[name]))
        raise BadInput(f"generation.prompts.{name} {reason} (places: {allowed})")
    # A format specification may be wrong, or name a field of its own: only filling it in shows that.
    try:
        template.format(**dict.fromkeys(fields - {"count"}, ""), count=1)
    except (ValueError, LookupError, AttributeError, TypeError) as problem:
        raise BadInput(f"generation.prompts.{name} cannot be filled in: {problem}") from None


def numbered(passages: Sequence[Passage]) -> list[str]:
    return [f"[{number}] {passage.text}" for number, passage in enumerate(passages, 1)]


def answer_prompt(template: str, instruction: str, passages: Sequence[Passage], require: str) -> str:
    """The prompt of a record: what a model under test is sent, word for word."""
    listed = "\n\n".join(numbered(passages))
    return template.format(passages=listed, instruction=instruction, rule=RULES[require]).strip()
