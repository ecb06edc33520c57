"""Read the `generation` section of a config file: what to generate, from which documents and how."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, model_validator

from evergold.errors import BadInput, NotFound
from evergold.formats.yaml_documents import Unreadable, YamlDocument, read
from evergold.model.faults import Fault, faults_of
from evergold.model.values import content_hash

SECTION = "generation"
Count = Annotated[int, Field(ge=0, le=10_000)]
Positive = Annotated[int, Field(ge=1)]


class _Part(BaseModel, frozen=True, extra="forbid", strict=True):
    """A table of the section: unknown keys and values of another kind are errors."""


class Tasks(_Part):
    """How many records of each task type to make from a document, at most."""

    qa: Count = 5
    summaries: Annotated[int, Field(ge=0, le=1)] = 1
    citations: Count = 0

    @model_validator(mode="after")
    def ask_for_something(self) -> "Tasks":
        if not (self.qa or self.summaries or self.citations):
            raise ValueError("nothing is asked for; give qa, summaries or citations a number above 0")
        return self


class Chunks(_Part):
    """How documents are taken apart, in characters. A passage is never longer than `size`, the overlap included."""

    size: Annotated[int, Field(ge=100, le=100_000)] = 1200
    overlap: Annotated[int, Field(ge=0)] = 150

    @model_validator(mode="after")
    def overlap_is_the_smaller_part(self) -> "Chunks":
        if self.overlap > self.size // 2:
            raise ValueError(f"overlap {self.overlap} is more than half of size {self.size}")
        return self


class Retrieval(_Part):
    """How the contexts of a question are found: words (`bm25`), or vectors of a model (`embeddings`)."""

    method: Literal["bm25", "embeddings"] = "bm25"
    model: str = "static"
    """For embeddings: `openai/NAME` at an OpenAI-compatible URL, or `static`, word vectors on this machine."""
    contexts: Annotated[int, Field(ge=1, le=100)] = 4
    summary_contexts: Annotated[int, Field(ge=1, le=100)] = 8


class Citations(_Part):
    """What must be cited, and how often an answer that fails is sent back."""

    require: Literal["sentence", "answer", "none"] = "sentence"
    rewrites: Annotated[int, Field(ge=0, le=5)] = 1
    support: Literal["judge", "none"] = "judge"
    """Whether a judge must find every sentence supported by what it cites."""
    judge: str = ""
    """The judge that checks support; empty: the setting `judge.default`."""


class GenerationLimits(_Part):
    """What is taken from a folder; files beyond a limit are named in the report."""

    file_mb: Annotated[float, Field(gt=0, strict=False)] = 20.0
    total_mb: Annotated[float, Field(gt=0, strict=False)] = 500.0
    files: Positive = 10_000
    pages: Positive = 2_000


class GenerationBudget(_Part):
    """What the calls may cost together; none: no limit."""

    tokens: Positive | None = None
    money: Annotated[float, Field(gt=0, strict=False)] | None = None


class Prompts(_Part):
    """Prompts of your own in place of the built-in ones; each must name the places that are filled in."""

    questions: str = ""
    topics: str = ""
    answer: str = ""
    summary: str = ""
    rewrite: str = ""


class GenerationSpec(_Part):
    """The `generation` section. Relative paths start at the project's root."""

    documents: str = ""
    output: str = ""
    writer: str = ""
    model: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    concurrency: Annotated[int, Field(ge=1, le=256)] = 8
    seed: int = 0
    limit: Positive | None = None
    tasks: Tasks = Tasks()
    chunks: Chunks = Chunks()
    retrieval: Retrieval = Retrieval()
    citations: Citations = Citations()
    duplicates: Annotated[float, Field(gt=0, le=1, strict=False)] = 0.8
    """Share of word triples from which two questions with their answers count as one."""
    limits: GenerationLimits = GenerationLimits()
    budget: GenerationBudget = GenerationBudget()
    prompts: Prompts = Prompts()

    @property
    def writer_name(self) -> str:
        return self.writer or ("model" if self.model else "extractive")

    def run_id(self, documents_hash: str) -> str:
        """The same documents and settings give the same id: where they are and how many calls run at once do not matter."""
        # Where files lie and how fast calls run do not change what is written; everything else does.
        settings = self.model_dump(mode="json", exclude={"documents", "output", "concurrency", "budget"})
        return f"gen-{content_hash({'spec': settings, 'documents': documents_hash})[7:19]}"


def load_section(config: Path | None, flags: dict[str, Any]) -> GenerationSpec:
    """The built-in values, then the section of the config file, then the flags that were given (None: not given)."""
    document = _read(config) if config else YamlDocument({}, None)
    section = document.value.get(SECTION) or {}
    if not isinstance(section, dict):
        raise BadInput(f"{config}:{document.line((SECTION,))}: `{SECTION}` must be a table of settings")
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return GenerationSpec.model_validate({**section, **given})
    except ValidationError as problem:
        faults = faults_of(problem.errors(include_url=False), GenerationSpec, noun="key")
        problems = [_explain(config, document, fault) for fault in faults]
        raise BadInput(problems[0], problems=problems[1:]) from None


def _read(config: Path) -> YamlDocument:
    try:
        document = read(config.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"no config file at {config}") from None
    except Unreadable as problem:
        raise BadInput(f"{config}:{problem.problem.line}: {problem.problem.message}") from None
    except OSError as problem:
        raise BadInput(f"cannot read config {config}: {problem.strerror}") from problem
    if document.value is None:
        return YamlDocument({}, None)
    if not isinstance(document.value, dict):
        raise BadInput(f"{config} is not a table of settings")
    return document


def _explain(config: Path | None, document: YamlDocument, fault: Fault) -> str:
    """`configs/default.yaml:14: generation.chunks.size: …`, with the nearest known key for an unknown one."""
    where = f"{config}:{document.line((SECTION, *fault.path))}: " if config else ""
    return f"{where}{SECTION}{'.' if fault.field else ': '}{fault}"
