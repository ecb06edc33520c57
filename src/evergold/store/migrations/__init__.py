"""The schema's history: the baseline, and a numbered file in `versions/` for each change after it.

`REVISIONS` is read without loading Alembic: most openings have nothing to migrate.
"""

from pathlib import Path

REVISIONS = tuple(sorted(path.name[:4] for path in (Path(__file__).parent / "versions").glob("[0-9]*.py")))
HEAD = REVISIONS[-1]
BEFORE_BASELINE = "0018"  # the one earlier schema that the baseline is reached from
