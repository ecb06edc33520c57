"""Where the time of a RAG build goes: microseconds of CPU per record for each step, beside the loops it is compared with.

    python -m perf build_steps

Each step runs again and again over the same two blocks of synthetic records, and its shortest time counts: a busy machine
makes a step longer, never shorter. So the sum is what a build could do on an undisturbed machine, without its start.
"""

import hashlib
import json
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson

from evergold.build import lines
from evergold.build.partition import BLOCK_BYTES, memory_kept, ranges, route_range
from evergold.build.reader import lines_of
from evergold.build.record import RecordRouter
from evergold.build.seen import SeenIds
from evergold.build.splits import SPLITS
from perf.data.rag_records import write

REPEATS = 60
LONGEST_LINE = 8 << 20


def stdlib_loop(data: bytes) -> int:
    written = 0
    for line in data.decode().splitlines():
        record = json.loads(line)
        texts = record["rag"]["contexts"]
        record["rag"]["contexts"] = [
            text if text.startswith("[") else f"[{place}] {text.strip()}" for place, text in enumerate(texts, 1)
        ]
        written += len((json.dumps(record, ensure_ascii=False) + "\n").encode())
    return written


def orjson_loop(data: bytes) -> int:
    return sum(len(orjson.dumps(orjson.loads(line))) for line in lines_of(data))


class Steps:
    """The steps of a build, one by one, over blocks that were routed before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._router = RecordRouter([SPLITS[name] for name in ("qa", "summaries")])
        self._fields: Any = self._router._straight.fields
        with path.open("rb") as source:
            self._ranges = list(ranges(source, range_bytes=BLOCK_BYTES))[:2]
            self.blocks = [self._read(source, block) for block in self._ranges]
        self._route()
        self.parts = self._route()

    def _read(self, source: Any, block: Any) -> bytes:
        source.seek(block.offset)
        data: bytes = source.read(block.size)
        return data

    def _route(self) -> list[Any]:
        return [route_range(block, 0, self._router, LONGEST_LINE) for block in self.blocks]

    def all(self) -> dict[str, Callable[[], object]]:
        """Every step by name; those that begin with a dash are within the one before."""
        outputs = [output for part in self.parts for output in part.outputs]
        survey, outer, inner = lines.survey, self._fields.outer, self._fields.inner
        return {
            "stdlib loop, in memory": lambda: [stdlib_loop(block) for block in self.blocks],
            "orjson loop, in memory": lambda: [orjson_loop(block) for block in self.blocks],
            "read": self._read_all,
            "sha256 of the source": lambda: [hashlib.sha256(block) for block in self.blocks],
            "route": self._route,
            "- is it UTF-8 and JSON, where is each value": lambda: [
                survey(block, outer, inner) for block in self.blocks
            ],
            "- the same, and what becomes of each line": lambda: list(map(self._router.survey, self.blocks)),
            "ids given before": lambda: [SeenIds().add_all(part.fingerprints) for part in self.parts],
            "sha256 of the splits": lambda: [hashlib.sha256(output) for output in outputs],
            "write": lambda: self._write_all(outputs),
        }

    def _read_all(self) -> None:
        with self._path.open("rb") as source:
            for block in self._ranges:
                self._read(source, block)

    def _write_all(self, outputs: list[bytes]) -> None:
        with self._path.with_suffix(".out").open("wb", buffering=0) as out:
            for output in outputs:
                out.write(output)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, memory_kept():
        path = Path(folder) / "offline.jsonl"
        write(path, 2)
        steps = Steps(path)
        records = sum(len(list(BytesIO(block))) for block in steps.blocks)
        total = 0.0
        for name, step in steps.all().items():
            shortest = min(_seconds(step) for _ in range(REPEATS)) / records * 1e6
            total += shortest if name[0] != "-" and "loop" not in name else 0.0
            print(f"  {name:<50} {shortest:7.2f} µs")
        print(f"  {'a build, without its start':<50} {total:7.2f} µs")


def _seconds(step: Callable[[], object]) -> float:
    began = time.process_time()
    step()
    return time.process_time() - began


if __name__ == "__main__":
    main()
