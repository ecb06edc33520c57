"""The rules of curation as people change them in the browser."""

from alembic import op

from evergold.store.schema import rule_changes

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rule_changes.create(op.get_bind(), checkfirst=True)
