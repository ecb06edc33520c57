"""An alert: something that a person should look at, from when it began until it was over, and who was notified of it."""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field


class AlertKind(StrEnum):
    """What a rule watches."""

    FAILING_RATE = "failing_rate"
    INTAKE_STOPPED = "intake_stopped"
    DATASET_DROP = "dataset_drop"
    GATE_FAILED = "gate_failed"


class DeliveryStatus(StrEnum):
    """How far a notification is. `superseded`: a later one of the same alert took its place before it was sent."""

    PENDING = "pending"
    SENT = "sent"
    GIVEN_UP = "given_up"
    SUPERSEDED = "superseded"


class AlertEvent(StrEnum):
    """What a notification says of its alert."""

    FIRING = "firing"
    REMINDER = "reminder"
    RESOLVED = "resolved"


class Reading(BaseModel, frozen=True):
    """What a rule found: whether it fires, in words and figures. `subject` is what of several things it is: a dataset, a run."""

    rule: str
    kind: AlertKind
    subject: str = ""
    firing: bool
    text: str
    details: dict[str, Any] = Field(default_factory=dict)


class AlertDelivery(BaseModel, frozen=True):
    """One notification to the webhook: how often it was tried, what the last answer was, when it is tried again."""

    id: int
    event: AlertEvent
    status: DeliveryStatus
    tries: int
    error: str
    next_try_at: str | None
    created_at: str
    sent_at: str | None


class Alert(BaseModel, frozen=True):
    """An alert and its notifications, newest first. It fires until `resolved_at`."""

    id: int
    rule: str
    kind: AlertKind
    subject: str
    text: str
    details: dict[str, Any]
    opened_at: str
    seen_at: str
    resolved_at: str | None
    deliveries: tuple[AlertDelivery, ...] = ()

    @property
    def firing(self) -> bool:
        return self.resolved_at is None
