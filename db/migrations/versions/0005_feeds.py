"""Queues have a rate; events are read in the order of their commits, tasks newest first"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "queues",
        sa.Column(
            "rate_per_s",
            sa.Double(),
            nullable=True,
            comment="tasks that the relay publishes at most; no bound if null",
        ),
    )
    op.add_column(
        "queues",
        sa.Column(
            "paced_until",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="up to when the rate is used up by what was published",
        ),
    )
    op.create_check_constraint("rate", "queues", "rate_per_s > 0")
    op.create_index("ix_events_xid_id", "events", ["xid", "id"])
    op.create_index("ix_tasks_created_at_id", "tasks", ["created_at", "id"])
    op.create_index(
        "ix_tasks_not_completed",
        "tasks",
        ["state", "created_at", "id"],
        postgresql_where=sa.text("state IN ('failed', 'cancelled', 'discarded')"),
    )
    op.create_index(
        "ix_photos_not_ready",
        "photos",
        ["owner", "state", "created_at", "id"],
        postgresql_where=sa.text("state <> 'ready'"),
    )


def downgrade() -> None:
    op.drop_index("ix_photos_not_ready", "photos")
    op.drop_index("ix_tasks_not_completed", "tasks")
    op.drop_index("ix_tasks_created_at_id", "tasks")
    op.drop_index("ix_events_xid_id", "events")
    op.drop_column("queues", "paced_until")
    op.drop_column("queues", "rate_per_s")
