"""OpenAI's shapes: fine-tuning (`messages`), preferences (preferred and not), and evals (`input`, `ideal`).

The two training shapes have no place for metadata, and their files are uploaded as they are. So what they cannot hold
stands in a file beside them, line by line (`NAME.evergold.jsonl`), used again only for lines that are still the same.
"""

from collections.abc import Iterable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.formats.atomic import FileSet
from evergold.formats.carrying import metadata_of, rebuilt
from evergold.formats.lines import Record, first_record, one_case, read_lines, write_lines
from evergold.formats.messages import assistant, conversation, last_user_text, text_of
from evergold.model.case import Case, EntryType
from evergold.model.ident import hash_bytes
from evergold.model.rejected import Rejected

TRAINING_KEYS = {"messages", "tools", "functions", "parallel_tool_calls"}


def beside(path: Path) -> Path:
    return path.with_name(path.stem + ".evergold.jsonl")


class _Training:
    """A training file and the one beside it."""

    suffix: ClassVar[str] = ".jsonl"
    lacks: ClassVar[str]

    def record(self, case: Case) -> Record | None:
        raise NotImplementedError

    def foreign(self, record: Record) -> Case:
        raise NotImplementedError

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Cases that have no such record go to `options["rejected"]`, with the reason."""
        rejected: list[Rejected] = options.get("rejected", [])
        count = 0
        with FileSet() as files:
            out, more = files.open(path), files.open(beside(path))
            for case in cases:
                record = self.record(case)
                if record is None:
                    rejected.append(Rejected(where=f"{case.dataset}/{case.id}", reason=self.lacks))
                    continue
                line = orjson.dumps(record)
                out.write(line + b"\n")
                more.write(orjson.dumps({"line": hash_bytes(line), "case": case.model_dump(mode="json")}) + b"\n")
                count += 1
        return count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        companion = beside(path)
        with path.open("rb") as handle:
            known = companion.open("rb") if companion.is_file() else None
            try:
                for number, (line, more) in enumerate(zip(handle, known or repeat(b""), strict=False), 1):
                    if line.strip():
                        yield self._case(line, more, f"{path.name}:{number}")
            finally:
                if known:
                    known.close()

    def _case(self, line: bytes, more: bytes, where: str) -> Case | Rejected:
        if more.strip():
            kept = orjson.loads(more)
            if kept["line"] == hash_bytes(line.rstrip(b"\n")):
                return Case.model_validate(kept["case"])
        return one_case(line, where, self.foreign)


class FineTune(_Training):
    """`{"messages": […], "tools": […]}`: the conversation with the right answer at its end."""

    suffix: ClassVar[str] = ".openai-ft.jsonl"
    lacks: ClassVar[str] = "no right answer to learn: the case has no expected output, and its own output is not golden"

    def accepts(self, head: bytes) -> bool:
        record = first_record(head)
        return "messages" in record and record.keys() <= TRAINING_KEYS

    def record(self, case: Case) -> Record | None:
        answer = case.expected or (case.output if case.entry_type is EntryType.GOLDEN else None)
        if not answer:
            return None
        record: Record = {"messages": [*conversation(case), assistant(answer)]}
        return record | {"tools": list(case.tools)} if case.tools else record

    def foreign(self, record: Record) -> Case:
        messages = record["messages"]
        answered = bool(messages) and messages[-1].get("role") == "assistant"
        asked = messages[:-1] if answered else messages
        held = {
            "input": last_user_text(asked),
            "messages": asked if len(asked) > 1 else None,
            "expected": text_of(messages[-1].get("content")) if answered else None,
            "tools": record.get("tools"),
        }
        return rebuilt(held, None)


class Preference(_Training):
    """A corrected answer preferred to the one that was given."""

    suffix: ClassVar[str] = ".dpo.jsonl"
    lacks: ClassVar[str] = "no pair: a preference needs an output and another, expected one"

    def accepts(self, head: bytes) -> bool:
        return "preferred_output" in first_record(head)

    def record(self, case: Case) -> Record | None:
        if not case.expected or not case.output or case.expected == case.output:
            return None
        given: Record = {"messages": conversation(case)}
        return {
            "input": given | {"tools": list(case.tools)} if case.tools else given,
            "preferred_output": [assistant(case.expected)],
            "non_preferred_output": [assistant(case.output)],
        }

    def foreign(self, record: Record) -> Case:
        messages = record["input"]["messages"]
        held = {
            "entry_type": EntryType.CORRECTION,
            "input": last_user_text(messages),
            "messages": messages if len(messages) > 1 else None,
            "expected": text_of(record["preferred_output"][-1].get("content")),
            "output": text_of(record["non_preferred_output"][-1].get("content")),
            "tools": record["input"].get("tools"),
        }
        return rebuilt(held, None)


class Evals:
    """`{"input": [messages], "ideal": …}`, with our metadata beside."""

    suffix: ClassVar[str] = ".openai-evals.jsonl"
    held: ClassVar[set[str]] = {"input", "expected"}

    def accepts(self, head: bytes) -> bool:
        return {"input", "ideal"} <= first_record(head).keys()

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines(map(self.record, cases), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, self.case)

    def record(self, case: Case) -> Record:
        return {
            "input": conversation(case),
            "ideal": case.expected or "",
            "metadata": metadata_of(case, self.held - {"input"}),
        }

    def case(self, record: Record) -> Case:
        given, ideal = record["input"], record.get("ideal")
        messages = given if isinstance(given, list) else []
        held = {
            "input": last_user_text(messages) if messages else given,
            "expected": ideal[0] if isinstance(ideal, list) and ideal else ideal or None,
        }
        guessed = {"messages": messages if len(messages) > 1 else None}
        return rebuilt(held, record.get("metadata"), guessed=guessed)
