"""API keys: `sl_<id>_<secret>`, of which only a hash is stored."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Row, case, func, insert, literal, select, update

from api.key import Key, check_grant, hash_of
from api.key_cache import KeyCache
from api.last_used import LastUsed
from db.session import Database
from db.tables import keys
from db.transaction import Transaction
from observability.logs import printable

OVERLAP = timedelta(hours=24)
_ID = re.compile(r"[0-9a-f]{12}")
_FORM = re.compile(r"sl_([0-9a-f]{12})_([0-9a-f]{48})")
live = keys.c.revoked_at.is_(None) & (
    keys.c.expires_at.is_(None) | (keys.c.expires_at > func.clock_timestamp())
)
_shown = select(
    keys,
    case((keys.c.revoked_at.is_not(None), "revoked"), (live, "live"), else_="expired").label("state"),
)


class Keys:
    """Creates, lists, rotates, revokes and recognises keys."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cache = KeyCache()
        self._last_used = LastUsed(database, "keys", "id", "last_used_at")

    def create(
        self, owner: str, scopes: Sequence[str], *, expires: datetime | timedelta | None = None
    ) -> str:
        """Make a key and return it; this is the only time that it can be read.

        Args:
            expires: when, or how long from now; never by default.

        Raises:
            ValueError: no owner, no scope, an unknown scope, or a time that isn't to come.
            DatabaseAway
        """
        check_grant(owner, scopes)
        with self._database.transaction() as tx:
            return _insert(tx, secrets.token_hex(6), owner, scopes, expires)

    def authenticate(self, text: str) -> Key | None:
        """The key that `text` is, unless it is unknown, expired or revoked.

        Another process' revocation, and an expiry, are seen `api.key_cache.CACHE_S` seconds later at most.

        Raises:
            DatabaseAway
        """
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        return self._cache.find(text, lambda: self._look_up(form[1], form[2]))

    def used(self, identity: str) -> None:
        """Note that a key is in use; it is written by and by, and never fails."""
        self._last_used.note(identity)

    def list(self) -> list[Key]:
        """All keys, oldest first; without their secrets, which nobody has.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            return [_key(row) for row in tx.execute(_shown.order_by(keys.c.created_at))]

    def get(self, identity: str) -> Key:
        """One key, whatever its state.

        Raises:
            LookupError: there is none of that id.
            DatabaseAway
        """
        with self._database.transaction() as tx:
            row = tx.execute(_shown.where(keys.c.id == identity)).one_or_none()
        if row is None:
            raise LookupError(f"there is no key {identity}")
        return _key(row)

    def revoke(self, identity: str) -> bool:
        """End a key at once; False if there is no key of that id that isn't revoked.

        Raises:
            DatabaseAway
        """
        unrevoked = (keys.c.id == identity) & keys.c.revoked_at.is_(None)
        if not _ID.fullmatch(identity):
            return False
        with self._database.transaction() as tx:
            ended = tx.execute(update(keys).where(unrevoked).values(revoked_at=func.clock_timestamp()))
        self._cache.clear()
        return ended.rowcount == 1

    def live(self, identities: Collection[str]) -> set[str]:
        """Those of the keys that may still be used.

        Raises:
            DatabaseAway
        """
        meant = keys.c.id.in_(list(identities)) & live
        with self._database.statement() as statement:
            return set(statement.execute(select(keys.c.id).where(meant)).scalars())

    def rotate(self, identity: str, *, overlap: timedelta = OVERLAP) -> str:
        """Make a key with the same owner, scopes and lifetime; the old one expires after `overlap`.

        Raises:
            LookupError: there is no live key of that id, or it was rotated before.
            DatabaseAway
        """
        if not _ID.fullmatch(identity):
            raise LookupError(f"there is no live key {printable(identity)}")
        until = func.least(keys.c.expires_at, func.clock_timestamp() + literal(overlap))
        successor, old = secrets.token_hex(6), keys.alias()
        with self._database.transaction() as tx:
            row: Any = tx.execute(
                update(keys)
                .where((keys.c.id == identity) & live & keys.c.successor.is_(None) & (old.c.id == keys.c.id))
                .values(expires_at=until, successor=successor)
                .returning(keys.c.owner, keys.c.scopes, old.c.expires_at - keys.c.created_at)
            ).one_or_none()
            if row is None:
                raise LookupError(f"there is no live key {identity} that wasn't rotated already")
            text = _insert(tx, successor, row[0], row[1], row[2])
        self._cache.clear()
        return text

    def _look_up(self, identity: str, secret: str) -> Key | None:
        with self._database.statement() as statement:
            row = statement.execute(_shown.where((keys.c.id == identity) & live)).one_or_none()
        stored = row.secret_sha256 if row is not None else bytes(32)
        if not hmac.compare_digest(stored, hash_of(secret)) or row is None:
            return None
        return _key(row)


def _insert(
    tx: Transaction, identity: str, owner: str, scopes: Sequence[str], expires: datetime | timedelta | None
) -> str:
    secret = secrets.token_hex(24)
    at = func.clock_timestamp() + literal(expires) if isinstance(expires, timedelta) else expires
    row = {"id": identity, "secret_sha256": hash_of(secret), "owner": owner, "scopes": sorted(set(scopes))}
    too_late = (keys.c.expires_at <= func.clock_timestamp()).is_(True)
    if tx.execute(insert(keys).values(**row, expires_at=at).returning(too_late)).scalar_one():
        raise ValueError("a key can't expire in the past")
    return f"sl_{identity}_{secret}"


def _key(row: Row[Any]) -> Key:
    return Key(
        row.id,
        row.owner,
        tuple(row.scopes),
        row.created_at,
        row.expires_at,
        row.revoked_at,
        row.last_used_at,
        row.state,
        row.id,
    )
