"""Outcome: what a replay reached, by the end state where the case states one, else by its answer."""

from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.correctness import Correctness
from evergold.bench.metrics.trajectory import same_call
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.model.values import likeness
from evergold.seams import Judge


@dataclass(frozen=True)
class ReplayOutcome:
    """The end state against the one of the case (1 or 0), else the answer against the reference, as `correctness`.

    `metadata.end_state` of a case is compared with the `state` that an app reports in the metadata of its reply.
    `metadata.changing_tools` names tools that change the world: the same calls of them, in any order, are the same end.
    """

    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True

    def prompt_hash(self) -> str:
        return Correctness().prompt_hash()

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        if (wanted := case.metadata.get("end_state")) is not None:
            return _by_state(wanted, attempt)
        tools = case.metadata.get("changing_tools")
        if isinstance(tools, list) and tools:
            return _by_changes(case, attempt, {str(name) for name in tools})
        return await Correctness().measure_with(case, attempt, judge)


def _by_state(wanted: Any, attempt: Attempt) -> Measurement:
    if "state" not in attempt.metadata:
        return Measurement.unscored('the target reports no state; reply with metadata {"state": …}')
    share = likeness(wanted, attempt.metadata["state"])
    reason = None if share == 1.0 else f"the end state differs; {share:.0%} of it is as expected"
    return Measurement.of(float(share == 1.0), reason, by="end_state", share=share)


def _by_changes(case: Case, attempt: Attempt, tools: set[str]) -> Measurement:
    whole = attempt.metadata.get("replay", {}).get("turns") in ("all", "simulated")
    # A replay of all turns is held against all recorded calls, one of the last turn against that turn alone.
    recorded = calls_in([*case.messages, *case.turn] if whole else case.turn)
    wanted = [call for call in recorded if call.name in tools]
    left = [call for call in attempt.tool_calls if call.name in tools]
    missing: list[ToolCall] = []
    for call in wanted:
        at = next((n for n, made in enumerate(left) if same_call(call, made)), None)
        if at is None:
            missing.append(call)
        else:
            del left[at]
    names = {"missing": [call.name for call in missing], "extra": [call.name for call in left]}
    reason = None if not missing and not left else "the changes differ from the recorded ones"
    return Measurement.of(float(not missing and not left), reason, by="changes", **names)
