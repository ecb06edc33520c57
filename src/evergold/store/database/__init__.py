"""The database itself: opening it, its one writer, migrations, backups, what it tells operators."""
