"""The RAG builder: offline generations → split files and a manifest, streamed, all of them or none.

The file is read in blocks of whole lines. Each is routed here, or by the workers of a `Spread`; either way the parts come back in
order and are put together here: ids given twice are dropped, records go to their files, everything is counted and hashed.
"""

import hashlib
import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, BinaryIO, NamedTuple

import msgspec
import orjson

from evergold import storage
from evergold.build import manifest as manifests
from evergold.build.offline_records import (
    BLOCK_BYTES,
    Block,
    Refusal,
    SeenIds,
    bare_line,
    fingerprint,
    open_source,
    read_blocks,
    read_fields,
    require_utf8,
    show_value,
    state_of,
)
from evergold.build.spec import RagSpec, Split
from evergold.build.split_records import Excluded, RecordRouter
from evergold.errors import BadInput, Conflict
from evergold.formats.atomic import FileSet
from evergold.model.build import Manifest
from evergold.spread import Spread

PART_BYTES = 4 << 20
"""Given to a worker at once."""
_SHOWN_PROBLEMS = 5
_NOT_A_RECORD = frozenset({"not JSON", "not UTF-8", "not an object", "too long"})
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode
log = logging.getLogger(__name__)


class Rejection(NamedTuple):
    """A line that became no record, and all that is needed to find and mend it."""

    line: int
    offset: int
    size: int
    reason: str
    detail: str
    task_id: str | None
    raw: bytes

    def to_json(self, lines_before: int) -> bytes:
        """Write one line of `rejected.jsonl`: the record itself where it is one, else its first characters."""
        entry: dict[str, object] = {
            "line": lines_before + self.line,
            "reason": self.reason,
            "detail": self.detail,
            "task_id": self.task_id,
            "offset": self.offset,
            "bytes": self.size,
        }
        # A line that is no JSON cannot be embedded in the JSON of the rejected file; its text is quoted.
        if self.reason in _NOT_A_RECORD:
            entry["text"] = show_value(self.raw, 2000)
        else:
            entry["record"] = orjson.Fragment(self.raw)
        return orjson.dumps(entry) + b"\n"


class Kept(NamedTuple):
    """A record that found a split: the number of its line in the part, where that is in the file, and what is written of it."""

    line: int
    offset: int
    size: int
    split: int
    fingerprint: int
    written: bytes


@dataclass
class Part:
    """What became of one block. Lines are counted from its own start."""

    end: int
    lines: int = 0
    records: int = 0
    kept: list[Kept] = field(default_factory=list)
    excluded: Counter[str] = field(default_factory=Counter)
    rejected: list[Rejection] = field(default_factory=list)


def route_block(block: Block, router: RecordRouter, max_line: int, limit: int | None = None) -> Part:
    """Route the lines of a block; at most `limit` records of them."""
    part = Part(block.offset + block.size)
    if block.data is None:
        part.lines = 1
        detail = _too_long(block.size, max_line)
        part.rejected.append(Rejection(1, block.offset, block.size, "too long", detail, None, b""))
        return part
    is_ascii = block.data.isascii()
    offset = block.offset
    for raw in io.BytesIO(block.data):
        if part.records == limit:
            break
        part.lines += 1
        try:
            if len(raw) > max_line:
                raise Refusal("too long", _too_long(len(raw), max_line))
            line = bare_line(raw, offset)
            if line:
                if not is_ascii:
                    require_utf8(line)
                result = router.route(line)
                part.records += 1
                if isinstance(result, Excluded):
                    part.excluded[result.task_type] += 1
                else:
                    # The same id has the same 64 bits, however it is escaped.
                    name = result.task_id
                    name = _encode(_decode_text(name)) if b"\\" in name else name
                    part.kept.append(Kept(part.lines, offset, len(raw), result.split, fingerprint(name), result.line))
        except Refusal as why:
            is_record = why.reason not in _NOT_A_RECORD
            part.records += is_record
            # A record is kept whole so that it can be mended; of anything else only its beginning is shown.
            line = bare_line(raw, offset) if is_record else raw[:8000].strip()
            part.rejected.append(Rejection(part.lines, offset, len(raw), why.reason, why.detail, why.task_id, line))
        offset += len(raw)
    return part


def _too_long(size: int, max_line: int) -> str:
    return f"{size:,} bytes; the longest line allowed has {max_line:,}"


def route_part(location: str, splits: tuple[Split, ...], max_line: int, block: Block) -> Part:
    """Read and route a block of the source by a worker, which must see it under the same path or URL."""
    if block.size <= PART_BYTES + max_line:
        with open_source(location) as source:
            source.seek(block.offset)
            block = block._replace(data=source.read(block.size))
    return route_block(block, _router(splits), max_line)


_router = lru_cache(maxsize=4)(RecordRouter)


