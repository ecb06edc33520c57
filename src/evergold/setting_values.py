"""Read the value of a setting: from TOML with a type of its own, from the environment and the command line as a text.

Each function raises ValueError or TypeError with what would be right; `settings.py` adds the setting and where it was written.
"""

import json
import re
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any


def _as_bool(raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("use true or false")


def _as_int(raw: Any) -> int:
    if isinstance(raw, bool) or (isinstance(raw, float) and not raw.is_integer()):
        raise ValueError("use a whole number")
    return int(raw)


def _as_float(raw: Any) -> float:
    number = float(raw)
    # Nothing is larger or smaller than NaN: as a limit it would let everything pass.
    if isinstance(raw, bool) or not isfinite(number):
        raise ValueError("use a finite number")
    return number


def _as_path(raw: Any) -> Path:
    # Both slashes or one: a path has lost the second. One letter is a drive of Windows.
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(raw)):
        raise ValueError("it must be a folder or file of this machine; exports, builds and backups may go to a store")
    return Path(str(raw)).expanduser()


def _as_tuple(raw: Any) -> tuple[str, ...]:
    parts = raw.split(",") if isinstance(raw, str) else list(raw)
    return tuple(str(part).strip() for part in parts if str(part).strip())


def _as_tables(raw: Any) -> tuple[Mapping[str, Any], ...]:
    tables = json.loads(raw) if isinstance(raw, str) else raw
    if not isinstance(tables, list | tuple) or not all(isinstance(table, Mapping) for table in tables):
        raise ValueError("write [[…]] tables in the file, or a JSON list of objects in the environment")
    return tuple(tables)


PARSERS: dict[str, Callable[[Any], Any]] = {
    "bool": _as_bool,
    "int": _as_int,
    "float": _as_float,
    "str": str,
    "Path": _as_path,
    "tuple": _as_tuple,
    "tables": _as_tables,
}
