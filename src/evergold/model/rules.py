"""Rules of curation as people change them in the browser: the policy `default`, and which built-in checks are on."""

from pydantic import BaseModel, Field, field_validator

from evergold.model.moment import UtcTime
from evergold.model.policy import Policy

POLICY = "default"


class CurationRules(BaseModel, frozen=True, extra="forbid"):
    """The policy `default`, whether the built-in checks run, and which of them do not."""

    policy: Policy = Policy()
    checks_on: bool = True
    checks_off: tuple[str, ...] = ()

    @field_validator("policy", mode="after")
    @classmethod
    def named_default(cls, value: Policy) -> Policy:
        if value.name != POLICY:
            raise ValueError(f"these rules are those of the policy {POLICY!r}; {value.name!r} needs a file of its own")
        return value

    @field_validator("checks_off", mode="after")
    @classmethod
    def without_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(value)))


class NewRules(BaseModel, frozen=True, extra="forbid"):
    """Rules to be saved. `base` is the number of the change they were made from; another one since is a conflict."""

    rules: CurationRules
    base: int = Field(0, ge=0)
    why: str = Field("", max_length=500)


class RulesChange(BaseModel, frozen=True):
    """One change of the rules: who made it, when and why. `number` counts up; 0 is what the workspace began with."""

    number: int
    rules: CurationRules
    who: str = ""
    why: str = ""
    created_at: UtcTime | None = None


class CheckSwitch(BaseModel, frozen=True):
    """A built-in check: what it gives, whether it is on, and the setting that holds it off, if one does."""

    name: str
    does: str
    on: bool
    held_off_by: str = ""


class RulesView(BaseModel, frozen=True):
    """The rules in force. `policy_set_by` and `checks_set_by` name the file or setting that holds a part of them."""

    number: int
    rules: CurationRules
    policy_set_by: str = ""
    checks_set_by: str = ""
    checks: tuple[CheckSwitch, ...]
    history: tuple[RulesChange, ...]
    waiting: int


class ReasonChange(BaseModel, frozen=True):
    """How many traces a reason keeps out now, and how many it would."""

    reason: str
    now: int
    then: int


class RulesPreview(BaseModel, frozen=True):
    """What other rules would make of the newest traces. Nothing is changed."""

    traces: int
    golden_now: int
    golden_then: int
    failure_now: int
    failure_then: int
    reasons: tuple[ReasonChange, ...]
