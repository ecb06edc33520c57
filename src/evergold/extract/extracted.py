"""The result of an extraction: cases, and the reasons why something made none."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evergold.formats.dataset_pair import PairLines
from evergold.model.case import Case

DATASET = "context"

Wanted = Callable[[str], bool]
"""Whether a case of that id is to be made."""


@dataclass(frozen=True)
class Extracted:
    """A case, why it lacks what it lacks, what was odd about its rows, and what a reviewer wants to see beside it.

    `lines`: its rows as bytes, where a worker has made them already.
    """

    case: Case
    why_no_query: str = ""
    why_no_base: str = ""
    remarks: tuple[str, ...] = ()
    evidence: dict[str, Any] | None = None
    lines: PairLines | None = None


class SkippedItem(str):
    """The reason a commit or a session made no case."""
