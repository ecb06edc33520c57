"""The YAML task files of benchmarks: any case as a task, and what people write by hand as cases.

The pydantic models below are the schema: they validate a file, they are the JSON Schema published for editors
(`json_schema`), and they write a dataset back (`write_tasks`). A typo is named and never ignored. Text stays text: `id: 001`
is a number to YAML, so it is refused with the advice to quote it instead of turning into "1".
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.records import (
    KEY,
    metadata_of,
    rebuild_case,
    with_edited_reference,
    with_edits,
    with_reference,
)
from evergold.formats.yaml_documents import MAX_BYTES, Problem, Unreadable, YamlDocument, bytes_of, read
from evergold.model.case import Assertion, Case, CaseKind, CodeTests, Context, Difficulty, Provenance
from evergold.model.faults import Describe, Rejected, faults_of
from evergold.model.tool_calls import ExpectedTool

Text = Annotated[str, Field(min_length=1)]
SAME = ("id", "input", "expected_tools", "ordered", "tests", "assertions", "metrics", "tags", "tools")
"""Fields that a case and a task hold alike."""


class _Strict(BaseModel):
    # Strict: YAML reads `001` as 1 and `no` as false; a person meant text.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


class Task(_Strict):
    """One prompt with its reference answer."""

    id: Text = Field(description="Unique identifier within the dataset.")
    name: Text = Field(description="Human-readable task name.")
    input: Text = Field(description="Prompt sent to the model.")
    expected_output: str = Field(description="Reference answer used for scoring.")
    difficulty: Difficulty = Field(
        Difficulty.MEDIUM, strict=False, description="How hard the task is; reports are sliced by it."
    )
    expected_tools: tuple[ExpectedTool, ...] | None = Field(
        None,
        strict=False,
        validation_alias=AliasChoices("expected_tools", "expected_tool_sequence"),
        description="Expected tool calls, in order, for the metric tool_correctness; an empty list expects none.",
    )
    ordered: bool = Field(True, description="Whether the expected tool calls must come in this order.")
    tests: CodeTests | None = Field(
        None,
        strict=False,
        description="Tests that the answer's code must pass, for tests_passed: Python texts, stdin with stdout, or a command.",
    )
    assertions: tuple[Assertion, ...] = Field(
        (),
        strict=False,
        description="What an answer must or must not do (`must: names the deadline`), for the metric assertions.",
    )
    metrics: tuple[Text, ...] = Field(
        (),
        strict=False,
        description="Metrics that measure this task; others do not apply to it. Any where none is named.",
    )
    context: tuple[str, ...] = Field((), strict=False, description="Retrieval passages, for faithfulness and the like.")
    tags: tuple[str, ...] = Field((), strict=False, description="Labels to slice reports by.")
    tools: tuple[dict[str, Any], ...] = Field(
        (), strict=False, description="Function schemas offered to the model, as in the OpenAI API."
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Anything else; kept, never interpreted.")

    def case(self, dataset: str) -> Case:
        same = {name: getattr(self, name) for name in (*SAME, "name", "difficulty", "metadata")}
        return Case(
            dataset=dataset,
            kind=CaseKind.TASK,
            expected=self.expected_output,
            contexts=tuple(Context(text=text) for text in self.context),
            provenance=Provenance(source="yaml"),
            **same,
        )


class TaskFile(_Strict):
    """A benchmark dataset: the content of one YAML file."""

    name: Text = Field(description="Name of the dataset, for people. In runs it goes by its file name.")
    description: str = Field("", description="What this dataset evaluates.")
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, strict=False)]
    metadata: dict[str, Any] = Field(default_factory=dict, description="Anything else; kept, never interpreted.")


@dataclass(frozen=True)
class CheckedTasks:
    """A file read to the end: its tasks, or everything wrong with it."""

    file: TaskFile | None
    problems: tuple[Problem, ...] = ()


def parse_tasks(text: str | bytes, source: str) -> TaskFile:
    """The tasks of a YAML text. Raises `BadInput` naming `source`, line and field of every problem."""
    checked = check_tasks(text)
    if checked.file is None:
        problems = [f"{source}:{problem.line}: {problem.message}" for problem in checked.problems]
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise BadInput(f"{problems[0]}{more}", problems=problems)
    return checked.file


def check_tasks(text: str | bytes) -> CheckedTasks:
    """Like `parse`, but problems are the result: what a linter and a listing want."""
    try:
        document = read(text)
    except Unreadable as error:
        return CheckedTasks(None, (error.problem,))
    if not isinstance(document.value, dict):
        return CheckedTasks(None, (Problem(1, "a dataset is a mapping with name, description and tasks"),))
    try:
        file = TaskFile.model_validate(document.value)
    except ValidationError as error:
        return CheckedTasks(None, tuple(_problems(error, document)))
    # After validation: pydantic sees one task at a time.
    repeated = tuple(_repeated_ids(file, document))
    return CheckedTasks(None if repeated else file, repeated)


def write_tasks(name: str, description: str, tasks: Iterable[Task]) -> str:
    """YAML text that `parse` reads back to equal tasks; long text in blocks, defaults left out."""
    import yaml

    file = TaskFile(name=name, description=description, tasks=tuple(tasks))
    plain = file.model_dump(mode="json", exclude_defaults=True)
    return yaml.dump(plain, Dumper=block_dumper(), sort_keys=False, allow_unicode=True, width=110)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a dataset file, for editors and linters."""
    schema = TaskFile.model_json_schema()
    task = schema["$defs"]["Task"]["properties"]
    task["expected_tool_sequence"] = {**task["expected_tools"], "description": "Another name of expected_tools."}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**head, **schema, "title": "Evergold benchmark dataset"}


