"""The YAML task files of benchmarks, as a format: any case as a task, and tasks as cases."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.carrying import (
    KEY,
    metadata_of,
    rebuilt,
    shown_reference,
    with_edited_reference,
    with_edits,
    with_reference,
)
from evergold.formats.yaml_reading import MAX_BYTES, Unreadable, bytes_of
from evergold.formats.yaml_tasks import Task, parse, write
from evergold.model.case import Case, Difficulty
from evergold.model.faults import Rejected

HELD = {"id", "name", "input", "expected", "difficulty", "expected_tools", "ordered", "tests", "tags", "tools"}


class TaskFiles:
    suffix: ClassVar[str] = ".yaml"
    expresses: ClassVar[frozenset[str]] = frozenset({"tools", "expected_tools", "tests", "contexts"})

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
        content = write(path.stem, f"{len(tasks)} cases exported by Evergold.", tasks).encode()
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
        for task in parse(content, str(path)).tasks:
            # A file that a person wrote: nothing is carried, so the task is the case.
            if KEY not in task.metadata:
                yield task.case(path.stem)
                continue
            held = {
                "id": task.id,
                "input": task.input,
                "expected": task.expected_output,
                "tags": task.tags,
                "tools": task.tools,
                "expected_tools": task.expected_tools,
                "ordered": task.ordered,
                "tests": task.tests,
            }
            case = rebuilt(held, task.metadata, dataset=path.stem)
            edited = with_edits(case, _shown(task), _shown(task_of(case)))
            yield with_edited_reference(edited, task.expected_output)


def _shown(task: Task) -> dict[str, Any]:
    """What a task shows of fields that are carried, because of some cases a task can only hold a stand-in."""
    contexts = [{"text": text} for text in task.context]
    return {"name": task.name, "input": task.input, "difficulty": task.difficulty, "contexts": contexts}


def task_of(case: Case) -> Task:
    """A task must have a name and an input; where a case has none, a stand-in is written and the truth is carried."""
    # Both have stand-ins in the file, so the truth must be carried as well.
    held = HELD - {"name", "difficulty"}
    return Task(
        id=case.id,
        name=case.name or case.id,
        input=case.input or "(empty)",
        expected_output=shown_reference(case) or "",
        difficulty=case.difficulty or Difficulty.MEDIUM,
        expected_tools=case.expected_calls(),
        ordered=case.ordered,
        tests=case.tests,
        context=tuple(context.text for context in case.contexts if context.text is not None),
        tags=case.tags,
        tools=case.tools,
        metadata=metadata_of(case, held),
    )
