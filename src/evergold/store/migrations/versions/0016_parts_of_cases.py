"""The index of parts of words in cases; the server fills it at leisure."""

from alembic import op

from evergold.store.text_index.parts import create_part_index

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    create_part_index(op.get_bind())
