"""The schema's history, numbered by the files of `versions/`.

`REVISIONS` is read without loading Alembic: most openings have nothing to migrate.

Two versions of the program work side by side during an upgrade. So a revision either adds (tables, columns with defaults,
indexes), and programs of the version before go on working, or it removes what those no longer use. A revision that removes
is named in `REMOVES` with the first revision whose programs can do without: an earlier one, so a version lies between.
"""

from pathlib import Path

REVISIONS = tuple(sorted(path.name[:4] for path in (Path(__file__).parent / "versions").glob("[0-9]*.py")))
HEAD = REVISIONS[-1]
FIRST_SIDE_BY_SIDE = "0016"  # programs of earlier ones refuse every database that is newer than they are
REMOVES: dict[str, str] = {}


def compatible_since(revision: str) -> str:
    """The oldest revision whose programs can work on a database of this one."""
    return max([FIRST_SIDE_BY_SIDE, *(since for removing, since in REMOVES.items() if removing <= revision)])
