"""Count the origins of the references behind a mean: a person, the source, or nobody yet."""

from collections.abc import Iterator, Mapping

from evergold.model.case import Case
from evergold.model.reference import Origin

NO_REFERENCE = "none"


def origin_of(case: Case) -> str:
    reference = case.reference()
    return NO_REFERENCE if reference is None else str(reference.origin)


def candidate_warnings(origins: Mapping[str, str], scores: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Say which means rest on references that no person has confirmed. `origins`: case → the origin of its reference."""
    candidates = {name for name, origin in origins.items() if origin == Origin.CANDIDATE}
    # Metrics that rest on the same number of candidates share one warning.
    resting: dict[tuple[int, int], list[str]] = {}
    for metric, values in scores.items():
        if count := len(candidates & values.keys()):
            resting.setdefault((count, len(values)), []).append(metric)
    for (count, of), metrics in resting.items():
        yield f"{', '.join(metrics)}: {count} of {of} references are candidates that no person has confirmed"
