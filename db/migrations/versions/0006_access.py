"""Keys' last use; sessions and sign-in links; the instance's name"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"

_now = sa.text("clock_timestamp()")
_instant = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.add_column("keys", sa.Column("last_used_at", _instant, nullable=True))
    op.add_column("keys", sa.Column("successor", sa.Text(), nullable=True, comment="id, once it is rotated"))
    for table, columns in {
        "sessions": [sa.Column("used_at", _instant, server_default=_now, nullable=False)],
        "sign_in_links": [],
    }.items():
        op.create_table(
            table,
            sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
            sa.Column("owner", sa.Text(), nullable=False),
            sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
            sa.Column("key_id", sa.Text(), nullable=True, comment="whose end is its end"),
            sa.Column("created_at", _instant, server_default=_now, nullable=False),
            *columns,
            sa.PrimaryKeyConstraint("token_sha256", name=op.f(f"pk_{table}")),
            sa.ForeignKeyConstraint(["key_id"], ["keys.id"], name=op.f(f"fk_{table}_key_id")),
        )
    op.create_table(
        "instance",
        sa.Column("one", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False, comment="tells installations on one host apart"),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_instance")),
        sa.CheckConstraint("one", name=op.f("ck_instance_one")),
    )


def downgrade() -> None:
    op.drop_table("instance")
    op.drop_table("sign_in_links")
    op.drop_table("sessions")
    op.drop_column("keys", "successor")
    op.drop_column("keys", "last_used_at")
