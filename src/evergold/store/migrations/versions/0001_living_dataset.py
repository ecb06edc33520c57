"""The three tables that the living dataset began with: `traces`, `eval_dataset`, `eval_dataset_tags`.

Databases of that time carry no version of their own; `store/migrate.py` knows them by their tables.
"""

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    raise NotImplementedError("a new database begins with today's tables; this revision is only migrated from")
