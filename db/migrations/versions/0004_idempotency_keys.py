"""Idempotency keys; and photos are found by when they were taken"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_TAKEN = sa.text("left(exif ->> 'taken_at', 19)")


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "idempotency_keys",
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("holder", sa.Uuid(), nullable=False, comment="the request that uses it"),
        sa.Column(
            "expires_at",
            sa.DateTime(timezone=True),
            nullable=False,
            comment="a lease until there is an answer, then how long it is kept",
        ),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        sa.Column("photo_id", sa.Uuid(), nullable=True, comment="the answer; it outlives the photo"),
        sa.Column("created", sa.Boolean(), nullable=True),
        sa.CheckConstraint(
            "(photo_id IS NULL) = (sha256 IS NULL) AND (photo_id IS NULL) = (created IS NULL)",
            name=op.f("ck_idempotency_keys_answered"),
        ),
        sa.PrimaryKeyConstraint("owner", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_expires_at"), "idempotency_keys", ["expires_at"])
    # Photos can't be written while it is made, about a second for a million of them.
    op.create_index("ix_photos_taken_at", "photos", ["owner", _TAKEN])


def downgrade() -> None:
    op.drop_index("ix_photos_taken_at", table_name="photos")
    op.drop_index(op.f("ix_idempotency_keys_expires_at"), table_name="idempotency_keys")
    op.drop_table("idempotency_keys")
