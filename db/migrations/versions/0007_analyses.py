"""What a slow remote service says of a photo; tasks count their polls, and know when they were begun"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"

_now = sa.text("clock_timestamp()")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column(
        "tasks",
        sa.Column(
            "polls",
            sa.Integer(),
            nullable=False,
            server_default=sa.text("0"),
            comment="attempts that found it not yet done",
        ),
    )
    op.add_column(
        "tasks",
        sa.Column(
            "begun_at",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="of its first attempt since it was submitted or requeued",
        ),
    )
    op.add_column(
        "tasks",
        sa.Column(
            "published",
            sa.BigInteger(),
            nullable=True,
            comment="the message that first told of it since it was queued last",
        ),
    )
    op.create_table(
        "analyses",
        sa.Column("photo_id", sa.Uuid(), nullable=False),
        sa.Column("run", sa.Uuid(), nullable=False, comment="which asking it was that gave the partial data"),
        sa.Column(
            "operation_url",
            sa.Text(),
            nullable=True,
            comment="where the service wants this run to be asked for",
        ),
        sa.Column(
            "polls",
            sa.Integer(),
            nullable=False,
            server_default=sa.text("0"),
            comment="answers of this run",
        ),
        sa.Column(
            "partial",
            postgresql.JSONB(),
            nullable=False,
            server_default=sa.text("'{}'"),
            comment="of this run, until it is done",
        ),
        sa.Column("result", postgresql.JSONB(), nullable=True, comment="of the newest run that was done"),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False, server_default=_now),
        sa.CheckConstraint("(result IS NULL) = (completed_at IS NULL)", name=op.f("ck_analyses_completed")),
        sa.ForeignKeyConstraint(
            ["photo_id"], ["photos.id"], name=op.f("fk_analyses_photo_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("photo_id", name=op.f("pk_analyses")),
    )


def downgrade() -> None:
    op.drop_table("analyses")
    op.drop_column("tasks", "published")
    op.drop_column("tasks", "begun_at")
    op.drop_column("tasks", "polls")
