"""Which tasks were requeued together; and what fails is found by how, without a look at all that went well"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "tasks",
        sa.Column("batch_id", sa.Uuid(), nullable=True, comment="of those that were requeued last with it"),
    )
    op.create_index("ix_tasks_batch", "tasks", ["batch_id"], postgresql_where=sa.text("batch_id IS NOT NULL"))
    op.create_index(
        "ix_tasks_error",
        "tasks",
        ["error_type", "created_at", "id"],
        postgresql_where=sa.text("error_type IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_tasks_error", "tasks")
    op.drop_index("ix_tasks_batch", "tasks")
    op.drop_column("tasks", "batch_id")
