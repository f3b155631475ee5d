"""The schema as SQLAlchemy tables; the migrations make it, and a test keeps the two equal."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.types import UserDefinedType


class Xid8(UserDefinedType[str]):
    """PostgreSQL's 64-bit transaction number, which SQLAlchemy has no type for."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "xid8"


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_now = text("clock_timestamp()")
_instant = DateTime(timezone=True)

TASK_STATES = ("pending", "queued", "processing", "completed", "failed", "cancelled", "discarded")
LIVE_STATES = ("pending", "queued", "processing")
PHOTO_STATES = ("processing", "ready", "failed")


def _one_of(column: str, values: tuple[str, ...]) -> str:
    return f"{column} IN ({', '.join(repr(value) for value in values)})"


_live = text(_one_of("state", LIVE_STATES))

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("secret_sha256", LargeBinary, nullable=False),
    Column("owner", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("created_at", _instant, nullable=False, server_default=_now),
    Column("expires_at", _instant),
    Column("revoked_at", _instant),
    Column("last_used_at", _instant),
    Column("successor", Text, comment="id, once it is rotated"),
)


def _signed_in(name: str, *columns: Column[Any]) -> Table:
    """A table of secrets that stand for an owner and scopes, and of which only a hash is stored."""
    return Table(
        name,
        metadata,
        Column("token_sha256", LargeBinary, primary_key=True),
        Column("owner", Text, nullable=False),
        Column("scopes", ARRAY(Text), nullable=False),
        Column("key_id", Text, ForeignKey("keys.id"), comment="whose end is its end"),
        Column("created_at", _instant, nullable=False, server_default=_now),
        *columns,
    )


sessions = _signed_in("sessions", Column("used_at", _instant, nullable=False, server_default=_now))
sign_in_links = _signed_in("sign_in_links")  # a row is there until it is spent

instance = Table(
    "instance",
    metadata,
    Column("one", Boolean, primary_key=True, server_default=text("true")),
    Column("name", Text, nullable=False, comment="tells installations on one host apart"),
    CheckConstraint("one", name="one"),
)

# The camera's local time, to the second: what follows it in the text is a fraction or an offset. As text: all
# of one form, so any collation puts them in the order of time.
TAKEN_AT = text("left(exif ->> 'taken_at', 19)")

