"""Roles: what the holder of a token may do."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, StringConstraints

from evergold.errors import Refused
from evergold.model.limits import UtcTime


class Role(StrEnum):
    """A role of a token, and at the same time what a route asks for."""

    OWNER = "owner"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    INGEST = "ingest"
    READER = "reader"

    def allows(self, needed: "Role") -> bool:
        """Whether a holder of this role may do what asks for `needed`."""
        return needed in INCLUDES[self]


INCLUDES = {
    Role.OWNER: frozenset(Role),
    Role.EDITOR: frozenset(Role) - {Role.OWNER},
    Role.REVIEWER: frozenset({Role.REVIEWER, Role.READER}),
    Role.INGEST: frozenset({Role.INGEST}),
    Role.READER: frozenset({Role.READER}),
}
"""Each role with the roles it includes: an owner may do everything; who sends data reads none."""

# The setting `review.reviewers` writes `name:token` with commas between, so no name may hold either.
TokenName = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029:,]+$"
    ),
]


class Holder(BaseModel, frozen=True):
    """Who calls: the name behind a token, and its role."""

    name: str
    role: Role

    @property
    def moderates(self) -> bool:
        """Whether the holder may change and delete what others wrote, reopen cases and settle disputes."""
        return self.role.allows(Role.EDITOR)

    def check_author(self, author: str, what: str, instead: str = "ask one of them") -> bool:
        """Raise `Refused` where somebody else's work is not the holder's to change; True where changing it is moderation."""
        if author in ("", self.name):
            return False
        if not self.moderates:
            raise Refused(
                f"{what} belongs to {author}; a {self.role.value} may change and delete only their own, "
                f"an editor or owner also that of others; {instead}"
            )
        return True

    def check_moderates(self, what: str) -> None:
        """Raise `Refused` for a holder who does not moderate."""
        if not self.moderates:
            raise Refused(f"{what} needs the role editor (or owner); {self.name} has the role {self.role.value}")


class Moderation(BaseModel, frozen=True):
    """One change of somebody else's work: who did what to which thing of whom."""

    who: str
    action: str
    what: str
    author: str
    at: UtcTime


LOCAL = Holder(name="", role=Role.OWNER)
"""Who uses a workspace without a server, or a server without tokens: the person at this machine."""


class AccessToken(BaseModel, frozen=True):
    """A token as it is listed; the token itself is stored nowhere."""

    id: str
    name: str
    role: Role
    created_at: UtcTime
    revoked_at: UtcTime | None = None


class NewToken(AccessToken, frozen=True):
    """A token just made. `token` is shown this once."""

    token: str
