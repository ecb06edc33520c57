"""Evergold: living golden datasets, and benchmarks one can believe.

`evergold.open()` gives a workspace to work with: take traces in, curate, review, build, run, compare, export.
`evergold.connect()` gives an app its logger. Importing this package costs nothing; each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `as` says to type checkers that the name is exported from here
    from evergold import replay as replay
    from evergold.door import Door as Door
    from evergold.door import open as open
    from evergold.errors import EvergoldError as EvergoldError
    from evergold.extract.run import extract_cases as extract_cases
    from evergold.formats.dataset_ab import read_dataset_a as read_dataset_a
    from evergold.formats.dataset_ab import read_dataset_b as read_dataset_b
    from evergold.formats.dataset_ab import write_dataset_a as write_dataset_a
    from evergold.formats.dataset_ab import write_dataset_b as write_dataset_b
    from evergold.model.case import Case as Case
    from evergold.model.trace import Correction as Correction
    from evergold.model.trace import Score as Score
    from evergold.model.trace import Span as Span
    from evergold.model.trace import Trace as Trace
    from evergold.sdk import connect as connect
    from evergold.settings import Settings as Settings
    from evergold.stats.agreement import agreement as agreement
    from evergold.stats.scores import compare_scores as compare_scores
    from evergold.stats.scores import mean_score as mean_score
    from evergold.workspace import Workspace as Workspace

_EXPORTS = {
    "door": ("Door", "open"),
    "errors": ("EvergoldError",),
    "extract.run": ("extract_cases",),
    "formats.dataset_ab": ("read_dataset_a", "read_dataset_b", "write_dataset_a", "write_dataset_b"),
    "model.case": ("Case",),
    "model.trace": ("Correction", "Score", "Span", "Trace"),
    "replay": ("replay",),
    "sdk": ("connect",),
    "settings": ("Settings",),
    "stats.agreement": ("agreement",),
    "stats.scores": ("compare_scores", "mean_score"),
    "workspace": ("Workspace",),
}
_HOMES = {name: f"evergold.{module}" for module, names in _EXPORTS.items() for name in names}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'evergold' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if name == "replay" else getattr(home, name)


def __dir__() -> list[str]:
    return __all__
