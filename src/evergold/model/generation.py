"""Nouns of generation: documents, their passages, and the questions and answers written about them.

A passage is a stretch of a document, word for word: `document.text[start:end]` is its text, so every citation can be
followed back to the letter.
"""

from typing import Any

from pydantic import BaseModel, Field

from evergold.model.run import Usage


class Document(BaseModel, frozen=True, extra="forbid"):
    """A text and the name it is cited by. `pages` are the places where its pages begin, where it has pages."""

    name: str
    text: str
    kind: str = "text"
    pages: tuple[int, ...] = ()


class Skipped(BaseModel, frozen=True, extra="forbid"):
    """A file that could not be used: named, with the reason that it is counted under."""

    name: str
    reason: str
    detail: str = ""


class Section(BaseModel, frozen=True, extra="forbid"):
    """A heading, the text up to the next one, and the heading `above` it. `whole`: no deeper heading goes on with it."""

    heading: str
    text: str
    whole: bool = True
    above: str = ""


class Passage(BaseModel, frozen=True, extra="forbid"):
    """A stretch of a document, small enough to be retrieved and shown."""

    document: str
    index: int
    start: int
    end: int
    text: str
    heading: str = ""
    page: int | None = None
    title: str = ""
    sections: tuple[Section, ...] = ()
    """What stands under the headings that the passage holds."""

    @property
    def source(self) -> str:
        """Where the passage is, as a record cites it."""
        # The fragment of RFC 5147 for text, with the page before it as for PDF.
        anchor = f"page={self.page}&" if self.page else ""
        return f"{self.document}#{anchor}char={self.start},{self.end}"


class RetrievedPassage(BaseModel, frozen=True, extra="forbid"):
    """A passage as a question's retrieval gave it. `rank` is None for one that was put there and not found."""

    passage: Passage
    rank: int | None = None
    score: float | None = None
    role: str = "retrieved"


class Idea(BaseModel, frozen=True, extra="forbid"):
    """Something to ask about a passage. `basis` is the sentence it rests on, where the writer knows it.

    With a `problem` it is none: the reason why nothing could be asked.
    """

    instruction: str = ""
    method: str = ""
    basis: str = ""
    problem: str | None = None


class WritingTask(BaseModel, frozen=True, extra="forbid"):
    """One thing to write: an instruction, and the passages it has to be written from, numbered from 1."""

    kind: str
    document: str
    idea: Idea
    contexts: tuple[RetrievedPassage, ...]
    prompt: str

    @property
    def passages(self) -> tuple[Passage, ...]:
        return tuple(result.passage for result in self.contexts)


Assignment = WritingTask  # the earlier name, for plug-ins


class GenerationReport(BaseModel, frozen=True, extra="forbid"):
    """What one generation did, and with what: everything read, made, refused and spent."""

    run_id: str
    writer: str
    label: str
    retrieval: str
    output: str
    rejected_output: str
    log: str | None
    documents: int
    passages: int
    skipped: tuple[Skipped, ...]
    records: dict[str, int]
    methods: dict[str, int]
    rejected: dict[str, int]
    rewritten: int
    calls: int = 0
    calls_from_log: int = 0
    failed_calls: int = 0
    usage: Usage = Usage()
    usage_from_log: Usage = Usage()


class Draft(BaseModel, frozen=True, extra="forbid"):
    """What a writer wrote; with a `problem` instead, why it could not."""

    text: str = ""
    problem: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)
