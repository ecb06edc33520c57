"""Flows → context cases. The package is its own door: `evergold.extract(source)` streams the cases of a source of flows.

>>> for item in evergold.extract(SidekickSource("ws"), repo_dir="."):
...     print(item.case.id, item.why_no_base)
"""

import sys
from types import ModuleType
from typing import Any


class _Door(ModuleType):
    """A package that can be called: its name is the verb people look for, and its modules keep theirs."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        from evergold.extract.extract import extract_from

        return extract_from(*args, **named)


sys.modules[__name__].__class__ = _Door
