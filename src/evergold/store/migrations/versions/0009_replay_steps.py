"""Steps of replayed trajectories."""

from alembic import op

from evergold.store.schema import attempt_steps

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    attempt_steps.create(op.get_bind(), checkfirst=True)
