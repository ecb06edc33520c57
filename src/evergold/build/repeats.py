"""Clusters of repeats for lists, pages and statistics: the clusters a build makes, over the newest cases of a dataset.

Which cases ask one question can only be known by reading them all. So what was read is kept, and read again when the
dataset has changed; while cases arrive all the time, at most a twentieth of the time is spent on it.
"""

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from evergold.build.groups import clusters_of
from evergold.model.case import Case
from evergold.model.case_actions import RepeatCounts, RepeatedQuestion, Repeats
from evergold.store import Store
from evergold.store.case.cases import CaseFilter, dataset_state, iterate_cases

LOOKED_AT = 10_000
MOST_SECONDS = 2.0  # long conversations take milliseconds each; what was not reached then is not looked at
READ = 100  # cases read at once: a thousand long conversations alone take longer than MOST_SECONDS
EXAMPLES = 10
PATIENCE = 20.0  # a slow reading that took a second is shown for twenty, even when the dataset has changed since
SLOW_SECONDS = 0.5


@dataclass(frozen=True)
class _Reading:
    state: tuple[int, str]
    counts: RepeatCounts
    cluster_of: Mapping[str, Sequence[str]]
    good_until: float


class RepeatedQuestions:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._readings: dict[str, _Reading] = {}
        self._lock = threading.Lock()

    def of(self, dataset: str, case_ids: Iterable[str] = ()) -> Repeats:
        """Count the repeats in a dataset, and find those of the cases named."""
        with self._lock:  # two who ask at once wait for one reading
            state = self._store.read(dataset_state, dataset)
            reading = self._readings.get(dataset)
            if reading is None or (reading.state != state and time.monotonic() > reading.good_until):
                reading = self._readings[dataset] = self._read(dataset, state)
        known = {case_id: reading.cluster_of[case_id] for case_id in case_ids if case_id in reading.cluster_of}
        shown = {
            case_id: RepeatedQuestion(cases=len(ids), examples=tuple(ids[:EXAMPLES])) for case_id, ids in known.items()
        }
        return Repeats(counts=reading.counts, of=shown)

    def _read(self, dataset: str, state: tuple[int, str]) -> _Reading:
        began = time.monotonic()
        with self._store.db.read() as connection:
            newest = iterate_cases(connection, CaseFilter(dataset=dataset), oldest_first=False, batch=READ)
            cases: list[Case] = []
            for case in islice(newest, LOOKED_AT):
                cases.append(case)
                if time.monotonic() > began + MOST_SECONDS:
                    break
        clusters = clusters_of(cases)
        repeated = clusters.list_repeats().values()
        counts = RepeatCounts(
            cases=state[0], looked_at=len(clusters.name_of), questions=len(repeated), repeating=sum(map(len, repeated))
        )
        took = time.monotonic() - began
        cluster_of = {case_id: ids for ids in repeated for case_id in ids}
        return _Reading(state, counts, cluster_of, began + took * PATIENCE if took > SLOW_SECONDS else began)
