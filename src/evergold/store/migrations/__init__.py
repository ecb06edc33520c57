"""The schema's history, numbered. `REVISIONS` is read without loading Alembic: most openings have nothing to migrate."""

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011")
HEAD = REVISIONS[-1]
