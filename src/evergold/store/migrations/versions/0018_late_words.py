"""PostgreSQL sorts words of new traces into their index in smaller portions."""

from alembic import op

from evergold.store.text_index.words import POSTGRES_LATE

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER INDEX trace_words SET ({POSTGRES_LATE})")
