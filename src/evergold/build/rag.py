"""The RAG builder: offline generations → split files and a manifest, streamed, all of them or none.

Ranges of the file are routed one after the other, or by the workers of an executor; either way their parts come back in order
and are put together here: ids given twice are dropped, records go to their files, everything is counted and hashed.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import compress, cycle
from threading import Event
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import msgspec

from evergold import storage
from evergold.build import manifest as manifests
from evergold.build.output import Output
from evergold.build.pace import ahead, in_order
from evergold.build.part import Part, Range, Rejection
from evergold.build.partition import (
    BLOCK_BYTES,
    bare_line,
    memory_kept,
    ranges,
    route_piece,
    route_range,
    too_long,
)
from evergold.build.reader import lines_of
from evergold.build.record import RecordRouter
from evergold.build.seen import SeenIds
from evergold.build.source import open_source, state_of
from evergold.build.spec import RagSpec
from evergold.errors import BadInput, Conflict
from evergold.formats.atomic import FileSet
from evergold.model.build import Manifest

Progress = Callable[[int, int], None]
"""Called with the bytes done and the bytes there are."""
Errand: TypeAlias = tuple[int, Range]
"""A range to route, and the slot in which its outputs are left."""

# Small enough to stay in the cache while a line of gigabytes is hashed piece by piece.
_HASHED_BYTES = 256 << 10
_WAITING_PER_JOB = 4
_AHEAD, _ENOUGH = 3, 2
"""Blocks that a thread may be ahead, for each thread there is, and how many are no reason to hurry."""
_SHOWN_PROBLEMS = 5
log = logging.getLogger(__name__)


class Workshop(NamedTuple):
    """Other processes, here or elsewhere, that route ranges of the source, and how many at once.

    `scratch` is a folder that they share with this process; without it their results come by wire.
    """

    executor: Executor
    jobs: int
    scratch: str | None = None


def build(spec: RagSpec, shop: Workshop | None = None, progress: Progress | None = None, threads: int = 1) -> Manifest:
    """Builds the splits and returns their manifest. Nothing is written unless everything could be.

    The work is done by a workshop or, without one, by as many threads of this process.
    """
    spec.require_sane()
    before = state_of(spec.location)
    with FileSet() as files:
        assembly = _Assembly(spec, files)
        with open_source(spec.location) as source, memory_kept():
            # A limit is counted in the order of the file, so only one reader can apply it.
            if shop is None or spec.limit is not None:
                digest = assembly.run_here(source, progress, 1 if spec.limit is not None else threads)
            else:
                digest = assembly.run_on(shop, source, progress)
        # Parts of two contents would be mixed without this: size and time are compared before and after.
        if state_of(spec.location) != before:
            raise Conflict(f"{spec.location} changed while it was read; build again when nobody writes to it")
        # Another process may have written an output since the first test.
        spec.require_room()
        size = before.size
        # The manifest pins the packed file that the user has, not the temporary plain copy.
        if spec.unpacked:
            digest, size = manifests.hash_file(storage.location(spec.origin))
        manifest = manifests.sealed(assembly.manifest(digest, size))
        files.open(spec.manifest).write(manifests.encode(manifest))
    return Manifest.model_validate(manifest)


class _Assembly:
    """Puts parts together in the order of the file."""

    def __init__(self, spec: RagSpec, files: FileSet) -> None:
        self._spec = spec
        self._outputs = [Output(files.open(spec.outputs[split.name])) for split in spec.splits]
        self._rejected_file = Output(files.open(spec.rejected))
        self._seen = SeenIds()
        self._excluded: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._lines = 0
        self._records = 0
        self._taken = 0

    def run_here(self, source: BinaryIO, progress: Progress | None, threads: int = 1) -> str:
        """One block after the other in this process; returns the hash of the whole source, also behind a limit.

        A second thread reads and hashes ahead of this one. Both route: it does so unless this one has nothing to do. Further
        threads do nothing else.
        """
        digest = hashlib.sha256()
        size = source.seek(0, 2)
        with ExitStack() as held:
            pool = held.enter_context(ThreadPoolExecutor(threads - 2)) if threads > 2 else None
            routed = self._routed(source, digest, pool, threads == 2)
            if threads > 1:
                routed = ahead(routed, _AHEAD * threads)
                held.callback(routed.close)
            for part_of in routed:
                part = part_of()
                self._take(part)
                if progress:
                    progress(part.piece.offset + part.piece.size, size)
        return digest.hexdigest()

    def _routed(
        self, source: BinaryIO, digest: Any, pool: Executor | None, is_shared: bool
    ) -> Generator[Callable[[], Part]]:
        """For each block who says what became of it, at once or when asked."""
        router = RecordRouter(self._spec.splits)
        max_line = self._spec.max_line
        for made, block in enumerate(ranges(source, max_line, BLOCK_BYTES)):
            left = None if self._spec.limit is None else self._spec.limit - self._records
            is_held = block.size <= BLOCK_BYTES + max_line
            # A block that is not held is hashed in pieces; the last `data` is then not the whole block.
            for data in _pieces(source, block, block.size if is_held else _HASHED_BYTES):
                digest.update(data)
            if left == 0:
                yield partial(Part, block)
            elif not is_held:
                yield partial(too_long, block, max_line)
            elif pool is not None:
                yield pool.submit(route_range, data, block.offset, router, max_line).result
            elif is_shared and made - self._taken >= _ENOUGH:
                part = route_range(data, block.offset, router, max_line)
                yield partial(_itself, part)
            else:
                yield partial(route_range, data, block.offset, router, max_line, left)

    def run_on(self, shop: Workshop, source: BinaryIO, progress: Progress | None) -> str:
        """Ranges routed by the executor's workers, a few for each of them under way at a time; a thread hashes the source."""
        size = source.seek(0, 2)
        work = partial(route_piece, self._spec.location, self._spec.splits, self._spec.max_line, shop.scratch)
        window = _WAITING_PER_JOB * shop.jobs
        # Slots are used in turn; as many as parts may be under way, so none is overwritten before it is collected.
        errands = zip(cycle(range(window)), ranges(source, self._spec.max_line), strict=False)
        given_up = Event()
        with ThreadPoolExecutor(1) as hasher:
            digest = hasher.submit(_hash_source, self._spec.location, given_up)
            try:
                for part in in_order(shop.executor, work, errands, window):
                    part.collect()
                    self._take(part)
                    if progress:
                        progress(part.piece.offset + part.piece.size, size)
            # The hasher would otherwise read gigabytes to the end before the error is shown.
            except BaseException:
                given_up.set()
                raise
            return digest.result()

    def _take(self, part: Part) -> None:
        repeated = self._seen.add_all(part.fingerprints)
        rejections = part.rejected
        counts = Counter(part.splits)
        outputs = part.outputs
        # Rare: only then the records of a part are looked at one by one.
        if repeated:
            outputs = [_without(output, index, part.splits, repeated) for index, output in enumerate(outputs)]
            counts.subtract(part.splits[kept] for kept in repeated)
            with open_source(self._spec.location) as source:  # another thread may be reading from the first one
                rejections = sorted([*rejections, *_repeated(part, repeated, source)])
        for index, output in enumerate(outputs):
            self._outputs[index].write(output, counts[index])
        if rejections:
            self._refuse(rejections)
        for name in part.excluded.keys() - self._excluded.keys():
            log.warning("task type %r has no split; its records stay in the offline dataset and are only counted", name)
        self._excluded += part.excluded
        self._lines += part.lines
        self._records += part.records
        self._taken += 1

    def _refuse(self, rejections: Sequence[Rejection]) -> None:
        lines = self._lines
        if self._spec.strict:
            problems = [f"line {lines + one.line}: {one.reason}: {one.detail}" for one in rejections[:_SHOWN_PROBLEMS]]
            raise BadInput(
                f"{self._spec.location} has records that cannot be used, the first on {problems[0]}; "
                "mend them, or leave --strict out to set them aside",
                problems=problems,
            )
        for rejection in rejections:
            self._rejected_file.write(rejection.to_json(lines), 1)
            self._rejected[rejection.reason] += 1

    def manifest(self, source_digest: str, source_bytes: int) -> dict[str, Any]:
        spec = self._spec
        splits = {
            split.name: output.entry(spec.relative(spec.outputs[split.name]))
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
            "rejected_records": self._rejected_file.entry(spec.relative(spec.rejected)),
            "source": {
                "path": spec.source_name,
                "bytes": source_bytes,
                "sha256": source_digest,
                "lines": self._lines,
                "records": self._records,
            },
            "content_hash": manifests.files_hash({name: entry["sha256"] for name, entry in splits.items()}),
            "project_root": storage.relative(spec.root, spec.manifest.parent),
            "builder": manifests.builder_version(),
        }


