"""Alembic's entry: it runs on the connection that `store/database/migrate.py` hands over, inside its transaction."""

from alembic import context

from evergold.store.schema import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
context.run_migrations()
