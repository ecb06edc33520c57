"""Alerts, their notifications, and the sizes of datasets by hour."""

from alembic import op

from evergold.store.schema import alert_deliveries, alerts, dataset_sizes

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in (alerts, alert_deliveries, dataset_sizes):
        table.create(op.get_bind(), checkfirst=True)
