"""Tokens with roles."""

from alembic import op

from evergold.store.schema import access_tokens

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    access_tokens.create(op.get_bind(), checkfirst=True)
