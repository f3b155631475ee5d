"""Which tasks were requeued together; and what fails is found by how, without a look at all that went well"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

_INDEXES = {
    "ix_tasks_batch": (["batch_id"], "batch_id IS NOT NULL"),
    "ix_tasks_error": (["error_type", "created_at", "id"], "error_type IS NOT NULL"),
}


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "tasks",
        sa.Column("batch_id", sa.Uuid(), nullable=True, comment="of those that were requeued last with it"),
        if_not_exists=True,
    )
    # Tasks are written to meanwhile. What an interrupted run left is begun anew.
    with op.get_context().autocommit_block():
        for name, (columns, where) in _INDEXES.items():
            op.drop_index(name, "tasks", if_exists=True, postgresql_concurrently=True)
            op.create_index(
                name, "tasks", columns, postgresql_where=sa.text(where), postgresql_concurrently=True
            )


def downgrade() -> None:
    for name in _INDEXES:
        op.drop_index(name, "tasks")
    op.drop_column("tasks", "batch_id")
