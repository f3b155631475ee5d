"""A key, and what one may grant."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

SCOPES = ("photos:write", "photos:read", "originals:read", "admin")


@dataclass(frozen=True)
class Key:
    """A key as it is seen after authentication: whose it is, and what it may do.

    A session is seen as one too (`api.sessions`): `key_id` is the key that it was begun with, if any.

    Attributes:
        id: names who asks in logs, events and limits.
        state: `live`, `expired` or `revoked`.
    """

    id: str
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = None
    state: str = "live"
    key_id: str | None = None

    def allows(self, scope: str) -> bool:
        """Whether the key has a scope; `admin` has them all."""
        return scope in self.scopes or "admin" in self.scopes


def check_grant(owner: str, scopes: Sequence[str]) -> None:
    """Raises ValueError if that can't be granted: no sound owner, no scope, an unknown scope."""
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown:
        raise ValueError(f"unknown scope {', '.join(unknown)}: there are {', '.join(SCOPES)}")
    if not owner.isprintable():
        raise ValueError("an owner's name has only characters that can be shown")
    if not scopes or not owner.strip():
        raise ValueError("a key needs an owner and at least one scope")


def hash_of(secret: str) -> bytes:
    """What is stored of a secret."""
    # 192 random bits can't be guessed from a fast hash, so a slow one would only cost time.
    return hashlib.sha256(secret.encode()).digest()
