"""Records as a client sends them: one, or a list. One that cannot be used does not sink the others of its list.

The others are stored and the answer names the bad one; only where none can be used is the request refused.
"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar

from pydantic import Discriminator, GetCoreSchemaHandler, Tag, ValidationError, ValidatorFunctionWrapHandler
from pydantic_core import CoreSchema, core_schema

from evergold.errors import BadInput
from evergold.model.rejected import Rejected
from evergold.seams import Incoming

T = TypeVar("T")
SHOWN = 100  # problems in one answer


class _OrRejected:
    """Instead of a record that cannot be used: what is wrong with it."""

    def __get_pydantic_core_schema__(self, shape: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Validation of the whole list would refuse it for one bad
        # record; each is validated and replaced by what is wrong.
        def checked(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
            try:
                return validate(value)
            except ValidationError as problem:
                return Rejected.of(problem, "", shape)

        return core_schema.no_info_wrap_validator_function(checked, handler(shape))


def _form(value: Any) -> str:
    return "list" if isinstance(value, list) else "record"


Sent = Annotated[
    Annotated[list[Annotated[T, _OrRejected()]], Tag("list")] | Annotated[T, Tag("record")],
    Discriminator(_form),
]


def given(sent: Sequence[Incoming | Rejected] | Incoming) -> list[Incoming | Rejected]:
    """What was sent, as a list, each bad record with its place; a list of nothing but bad ones is refused whole."""
    if not isinstance(sent, Sequence):
        return [sent]
    records: list[Incoming | Rejected] = [
        item.model_copy(update={"where": f"[{index}]"}) if isinstance(item, Rejected) else item
        for index, item in enumerate(sent)
    ]
    bad = [str(item) for item in records if isinstance(item, Rejected)]
    if bad and len(bad) == len(records):
        raise BadInput(f"no record of the list can be used: {bad[0]}", problems=bad[:SHOWN])
    return records
