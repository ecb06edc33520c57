"""The record of what editors and owners changed of the work of others."""

from alembic import op

from evergold.store.database.migrate import add_missing

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_missing(op.get_bind())