def build(spec: RagSpec, spread: Spread | None = None, advance: Callable[[int], None] = lambda size: None) -> Manifest:
    """Build the splits and return their manifest. Nothing is written unless everything could be.

    Blocks are routed by whoever `spread` gives them to, in this process without it. `advance` is called with the bytes done.
    """
    spec.require_sane()
    before = state_of(spec.location)
    digest, reached = hashlib.sha256(), 0
    with FileSet() as files:
        assembly = _Assembly(spec, files)
        with open_source(spec.location) as source:
            # A limit is counted in the order of the file, so only one reader can apply it.
            if spread is None or spec.limit is not None:
                parts = assembly.route_here(read_blocks(source, spec.max_line, BLOCK_BYTES, digest.update))
            else:
                blocks = read_blocks(source, spec.max_line, PART_BYTES, digest.update)
                work = partial(route_part, spec.location, spec.splits, spec.max_line)
                parts = spread(work, (block._replace(data=None) for block in blocks))
            for part in parts:
                assembly.add(part)
                advance(part.end - reached)
                reached = part.end
        # Parts of two contents would be mixed without this: size and time are compared before and after.
        if state_of(spec.location) != before:
            raise Conflict(f"{spec.location} changed while it was read; build again when nobody writes to it")
        # Another process may have written an output since the first test.
        spec.require_room()
        source_hash, size = digest.hexdigest(), before.size
        # The manifest pins the packed file that the user has, not the temporary plain copy.
        if spec.unpacked:
            source_hash, size = manifests.hash_file(storage.location(spec.origin))
        manifest = manifests.seal_manifest(assembly.manifest(source_hash, size))
        files.open(spec.manifest).write(manifests.encode(manifest))
    return Manifest.model_validate(manifest)


class _Output:
    """One file of a build: written, hashed, counted."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle
        self._digest = hashlib.sha256()
        self._bytes = 0
        self._count = 0

    def write(self, lines: Sequence[bytes]) -> None:
        data = b"".join(lines)
        self._handle.write(data)
        self._digest.update(data)
        self._bytes += len(data)
        self._count += len(lines)

    def entry(self, path: str) -> dict[str, Any]:
        return {"path": path, "count": self._count, "bytes": self._bytes, "sha256": self._digest.hexdigest()}


class _Assembly:
    """Puts parts together in the order of the file."""

    def __init__(self, spec: RagSpec, files: FileSet) -> None:
        self._spec = spec
        self._outputs = [_Output(files.open(spec.outputs[split.name])) for split in spec.splits]
        self._rejected_file = _Output(files.open(spec.rejected))
        self._seen = SeenIds()
        self._excluded: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._lines = 0
        self._records = 0

    def route_here(self, blocks: Iterator[Block]) -> Iterator[Part]:
        """Route one block after the other; those behind a limit are only read, so that the whole source is hashed."""
        router = RecordRouter(self._spec.splits)
        limit = self._spec.limit
        for block in blocks:
            left = None if limit is None else limit - self._records
            yield (
                Part(block.offset + block.size) if left == 0 else route_block(block, router, self._spec.max_line, left)
            )

    def add(self, part: Part) -> None:
        kept, rejections = part.kept, part.rejected
        repeated = [record for record in kept if not self._seen.add_fingerprint(record.fingerprint)]
        if repeated:
            rejections = sorted([*rejections, *self._refuse_repeated(repeated)])
            left_out = {record.line for record in repeated}
            kept = [record for record in kept if record.line not in left_out]
        for index, output in enumerate(self._outputs):
            output.write([record.written for record in kept if record.split == index])
        if rejections:
            if self._spec.strict:
                problems = [
                    f"line {self._lines + one.line}: {one.reason}: {one.detail}" for one in rejections[:_SHOWN_PROBLEMS]
                ]
                raise BadInput(
                    f"{self._spec.location} has records that cannot be used, the first on {problems[0]}; "
                    "mend them, or leave --strict out to set them aside",
                    problems=problems,
                )
            self._rejected_file.write([rejection.to_json(self._lines) for rejection in rejections])
            self._rejected.update(rejection.reason for rejection in rejections)
        for name in part.excluded.keys() - self._excluded.keys():
            log.warning("task type %r has no split; its records stay in the offline dataset and are only counted", name)
        self._excluded += part.excluded
        self._lines += part.lines
        self._records += part.records

    def _refuse_repeated(self, records: Sequence[Kept]) -> Iterator[Rejection]:
        """Find the lines of records whose id was there already, again in the source."""
        with open_source(self._spec.location) as source:
            for record in records:
                source.seek(record.offset)
                line = bare_line(source.read(record.size), record.offset)
                task_id = _decode_text(read_fields(line)["task_id"])
                detail = f"{task_id!r} was given before; the first record keeps it"
                yield Rejection(record.line, record.offset, record.size, "duplicate task_id", detail, task_id, line)

    def manifest(self, source_digest: str, source_bytes: int) -> dict[str, Any]:
        spec = self._spec
        splits = {
            split.name: output.entry(spec.make_relative(spec.outputs[split.name]))
            | {"fields": {column.name: column.kind for column in split.columns if not column.optional}}
            | {"required": [column.name for column in split.columns if column.required]}
            for split, output in zip(spec.splits, self._outputs, strict=True)
        }
        return {
            "version": spec.version,
            "generated_at_utc": manifests.stamp(manifests.now_utc()),
            "source_offline_dataset": spec.source_name,
            "filters": {} if spec.limit is None else {"limit": spec.limit},
            "splits": splits,
            "excluded_task_types": dict(sorted(self._excluded.items())),
            "rejected": dict(sorted(self._rejected.items())),
            "rejected_records": self._rejected_file.entry(spec.make_relative(spec.rejected)),
            "source": {
                "path": spec.source_name,
                "bytes": source_bytes,
                "sha256": source_digest,
                "lines": self._lines,
                "records": self._records,
            },
            "content_hash": manifests.files_hash({name: entry["sha256"] for name, entry in splits.items()}),
            "project_root": storage.make_relative(spec.root, spec.manifest.parent),
            "builder": manifests.builder_version(),
        }
