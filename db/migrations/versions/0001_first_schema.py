"""The first schema"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from db.tables import Xid8

revision = "0001"
down_revision = None


def upgrade() -> None:

    op.create_table(
        "events",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("xid", Xid8(), server_default=sa.text("pg_current_xact_id()"), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("subject", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column(
            "data", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    op.create_index(
        "ix_events_of_no_task",
        "events",
        ["created_at"],
        unique=False,
        postgresql_where=sa.text("task_id IS NULL"),
    )
    op.create_index(op.f("ix_events_subject_id"), "events", ["subject", "id"], unique=False)
    op.create_index(op.f("ix_events_task_id"), "events", ["task_id"], unique=False)
    op.create_table(
        "keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("secret_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
    )
    op.create_table(
        "photos",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=True),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("original_key", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("placeholder", sa.LargeBinary(), nullable=True),
        sa.Column("warnings", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
        sa.Column("exif", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("exif_raw", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "received_at", sa.DateTime(timezone=True), nullable=False, comment="first byte of the upload"
        ),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("ready_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(state = 'ready') = (ready_at IS NOT NULL)", name=op.f("ck_photos_ready_at")),
        sa.CheckConstraint("state IN ('processing', 'ready', 'failed')", name=op.f("ck_photos_state")),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("ck_photos_sha256")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_photos")),
        sa.UniqueConstraint("original_key", name=op.f("uq_photos_original_key")),
        sa.UniqueConstraint("owner", "sha256", name=op.f("uq_photos_owner_sha256")),
    )
    op.create_index(
        op.f("ix_photos_owner_created_at_id"), "photos", ["owner", "created_at", "id"], unique=False
    )
    op.create_table(
        "queues",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_queues")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("subject", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column(
            "priority",
            sa.SmallInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="lower runs sooner",
        ),
        sa.Column(
            "run_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False
        ),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("snoozes", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "token", sa.BigInteger(), server_default=sa.text("0"), nullable=False, comment="fence: +1 a claim"
        ),
        sa.Column(
            "dispatch",
            sa.BigInteger(),
            server_default=sa.text("0"),
            nullable=False,
            comment="+1 a message sent",
        ),
        sa.Column("rerun", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("queued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "sent_at", sa.DateTime(timezone=True), nullable=True, comment="when its newest message was sent"
        ),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "lease_limit",
            sa.DateTime(timezone=True),
            nullable=True,
            comment="no heartbeat extends the lease past it",
        ),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_detail", sa.Text(), nullable=True),
        sa.Column(
            "created_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("clock_timestamp()"),
            nullable=False,
        ),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(state = 'processing') = (lease_until IS NOT NULL)", name=op.f("ck_tasks_leased")
        ),
        sa.CheckConstraint("(state = 'queued') = (queued_at IS NOT NULL)", name=op.f("ck_tasks_queued")),
        sa.CheckConstraint(
            "(state IN ('pending', 'queued', 'processing')) = (finished_at IS NULL)",
            name=op.f("ck_tasks_finished"),
        ),
        sa.CheckConstraint("state <> 'failed' OR error_type IS NOT NULL", name=op.f("ck_tasks_failed")),
        sa.CheckConstraint(
            "state IN ('pending', 'queued', 'processing', 'completed', 'failed', 'cancelled', 'discarded')",
            name=op.f("ck_tasks_state"),
        ),
        sa.CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name=op.f("ck_tasks_attempts")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
    )
    op.create_index(
        "ix_tasks_due",
        "tasks",
        ["queue", "priority", "run_at", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_tasks_failed",
        "tasks",
        ["kind", "error_type", "finished_at"],
        unique=False,
        postgresql_where=sa.text("state = 'failed'"),
    )
    op.create_index(
        "ix_tasks_leased",
        "tasks",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("state = 'processing'"),
    )
    op.create_index(
        "ix_tasks_prunable",
        "tasks",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('completed', 'cancelled', 'discarded')"),
    )
    op.create_index(
        "ix_tasks_queued",
        "tasks",
        ["queue", "sent_at"],
        unique=False,
        postgresql_where=sa.text("state = 'queued'"),
    )
    op.create_index("ix_tasks_subject", "tasks", ["subject", "kind", "created_at"], unique=False)
    op.create_index(
        "uq_tasks_live",
        "tasks",
        ["kind", "subject"],
        unique=True,
        postgresql_where=sa.text("state IN ('pending', 'queued', 'processing')"),
    )
    op.create_table(
        "attempts",
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_detail", sa.Text(), nullable=True),
        sa.Column("traceback", sa.Text(), nullable=True),
        sa.CheckConstraint("(outcome IS NULL) = (finished_at IS NULL)", name=op.f("ck_attempts_outcome")),
        sa.ForeignKeyConstraint(
            ["task_id"], ["tasks.id"], name=op.f("fk_attempts_task_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("task_id", "token", name=op.f("pk_attempts")),
    )
    op.create_table(
        "previews",
        sa.Column("photo_id", sa.Uuid(), nullable=False),
        sa.Column("size", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["photo_id"], ["photos.id"], name=op.f("fk_previews_photo_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("photo_id", "size", name=op.f("pk_previews")),
        sa.UniqueConstraint("key", name=op.f("uq_previews_key")),
    )


def downgrade() -> None:

    op.drop_table("previews")
    op.drop_table("attempts")
    op.drop_index(
        "uq_tasks_live",
        table_name="tasks",
        postgresql_where=sa.text("state IN ('pending', 'queued', 'processing')"),
    )
    op.drop_index("ix_tasks_subject", table_name="tasks")
    op.drop_index("ix_tasks_queued", table_name="tasks", postgresql_where=sa.text("state = 'queued'"))
    op.drop_index(
        "ix_tasks_prunable",
        table_name="tasks",
        postgresql_where=sa.text("state IN ('completed', 'cancelled', 'discarded')"),
    )
    op.drop_index("ix_tasks_leased", table_name="tasks", postgresql_where=sa.text("state = 'processing'"))
    op.drop_index("ix_tasks_failed", table_name="tasks", postgresql_where=sa.text("state = 'failed'"))
    op.drop_index("ix_tasks_due", table_name="tasks", postgresql_where=sa.text("state = 'pending'"))
    op.drop_table("tasks")
    op.drop_table("queues")
    op.drop_index(op.f("ix_photos_owner_created_at_id"), table_name="photos")
    op.drop_table("photos")
    op.drop_table("keys")
    op.drop_index(op.f("ix_events_task_id"), table_name="events")
    op.drop_index(op.f("ix_events_subject_id"), table_name="events")
    op.drop_index("ix_events_of_no_task", table_name="events", postgresql_where=sa.text("task_id IS NULL"))
    op.drop_table("events")
