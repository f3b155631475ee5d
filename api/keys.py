"""API keys: `sl_<id>_<secret>`, of which only a hash is stored."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, func, insert, select, update

from db.session import Database
from db.tables import keys

SCOPES = ("photos:write", "photos:read", "originals:read", "admin")
_FORM = re.compile(r"sl_([0-9a-f]{12})_([0-9a-f]{48})")


@dataclass(frozen=True)
class Key:
    """A key as it is seen after authentication: whose it is, and what it may do."""

    id: str
    owner: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None

    def allows(self, scope: str) -> bool:
        """Whether the key has a scope; `admin` has them all."""
        return scope in self.scopes or "admin" in self.scopes


class Keys:
    """Creates, lists, revokes and recognises keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, owner: str, scopes: Sequence[str]) -> str:
        """Make a key and return it; this is the only time that it can be read.

        Raises:
            ValueError: no owner, no scope or an unknown scope.
            DatabaseAway
        """
        unknown = sorted(set(scopes) - set(SCOPES))
        if unknown or not scopes or not owner.strip():
            raise ValueError(
                f"unknown scope {', '.join(unknown)}: there are {', '.join(SCOPES)}"
                if unknown
                else "a key needs an owner and at least one scope"
            )
        identity, secret = secrets.token_hex(6), secrets.token_hex(24)
        row = {"id": identity, "secret_sha256": _hash(secret), "owner": owner, "scopes": sorted(set(scopes))}
        with self._database.transaction() as tx:
            tx.execute(insert(keys).values(row))
        return f"sl_{identity}_{secret}"

    def authenticate(self, text: str) -> Key | None:
        """The key that `text` is, unless it is unknown, expired or revoked.

        Raises:
            DatabaseAway
        """
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        with self._database.transaction() as tx:
            row = tx.execute(select(keys).where(keys.c.id == form[1], _usable())).one_or_none()
        stored = row.secret_sha256 if row is not None else bytes(32)
        if not hmac.compare_digest(stored, _hash(form[2])) or row is None:
            return None
        return _key(row)

    def list(self) -> list[Key]:
        """All keys, oldest first; without their secrets, which nobody has.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return [_key(row) for row in tx.execute(select(keys).order_by(keys.c.created_at))]

    def revoke(self, identity: str) -> bool:
        """End a key at once; False if there is no live key of that id.

        Raises:
            DatabaseAway
        """
        live = (keys.c.id == identity) & keys.c.revoked_at.is_(None)
        with self._database.transaction() as tx:
            ended = tx.execute(update(keys).where(live).values(revoked_at=func.clock_timestamp()))
        return ended.rowcount == 1

    def live(self, identities: Collection[str]) -> set[str]:
        """Those of the keys that may still be used.

        Raises:
            DatabaseAway
        """
        meant = keys.c.id.in_(list(identities)) & _usable()
        with self._database.transaction() as tx:
            return set(tx.execute(select(keys.c.id).where(meant)).scalars())


def _usable() -> ColumnElement[bool]:
    return keys.c.revoked_at.is_(None) & (
        keys.c.expires_at.is_(None) | (keys.c.expires_at > func.clock_timestamp())
    )


def _hash(secret: str) -> bytes:
    # 192 random bits can't be guessed from a fast hash, so a slow one would only cost time.
    return hashlib.sha256(secret.encode()).digest()


def _key(row: Row[Any]) -> Key:
    return Key(row.id, row.owner, tuple(row.scopes), row.created_at, row.expires_at, row.revoked_at)
