"""Roles: what the holder of a token may do."""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, StringConstraints

from evergold.model.limits import UtcTime


class Role(StrEnum):
    """A role of a token, and at the same time what a route asks for."""

    OWNER = "owner"
    EDITOR = "editor"
    REVIEWER = "reviewer"
    INGEST = "ingest"
    READER = "reader"

    def may(self, needed: "Role") -> bool:
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
