"""Opaque cursors over (created_at, id), and the `Link` to the next page (RFC 8288)."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from uuid import UUID

from api.errors import Problem

# The header's documentation.
NEXT = {"Link": {"description": 'rel="next": the next page, if there is one', "schema": {"type": "string"}}}


def cursor_of(position: tuple[datetime, UUID] | None) -> str | None:
    """A position as text for a URL; None stays None."""
    if position is None:
        return None
    created_at, identity = position
    return base64.urlsafe_b64encode(f"{created_at.isoformat()} {identity}".encode()).decode().rstrip("=")


def position_of(cursor: str | None) -> tuple[datetime, UUID] | None:
    """A cursor's position.

    Raises:
        Problem: this isn't a cursor that we handed out.
    """
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        created_at, _, identity = text.partition(" ")
        return datetime.fromisoformat(created_at).astimezone(UTC), UUID(identity)
    except (ValueError, OverflowError) as error:
        raise Problem(400, "bad-cursor", "take the cursor from the answer before, unchanged") from error
