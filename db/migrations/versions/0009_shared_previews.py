"""Sizes of a preview can be one object: a small photo, which is never enlarged, has the same bytes twice"""

from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    # The sweep looks for a preview by its object. What an interrupted run left is begun anew.
    with op.get_context().autocommit_block():
        op.drop_index("ix_previews_key", "previews", if_exists=True, postgresql_concurrently=True)
        op.create_index("ix_previews_key", "previews", ["key"], postgresql_concurrently=True)
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.execute("ALTER TABLE previews DROP CONSTRAINT IF EXISTS uq_previews_key")


def downgrade() -> None:
    op.create_unique_constraint("uq_previews_key", "previews", ["key"])  # fails if there are any
    op.drop_index("ix_previews_key", "previews")
