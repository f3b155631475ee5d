"""Tasks carry the trace id of the request that submitted them"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    # Expands only: the version before this one goes on beside it. Whoever waits for the table's lock holds
    # up everyone who comes after; rather than that, this gives up and is run again.
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "tasks",
        sa.Column("trace_id", sa.Text(), nullable=True, comment="of the request that submitted it"),
    )


def downgrade() -> None:
    op.drop_column("tasks", "trace_id")
