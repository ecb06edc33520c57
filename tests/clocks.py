"""A clock of this process that is wrong, as that of a server whose time nobody keeps."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from typing import Self

import pytest


@contextmanager
def clock_off_by(minutes: float) -> Iterator[None]:
    """Shift the time that modules of evergold read from this process; the database's clock stays right."""

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return super().now(tz) + timedelta(minutes=minutes)

    modules = [module for name, module in list(sys.modules.items()) if name.startswith("evergold.")]
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            if vars(module).get("datetime") is datetime:
                patch.setattr(module, "datetime", Shifted)
        yield
