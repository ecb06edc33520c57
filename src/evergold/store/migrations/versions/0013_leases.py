"""Leases on work that two servers must not do twice."""

import sqlalchemy as sa
from alembic import op

from evergold.store.schema import work_leases

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    work_leases.create(op.get_bind(), checkfirst=True)
    columns = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("curation_queue")}
    for name in ("owner", "lease_until"):
        if name not in columns:
            op.add_column("curation_queue", sa.Column(name, sa.Text))
