"""Questions that reviewers of a dataset answer, and their answers."""

from alembic import op

from evergold.store.schema import review_answers, review_questions

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in (review_questions, review_answers):
        table.create(op.get_bind(), checkfirst=True)