photos = Table(
    "photos",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("filename", Text),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("original_key", Text, nullable=False, unique=True),
    Column("width", Integer),
    Column("height", Integer),
    Column("placeholder", LargeBinary),
    Column("warnings", ARRAY(Text), nullable=False, server_default=text("'{}'")),
    Column("exif", JSONB),
    Column("exif_raw", JSONB),
    Column("received_at", _instant, nullable=False, comment="first byte of the upload"),
    Column("created_at", _instant, nullable=False, server_default=_now),
    Column("ready_at", _instant),
    Column("first_ready_at", _instant, comment="since its newest upload; later runs of its tasks leave it"),
    CheckConstraint(_one_of("state", PHOTO_STATES), name="state"),
    CheckConstraint("octet_length(sha256) = 32", name="sha256"),
    CheckConstraint("(state = 'ready') = (ready_at IS NOT NULL)", name="ready_at"),
    UniqueConstraint("owner", "sha256"),
    Index(None, "owner", "created_at", "id"),
    # few of many: without it, looking for them would read all photos of their owner
    Index(
        "ix_photos_not_ready",
        "owner",
        "state",
        "created_at",
        "id",
        postgresql_where=text("state <> 'ready'"),
    ),
    Index("ix_photos_taken_at", "owner", TAKEN_AT),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("owner", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("holder", Uuid, nullable=False, comment="the request that uses it"),
    Column(
        "expires_at",
        _instant,
        nullable=False,
        index=True,
        comment="a lease until there is an answer, then how long it is kept",
    ),
    Column("sha256", LargeBinary),
    Column("photo_id", Uuid, comment="the answer; it outlives the photo"),
    Column("created", Boolean),
    PrimaryKeyConstraint("owner", "key"),
    CheckConstraint(
        "(photo_id IS NULL) = (sha256 IS NULL) AND (photo_id IS NULL) = (created IS NULL)", name="answered"
    ),
)

previews = Table(
    "previews",
    metadata,
    Column("photo_id", Uuid, ForeignKey("photos.id", ondelete="CASCADE"), nullable=False),
    Column("size", Text, nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("media_type", Text, nullable=False),
    Column("size_bytes", Integer, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("key", Text, nullable=False),  # several sizes may have one, if their bytes are the same
    PrimaryKeyConstraint("photo_id", "size"),
    Index(None, "key"),
)

analyses = Table(
    "analyses",
    metadata,
    Column("photo_id", Uuid, ForeignKey("photos.id", ondelete="CASCADE"), primary_key=True),
    Column("run", Uuid, nullable=False, comment="which asking it was that gave the partial data"),
    Column("operation_url", Text, comment="where the service wants this run to be asked for"),
    Column("polls", Integer, nullable=False, server_default=text("0"), comment="answers of this run"),
    Column(
        "partial", JSONB, nullable=False, server_default=text("'{}'"), comment="of this run, until it is done"
    ),
    Column("result", JSONB, comment="of the newest run that was done"),
    Column("completed_at", _instant),
    Column("updated_at", _instant, nullable=False, server_default=_now),
    CheckConstraint("(result IS NULL) = (completed_at IS NULL)", name="completed"),
)

queues = Table(
    "queues",
    metadata,
    Column("name", Text, primary_key=True),
    Column("paused", Boolean, nullable=False, server_default=text("false")),
    Column("rate_per_s", Double, comment="tasks that the relay publishes at most; no bound if null"),
    Column("paced_until", _instant, comment="up to when the rate is used up by what was published"),
    CheckConstraint("rate_per_s > 0", name="rate"),
)

tasks = Table(
    "tasks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("queue", Text, nullable=False),
    Column("subject", Uuid, nullable=False),
    Column("state", Text, nullable=False),
    Column("priority", SmallInteger, nullable=False, server_default=text("0"), comment="lower runs sooner"),
    Column("run_at", _instant, nullable=False, server_default=_now),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("max_attempts", Integer, nullable=False),
    Column("snoozes", Integer, nullable=False, server_default=text("0")),
    Column(
        "polls",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="attempts that found it not yet done",
    ),
    Column("begun_at", _instant, comment="of its first attempt since it was submitted or requeued"),
    Column("token", BigInteger, nullable=False, server_default=text("0"), comment="fence: +1 a claim"),
    Column("dispatch", BigInteger, nullable=False, server_default=text("0"), comment="+1 a message sent"),
    Column("published", BigInteger, comment="the message that first told of it since it was queued last"),
    Column("rerun", Boolean, nullable=False, server_default=text("false")),
    Column("queued_at", _instant),
    Column("sent_at", _instant, comment="when its newest message was sent"),
    Column("lease_until", _instant),
    Column("lease_limit", _instant, comment="no heartbeat extends the lease past it"),
    Column("worker", Text),
    Column("error_type", Text),
    Column("error_detail", Text),
    Column("created_at", _instant, nullable=False, server_default=_now),
    Column("started_at", _instant),
    Column("finished_at", _instant),
    Column("trace_id", Text, comment="of the request that submitted it"),
    Column("batch_id", Uuid, comment="of those that were requeued last with it"),
    CheckConstraint(_one_of("state", TASK_STATES), name="state"),
    CheckConstraint("(state = 'queued') = (queued_at IS NOT NULL)", name="queued"),
    CheckConstraint("(state = 'processing') = (lease_until IS NOT NULL)", name="leased"),
    CheckConstraint(f"({_one_of('state', LIVE_STATES)}) = (finished_at IS NULL)", name="finished"),
    CheckConstraint("state <> 'failed' OR error_type IS NOT NULL", name="failed"),
    CheckConstraint("attempts >= 0 AND attempts <= max_attempts", name="attempts"),
    Index("uq_tasks_live", "kind", "subject", unique=True, postgresql_where=_live),
    Index("ix_tasks_due", "queue", "priority", "run_at", "id", postgresql_where=text("state = 'pending'")),
    Index("ix_tasks_queued", "queue", "sent_at", postgresql_where=text("state = 'queued'")),
    Index("ix_tasks_leased", "lease_until", postgresql_where=text("state = 'processing'")),
    Index("ix_tasks_failed", "kind", "error_type", "finished_at", postgresql_where=text("state = 'failed'")),
    Index(
        "ix_tasks_prunable",
        "finished_at",
        postgresql_where=text("state IN ('completed', 'cancelled', 'discarded')"),
    ),
    Index(
        "ix_tasks_not_completed",
        "state",
        "created_at",
        "id",
        postgresql_where=text("state IN ('failed', 'cancelled', 'discarded')"),
    ),
    Index("ix_tasks_batch", "batch_id", postgresql_where=text("batch_id IS NOT NULL")),
    # few have one: what completes loses it
    Index(
        "ix_tasks_error",
        "error_type",
        "created_at",
        "id",
        postgresql_where=text("error_type IS NOT NULL"),
    ),
    Index("ix_tasks_subject", "subject", "kind", "created_at"),
    Index(None, "created_at", "id"),
)

attempts = Table(
    "attempts",
    metadata,
    Column("task_id", Uuid, ForeignKey("tasks.id", ondelete="CASCADE"), nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("worker", Text, nullable=False),
    Column("started_at", _instant, nullable=False),
    Column("finished_at", _instant),
    Column("outcome", Text),
    Column("error_type", Text),
    Column("error_detail", Text),
    Column("traceback", Text),
    PrimaryKeyConstraint("task_id", "token"),
    CheckConstraint("(outcome IS NULL) = (finished_at IS NULL)", name="outcome"),
)

events = Table(
    "events",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    # Readers go by (xid, id) below the oldest running transaction, so that an event whose
    # transaction commits late is never skipped.
    Column("xid", Xid8, nullable=False, server_default=text("pg_current_xact_id()")),
    Column("type", Text, nullable=False),
    Column("subject", Uuid, nullable=False),
    Column("task_id", Uuid),
    Column("kind", Text),
    Column("data", JSONB, nullable=False, server_default=text("'{}'")),
    Column("created_at", _instant, nullable=False, server_default=_now),
    Index(None, "subject", "id"),
    Index(None, "xid", "id"),
    Index(None, "task_id"),
    Index("ix_events_of_no_task", "created_at", postgresql_where=text("task_id IS NULL")),
)
