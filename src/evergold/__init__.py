"""Evergold: living golden datasets, and benchmarks one can believe.

`evergold.open()` gives a workspace to work with: take traces in, curate, review, build, run, compare, export.
`evergold.connect()` gives an app its logger. Importing this package costs nothing; each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evergold import replay
    from evergold.door import Door, open
    from evergold.errors import EvergoldError
    from evergold.extract.run import extract_cases
    from evergold.formats.dataset_ab import read_dataset_a, read_dataset_b, write_dataset_a, write_dataset_b
    from evergold.model.case import Case
    from evergold.model.trace import Correction, Score, Span, Trace
    from evergold.sdk import connect
    from evergold.settings import Settings
    from evergold.stats.agreement import agreement
    from evergold.stats.scores import compare_scores, mean_score
    from evergold.workspace import Workspace

_HOMES = {
    "Case": "evergold.model.case",
    "Correction": "evergold.model.trace",
    "Door": "evergold.door",
    "EvergoldError": "evergold.errors",
    "Score": "evergold.model.trace",
    "Settings": "evergold.settings",
    "Span": "evergold.model.trace",
    "Trace": "evergold.model.trace",
    "Workspace": "evergold.workspace",
    "agreement": "evergold.stats.agreement",
    "compare_scores": "evergold.stats.scores",
    "connect": "evergold.sdk",
    "extract_cases": "evergold.extract.run",
    "mean_score": "evergold.stats.scores",
    "open": "evergold.door",
    "read_dataset_a": "evergold.formats.dataset_ab",
    "read_dataset_b": "evergold.formats.dataset_ab",
    "write_dataset_a": "evergold.formats.dataset_ab",
    "write_dataset_b": "evergold.formats.dataset_ab",
}

__all__ = [
    "Case",
    "Correction",
    "Door",
    "EvergoldError",
    "Score",
    "Settings",
    "Span",
    "Trace",
    "Workspace",
    "agreement",
    "compare_scores",
    "connect",
    "extract_cases",
    "mean_score",
    "open",
    "read_dataset_a",
    "read_dataset_b",
    "replay",
    "write_dataset_a",
    "write_dataset_b",
]


def __getattr__(name: str) -> Any:
    if name == "replay":
        return import_module("evergold.replay")
    if name not in _HOMES:
        raise AttributeError(f"module 'evergold' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
