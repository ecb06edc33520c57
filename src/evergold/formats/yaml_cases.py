"""YAML files of other tools: promptfoo tests and pydantic-evals cases. Read safely, written one case at a time."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, ClassVar

import orjson
import yaml

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.lines import Record, columns_of, read_objects, try_line
from evergold.formats.parts import JoinedYaml, Joining
from evergold.formats.records import (
    KEY,
    conversation,
    conversation_or_none,
    metadata_of,
    rebuild_case,
    unread_of,
    with_edited_reference,
    with_reference,
)
from evergold.formats.task_files import block_dumper
from evergold.formats.yaml_documents import Unreadable, items
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.storage import open_read


class _ListInYaml:
    """One list of cases under one key."""

    suffix: ClassVar[str] = ".yaml"
    joining: ClassVar[Joining] = JoinedYaml
    key: ClassVar[str]

    def record(self, case: Case) -> Record:
        raise NotImplementedError

    def case(self, record: Record) -> Case:
        raise NotImplementedError

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        count = 0
        with FileSet() as files:
            out = files.open(path)
            for count, case in enumerate(self.fit(cases, options.get("rejected", [])), 1):
                # The key is written with the first item, because `key:` without items is null and not a list.
                if count == 1:
                    out.write(f"{self.key}:\n".encode())
                text = yaml.dump(
                    [self.record(case)], Dumper=block_dumper(), allow_unicode=True, sort_keys=False, width=120
                )
                out.write(text.encode())
            if not count:
                out.write(f"{self.key}: []\n".encode())
        return count

    def fit(self, cases: Iterable[Case], rejected: list[Rejected]) -> Iterable[Case]:
        """The cases that this format can hold."""
        return cases

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        """One case at a time, so that a file may be as long as it likes."""
        with open_read(path) as stream:
            try:
                for number, record in enumerate(items(stream, self.key), 1):
                    yield try_line(record, f"{path.name}: {self.key}[{number}]", self.case)
            except Unreadable as problem:
                raise BadInput(f"{problem.problem.describe_at(path)}: {problem}") from problem


COMPARED = frozenset(
    ("equals", "contains", "icontains", "starts-with", "similar", "levenshtein", "rouge-n", "bleu", "factuality")
)
"""Assertions of promptfoo whose value is the answer itself."""


KINDS = COMPARED | {"javascript", "python", "llm-rubric", "regex", "is-json", "fn", "eval", "grade", "file"}

CALLED = "tool-call-f1"
"""The assertion on the names of tools that were called."""

TEMPLATE = ("{{", "{%", "{#", "file://")
RAW = ("{% raw %}", "{% endraw %}")


def _literal(text: str) -> str:
    """The text as an assertion's value, which promptfoo takes for a template or the name of a file where it looks like one:
    an answer of `{{ x }}` would be filled with nothing, and nothing is contained in every reply."""
    if not any(sign in text for sign in TEMPLATE):
        return text
    # A text that itself says `endraw` would end the raw block early: it becomes a string literal of the template
    # instead.
    return f"{RAW[0]}{text}{RAW[1]}" if "endraw" not in text else f"{{{{ {orjson.dumps(text).decode()} }}}}"


def _read_meaning(value: str | None) -> str | None:
    """What such a value says."""
    if value and value.startswith(RAW[0]) and value.endswith(RAW[1]) and value.count("endraw") == 1:
        return value.removeprefix(RAW[0]).removesuffix(RAW[1])
    if value and value.startswith('{{ "') and value.endswith('" }}'):
        with suppress(orjson.JSONDecodeError):
            return str(orjson.loads(value[3:-3]))
    return value


class Promptfoo(_ListInYaml):
    """`tests: [{vars, assert, options, metadata}]`; the reference is asserted as contained, whatever its case.

    A conversation is the variable `messages`, as the JSON text that promptfoo takes for a chat prompt; tools stand in
    `options`, which promptfoo adds to the provider's config. A reference of calls alone asserts their names.
    """

    suffix: ClassVar[str] = ".promptfoo.yaml"
    expresses: ClassVar[frozenset[str]] = frozenset({"contexts", "messages", "tools"})
    key: ClassVar[str] = "tests"

    def accepts(self, head: bytes) -> bool:
        if EXPECTED in columns_of(head):
            return True
        if head.lstrip()[:1] in (b"[", b"{"):
            return b'"vars"' in head and b'"assert"' in head and b'"gradingResult"' not in head
        return (b"tests:" in head or head.lstrip()[:1] == b"-") and b"vars:" in head

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        """Tests of a config, or of a file of their own: a YAML list, JSON, JSON lines, or CSV with `__expected`."""
        with open_read(path) as stream:
            head = stream.peek(SHOWN)[:SHOWN].lstrip()
            if head[:1] == b"-" and not head.startswith(b"---"):
                text = BytesIO(f"{self.key}:\n".encode() + stream.read())
                yield from (
                    try_line(record, f"{path.name}[{number}]", self.case)
                    for number, record in enumerate(items(text, self.key), 1)
                )
                return
        if head[:1] in (b"[", b"{") or columns_of(head):
            yield from (
                try_line(record, where, lambda one: self.case(_as_test(one))) for where, record in read_objects(path)
            )
        else:
            yield from super().read(path)

    def fit(self, cases: Iterable[Case], rejected: list[Rejected]) -> Iterable[Case]:
        """A test without an assertion passes whatever is answered, so it is left out."""
        return with_reference(cases, rejected, calls_will_do=True)

    def record(self, case: Case) -> Record:
        variables = {"input": case.input}
        if texts := [context.text for context in case.contexts if context.text]:
            variables["context"] = "\n\n".join(texts)
        if history := conversation_or_none(conversation(case)):
            variables["messages"] = orjson.dumps(history).decode()
        record: Record = {"vars": variables}
        if case.name:
            record["description"] = case.name
        if case.tools:
            record["options"] = {"tools": list(case.tools)}
        if reference := case.reference_text():
            # Contained, whatever its case: an exact match would fail every answer that is a sentence.
            record["assert"] = [{"type": "icontains", "value": _literal(reference)}]
        elif calls := case.expected_calls():
            record["assert"] = [{"type": CALLED, "value": sorted({call.name for call in calls})}]
        return record | {"metadata": metadata_of(case, {"input", "expected", "name"})}

    def case(self, record: Record) -> Case:
        """Of a foreign test the first answer that is compared as text is the expected one; a rubric or a script is none."""
        variables = record.get("vars") or {}
        # A foreign test may call its question anything.
        texts = [value for name, value in variables.items() if isinstance(value, str) and name not in ASIDE]
        checks = record.get("assert") or []
        ours = KEY in (record.get("metadata") or {})
        # A rubric or a script says how to judge, not what is right.
        compared: Record = next(
            (check for check in checks if check.get("type") in COMPARED and isinstance(check.get("value"), str)), {}
        )
        held = {
            "input": variables.get("input") or "\n".join(texts),
            "expected": _read_meaning(compared.get("value")),
            "name": record.get("description"),
        }
        context, tools = variables.get("context"), (record.get("options") or {}).get("tools")
        guessed = {
            "contexts": [{"text": context}] if isinstance(context, str) else None,
            "tools": tools if isinstance(tools, list) else None,
        }
        unread = unread_of(record, "vars", "assert", "description", "metadata", *(("options",) if ours else ()))
        more = {
            "vars": unread_of(variables, "input", "context", *(("messages",) if ours else ())),
            "assert": [
                check for check in checks if check is not compared and not (ours and check.get("type") == CALLED)
            ],
        }
        unread |= {name: value for name, value in more.items() if value}
        case = rebuild_case(held, record.get("metadata"), guessed=guessed, unread=unread)
        return with_edited_reference(case, held["expected"])


EXPECTED = "__expected"
SHOWN = 4096


def _as_test(row: Record) -> Record:
    """A test of a row of CSV, whose columns are variables, but for those that begin with two underscores."""
    if "vars" in row:
        return row
    checks = [str(value) for name, value in row.items() if name.startswith(EXPECTED)]
    known = [
        (kind, value.strip()) if value and kind in KINDS else ("equals", check)
        for check in checks
        for kind, _, value in [check.partition(":")]
    ]
    metadata = {name[11:]: value for name, value in row.items() if name.startswith("__metadata:")}
    return {
        "vars": {name: value for name, value in row.items() if not name.startswith("__")},
        "assert": [{"type": kind, "value": value} for kind, value in known],
        **({"description": row["__description"]} if row.get("__description") else {}),
        **({"metadata": metadata} if metadata else {}),
    }


ASIDE = ("context", "messages")
"""Variables that are not the question."""


SPELLED = ((b"cases:", b"inputs:"), (b'"cases":', b'"inputs":'))  # its package writes YAML or JSON, which is YAML too


class PydanticEvals(_ListInYaml):
    """`cases: [{name, inputs, expected_output, metadata}]`; a name may be there once only, so it is the case's id."""

    suffix: ClassVar[str] = ".pydantic-evals.yaml"
    expresses: ClassVar[frozenset[str]] = frozenset()
    key: ClassVar[str] = "cases"

    def accepts(self, head: bytes) -> bool:
        return any(cases in head and inputs in head for cases, inputs in SPELLED)

    def record(self, case: Case) -> Record:
        record: Record = {"name": case.id, "inputs": case.input}
        if (reference := case.reference_text()) is not None:
            record["expected_output"] = reference
        return record | {"metadata": metadata_of(case, {"id", "input", "expected"})}

    def case(self, record: Record) -> Case:
        """Inputs and answers that are not text there are the YAML text of theirs here."""
        expected = record.get("expected_output")
        held = {
            "id": record.get("name"),
            "input": _as_text(record["inputs"]),
            "expected": None if expected is None else _as_text(expected),
        }
        unread = unread_of(record, "name", "inputs", "expected_output", "metadata")
        return with_edited_reference(rebuild_case(held, record.get("metadata"), unread=unread), held["expected"])


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
