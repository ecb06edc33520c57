"""What can be measured: models behind providers and addresses, programs, functions, retrievers and what was recorded."""

from collections.abc import Mapping
from typing import Any

from evergold.calls.caller import failed_attempt
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.settings import Settings

RECORDED = "recorded"


class RecordedTarget:
    """`recorded`: measures what an application did, without calling anything."""

    @property
    def identity(self) -> str:
        return "recorded"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        if case.output is None and not case.tool_calls:
            return failed_attempt(case, trial, "nothing_recorded", "the case holds no recorded output")
        return Attempt(
            case_id=case.id,
            trial=trial,
            output=case.output or "",
            tool_calls=case.tool_calls,
            sends=0,
            metadata={RECORDED: True},
        )


def make_recorded(address: str, _params: Mapping[str, Any], _settings: Settings) -> RecordedTarget:
    if address:
        raise BadInput(f"recorded takes no address, got {address!r}")
    return RecordedTarget()
