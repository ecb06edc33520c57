"""Values of any shape, as deep as they can be kept: what writes JSON gives up some hundred levels down."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator

MOST_LEVELS = 100


def require_shallow(value: Any, most: int = MOST_LEVELS) -> Any:
    """The value, unless it is nested too deep to be written anywhere."""
    inner: Iterable[Any] = (value,)
    for _ in range(most + 1):
        inner = [part for whole in inner for part in _parts(whole) if isinstance(part, dict | list | tuple)]
        if not inner:
            return value
    raise ValueError(f"values are nested more than {most} levels deep")


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


Values = Annotated[dict[str, Any], AfterValidator(lambda value: require_shallow(value))]
