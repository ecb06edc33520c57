"""What a trace lacks to be evaluated."""

from alembic import op

from evergold.store.database.migrate import add_missing

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_missing(op.get_bind())
