"""Alembic's entry: runs migrations on the connection that `db.migrate` hands over."""

from alembic import context

from db.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    compare_server_default=False,
    transaction_per_migration=True,  # so that one of them can build an index CONCURRENTLY
)
with context.begin_transaction():
    context.run_migrations()
