"""The schema's history, numbered by the files of `versions/`.

`REVISIONS` is read without loading Alembic: most openings have nothing to migrate.
"""

from pathlib import Path

REVISIONS = tuple(sorted(path.name[:4] for path in (Path(__file__).parent / "versions").glob("[0-9]*.py")))
HEAD = REVISIONS[-1]
