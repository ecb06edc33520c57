"""Traffic counted by hour and by day; every hour there is waits to be counted."""

from alembic import op

from evergold.store.rollup.marks import create_traffic, mark_everything

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_traffic(op.get_bind())
    mark_everything(op.get_bind())