class _WithId(msgspec.Struct):
    task_id: str


def _itself(part: Part) -> Part:
    return part


def _hash_source(location: str, given_up: Event) -> str:
    """The hash of the whole source, in a thread beside the routing; an interrupt need not wait for its end."""
    digest = hashlib.sha256()
    block = memoryview(bytearray(_HASHED_BYTES))
    with open_source(location) as source:
        while not given_up.is_set() and (size := source.readinto(block)):  # type: ignore[attr-defined]
            digest.update(block[:size])
    return digest.hexdigest()


def _pieces(source: BinaryIO, piece: Range, most: int) -> Iterator[bytes]:
    source.seek(piece.offset)
    left = piece.size
    while left:
        block = source.read(min(left, most))
        left -= len(block)
        yield block


def _without(output: bytes, index: int, splits: bytearray, repeated: Sequence[int]) -> bytes:
    """A part's output for one split, without the records whose id was there already."""
    drop = set(repeated)
    keep = [kept not in drop for kept, split in enumerate(splits) if split == index]
    return b"".join(compress(lines_of(output), keep))


def _repeated(part: Part, repeated: Sequence[int], source: BinaryIO) -> Iterator[Rejection]:
    """The lines of a part whose id was there already, found again in the source."""
    wanted = {part.kept_lines[kept] for kept in repeated}
    source.seek(part.piece.offset)
    offset = part.piece.offset
    for number, raw in enumerate(lines_of(source.read(part.piece.size)), 1):
        if number in wanted:
            line = bare_line(raw, offset)
            task_id = msgspec.json.decode(line, type=_WithId).task_id
            detail = f"{task_id!r} was given before; the first record keeps it"
            yield Rejection(number, offset, len(raw), "duplicate task_id", detail, task_id, line)
        offset += len(raw)
