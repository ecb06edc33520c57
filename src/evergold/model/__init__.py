"""The nouns. Pure values: no clock, no file, no database, no randomness.

Everything that passes between stages, through the store, over HTTP or into a plug-in is one of these, defined once.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _FormerModule(ModuleType):
    """A module under the name it had before, for plug-ins that import it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self.__doc__ or ""), name)


for _old, _new in {"checking": "check", "judging": "judge"}.items():
    sys.modules[f"{__name__}.{_old}"] = _FormerModule(f"{__name__}.{_old}", f"{__name__}.{_new}")
