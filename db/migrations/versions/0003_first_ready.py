"""When a photo first was ready; and vacuum keeps up with the tasks"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "photos",
        sa.Column(
            "first_ready_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="since its newest upload; later runs of its tasks leave it",
        ),
    )
    # Counting queues reads indexes alone only where vacuum was, and a fifth of a big table is a long wait.
    op.execute(
        "ALTER TABLE tasks SET (autovacuum_vacuum_scale_factor = 0.02, "
        "autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)"
    )
    op.execute("UPDATE photos SET first_ready_at = ready_at WHERE ready_at IS NOT NULL")


def downgrade() -> None:
    op.execute(
        "ALTER TABLE tasks RESET (autovacuum_vacuum_scale_factor, "
        "autovacuum_vacuum_insert_scale_factor, autovacuum_analyze_scale_factor)"
    )
    op.drop_column("photos", "first_ready_at")
