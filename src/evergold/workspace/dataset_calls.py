"""The living dataset under the names an app's own curation code has: one call per thing such code does.

`ws.dataset` is synchronous and `ws.dataset_async` awaits; both say the same. `input_text` and its kin are the names of
the columns in the tables, which people know from SQL.
"""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from uuid import uuid4

from evergold.errors import BadInput, describe_unknown
from evergold.model.case import Candidates, Case, EntryType, Provenance, TierEvidence
from evergold.model.overview import DatasetStats
from evergold.model.trace import Correction, CorrectionKind
from evergold.storage import location
from evergold.store.case.cases import CaseFilter
from evergold.store.case.writes import Author
from evergold.store.verdict.corrections import correction_case_id
from evergold.workspace.cases import Cases
from evergold.workspace.intake import Intake
from evergold.workspace.live import Live

P = ParamSpec("P")
T = TypeVar("T")
LIMIT = 1000


class DatasetCalls:
    """What `maybe_curate_to_dataset` and its companions do, on a workspace."""

    def __init__(self, intake: Intake, live: Live, cases: Cases) -> None:
        self._intake, self._live, self._cases = intake, live, cases

    @property
    def _dataset(self) -> str:
        """The dataset of the first policy in force, which decides where entries live."""
        return self._live.curation.policies[0].dataset

    def maybe_curate_to_dataset(self, trace_id: str) -> Case | None:
        """Curate one trace now. The entry it has by the first policy in force, or None when it has no place."""
        self._live.curation.trace(trace_id)
        policy = self._live.curation.policies[0].name
        wanted = CaseFilter(trace_id=trace_id, policy=policy, candidates=Candidates.INCLUDE)
        result, _ = self._cases.page(wanted, limit=1)
        return result[0] if result else None

    def add_correction_pair(self, previous_trace_id: str, correction_text: str, *, author: str | None = None) -> Case:
        """Pair the bad reply of a trace with what it should have been. The same correction again is the same entry."""
        trace = self._intake.get(previous_trace_id)
        correction = self._intake.redact_correction(
            # The text is redacted before its hash names the case, or the stored case would have another id.
            Correction(trace_id=trace.id, text=correction_text, author=author, kind=CorrectionKind.REMARK)
        )
        self._intake.accept([correction])
        self._live.curation.trace(trace.id)
        wanted = CaseFilter(trace_id=trace.id, entry_type=EntryType.CORRECTION, status=None)
        name = correction_case_id(trace.id, correction.text)
        # An entry that was withdrawn before is found as well: the filter asks for every status.
        return next(case for case in self._cases.page(wanted, limit=500)[0] if case.id == name)

    def add_dataset_entry(
        self,
        trace_id: str | None,
        entry_type: EntryType | str,
        input_text: str,
        output_text: str | None = None,
        expected_output: str | None = None,
        *,
        metadata: Mapping[str, Any] | None = None,
        tags: Iterable[str] = (),
    ) -> Case:
        """Add an entry by hand. It belongs to no policy, so curation leaves it alone."""
        case = Case(
            id=f"manual:{uuid4().hex}",
            dataset=self._dataset,
            entry_type=_entry_type_of(entry_type),
            input=input_text,
            output=output_text,
            expected=expected_output,
            metadata=dict(metadata or {}),
            tags=tuple(sorted(set(tags))),
            provenance=Provenance(source="manual", trace_id=self._intake.get(trace_id).id if trace_id else None),
            evidence=TierEvidence.PERSON,
        )
        self._cases.put([case], Author(who="app", action="added", why="added by hand"))
        return self._cases.get(case.dataset, case.id)

    def get_dataset_entries(
        self,
        entry_type: str | None = None,
        *,
        tag: str | None = None,
        confirmed: bool | None = None,
        candidates: Candidates | str = Candidates.EXCLUDE,
        limit: int = LIMIT,
    ) -> Sequence[Case]:
        """Entries, newest first; candidates only where they are asked for (`include`, `only`)."""
        wanted = self._filter(entry_type, tag=tag, confirmed=confirmed, candidates=candidates)
        return self._cases.page(wanted, limit=limit)[0]

    def add_dataset_tags(self, entry_id: str, tags: Iterable[str]) -> Case:
        """Add tags to an entry, named by its `id`."""
        return self._cases.tag(self._dataset, entry_id, add=tags, who="app")

    def get_dataset_stats(self) -> DatasetStats:
        """Totals per type, confirmed and candidate, per tag, per day."""
        return self._live.stats(self._dataset)

    def export_to_jsonl(
        self,
        output_path: Path | str,
        entry_type: str | None = None,
        limit: int | None = LIMIT,
        *,
        tag: str | None = None,
        confirmed: bool | None = None,
        candidates: Candidates | str = Candidates.EXCLUDE,
        since: str | None = None,
    ) -> int:
        """Write entries, newest first; the file appears whole or not at all. Returns how many."""
        wanted = self._filter(entry_type, tag=tag, confirmed=confirmed, candidates=candidates, since=since)
        return self._cases.export(wanted, "live-jsonl", location(output_path), limit=limit)

    def _filter(self, entry_type: str | None, *, candidates: Candidates | str, **parts: Any) -> CaseFilter:
        kind = _entry_type_of(entry_type) if entry_type else None
        if candidates not in list(Candidates):
            raise BadInput(describe_unknown("choice of candidates", str(candidates), [one.value for one in Candidates]))
        return CaseFilter(dataset=self._dataset, entry_type=kind, candidates=Candidates(candidates), **parts)


def _entry_type_of(entry_type: EntryType | str) -> EntryType:
    kinds = [kind.value for kind in EntryType]
    if entry_type not in kinds:
        raise BadInput(describe_unknown("entry type", entry_type, kinds))
    return EntryType(entry_type)


def _in_thread(
    call: Callable[Concatenate[DatasetCalls, P], T],
) -> Callable[Concatenate["AsyncDatasetCalls", P], Awaitable[T]]:
    """Make an async method of a call, which runs in a thread."""

    @wraps(call)
    async def run(calls: "AsyncDatasetCalls", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await to_thread(call, calls.sync, *args, **kwargs)

    return run


class AsyncDatasetCalls:
    """The same calls for async code: each runs in a thread, so the event loop never waits for a disk."""

    def __init__(self, calls: DatasetCalls) -> None:
        self.sync = calls

    maybe_curate_to_dataset = _in_thread(DatasetCalls.maybe_curate_to_dataset)
    add_correction_pair = _in_thread(DatasetCalls.add_correction_pair)
    add_dataset_entry = _in_thread(DatasetCalls.add_dataset_entry)
    get_dataset_entries = _in_thread(DatasetCalls.get_dataset_entries)
    add_dataset_tags = _in_thread(DatasetCalls.add_dataset_tags)
    get_dataset_stats = _in_thread(DatasetCalls.get_dataset_stats)
    export_to_jsonl = _in_thread(DatasetCalls.export_to_jsonl)