NUMBER_ELSEWHERE = re.compile(r"[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?|0o[0-7]+|0x[0-9a-fA-F]+")
"""Texts that a reader of YAML 1.2 takes for numbers (`1e5`), though YAML 1.1 and so PyYAML does not: they are quoted."""


def block_dumper() -> Any:
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
        lines = value.split("\n")
        if not all(line.isprintable() for line in lines):
            style: str | None = '"'
        elif NUMBER_ELSEWHERE.fullmatch(value):
            style = "'"
        else:
            # A block cannot hold trailing blanks, nor characters that must be escaped.
            style = "|" if len(lines) > 1 and all(line.rstrip() == line for line in lines) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper


def _problems(error: ValidationError, document: YamlDocument) -> Iterable[Problem]:
    # Pydantic leaves broken tasks out before it counts them; their own problems are listed.
    errors = [item for item in error.errors(include_url=False) if item["type"] != "too_short" or not item["input"]]
    for item in errors:
        unknown = f"is unknown; {_suggest_nearest(item['loc'])}"
        # One at a time: each error has its own place, and the message depends on it.
        (fault,) = faults_of([item], TaskFile, words=WORDS | {"extra_forbidden": lambda *_, text=unknown: text})
        spelled = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in fault.path)
        yield Problem(document.line(fault.path), f"{spelled.removeprefix('.')} {fault.reason}")


def _quote(value: object) -> str:
    if value is None:
        return "nothing"
    shown = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


WORDS: dict[str, Describe] = {
    "missing": lambda *_: "is required",
    "string_type": lambda value, _: f"must be text, not {_quote(value)}; put it in quotes",
    **dict.fromkeys(("too_short", "string_too_short"), lambda *_: "must not be empty"),
}


def _suggest_nearest(path: tuple[int | str, ...]) -> str:
    # `key`, `tasks[0].key`, `tasks[0].expected_tools[0].key`: the depth tells which model the name belongs to.
    model: type[BaseModel] = TaskFile if len(path) == 1 else ExpectedTool if len(path) > 3 else Task
    known = [*model.model_fields]
    close = difflib.get_close_matches(str(path[-1]).lower(), known, n=1, cutoff=0.5)
    return f"did you mean {close[0]}?" if close else f"known keys are {', '.join(known)}; anything goes under metadata"


def _repeated_ids(file: TaskFile, document: YamlDocument) -> Iterable[Problem]:
    first: dict[str, int] = {}
    for index, task in enumerate(file.tasks):
        line = document.line(("tasks", index, "id"))
        if task.id in first:
            yield Problem(line, f"tasks[{index}].id {task.id!r} is already used on line {first[task.id]}")
        first.setdefault(task.id, line)


class TaskFiles:
    suffix: ClassVar[str] = ".yaml"
    expresses: ClassVar[frozenset[str]] = frozenset({"tools", "expected_tools", "tests", "assertions", "contexts"})

    def accepts(self, head: bytes) -> bool:
        return b"\ntasks:" in head or head.startswith(b"tasks:")

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        rejected: list[Rejected] = options.get("rejected", [])
        tasks = [task_of(case) for case in with_reference(cases, rejected)]
        if rejected and not tasks:
            return 0
        if not tasks:
            raise BadInput("a task file needs at least one task; none of the cases passed the filters")
        # The whole text is made before the file is touched: a file too large to be read back must not replace one that
        # can be.
        content = write_tasks(path.stem, f"{len(tasks)} cases exported by Evergold.", tasks).encode()
        if len(content) > MAX_BYTES:
            raise BadInput(
                f"{path}: a task file is read whole, at most {MAX_BYTES:,} bytes; these {len(tasks)} cases take "
                f"{len(content):,}: export fewer (--limit, --type, --since), or all of them with --format case-jsonl"
            )
        with FileSet() as files:
            files.open(path).write(content)
        return len(tasks)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        try:
            content = bytes_of(path)
        except Unreadable as problem:
            raise BadInput(f"{path}: {problem}") from problem
        for task in parse_tasks(content, str(path)).tasks:
            # A file that a person wrote: nothing is carried, so the task is the case.
            if KEY not in task.metadata:
                yield task.case(path.stem)
                continue
            held = {name: getattr(task, name) for name in SAME} | {"expected": task.expected_output}
            case = rebuild_case(held, task.metadata, dataset=path.stem)
            edited = with_edits(case, _shown_fields(task), _shown_fields(task_of(case)))
            yield with_edited_reference(edited, task.expected_output)


def _shown_fields(task: Task) -> dict[str, Any]:
    """What a task shows of fields that are carried, because of some cases a task can only hold a stand-in."""
    contexts = [{"text": text} for text in task.context]
    return {"name": task.name, "input": task.input, "difficulty": task.difficulty, "contexts": contexts}


def task_of(case: Case) -> Task:
    """A task must have a name and an input; where a case has none, a stand-in is written and the truth is carried."""
    same = {name: getattr(case, name) for name in SAME}
    same |= {"input": case.input or "(empty)", "expected_tools": case.expected_calls()}
    return Task(
        name=case.name or case.id,
        expected_output=case.reference_text() or "",
        difficulty=case.difficulty or Difficulty.MEDIUM,
        context=tuple(context.text for context in case.contexts if context.text is not None),
        # Name and difficulty have stand-ins in the file, so the truth is carried as well.
        metadata=metadata_of(case, {*SAME, "expected"}),
        **same,
    )
