"""Idempotency keys: an upload that is sent again gets the answer of the first, and does nothing.

A key is reserved before its upload's body is read, under a lease that its request renews while the body
comes, and answered in the transaction that makes the photo. So a request that dies gives its key up.
"""

from __future__ import annotations

import logging
import time
from uuid import uuid4

from db.session import Database
from db.transaction import DatabaseAway, Transaction
from photos.errors import KeyInUse, KeyReused
from photos.photo import Accepted

logger = logging.getLogger(__name__)

KEPT_S = 86_400.0
# Longer than two pieces of a body may take (api.patience): the renewal of one may fail.
LEASE_S = 300.0
_RENEWED_AFTER_S = 20.0

_RESERVE = """
INSERT INTO idempotency_keys (owner, key, holder, expires_at)
VALUES (:owner, :key, :holder, clock_timestamp() + make_interval(secs => :lease_s))
ON CONFLICT (owner, key) DO UPDATE
SET holder = excluded.holder, expires_at = excluded.expires_at, sha256 = NULL, photo_id = NULL, created = NULL
WHERE idempotency_keys.expires_at < clock_timestamp()
RETURNING holder
"""
_READ = "SELECT sha256, photo_id, created FROM idempotency_keys WHERE owner = :owner AND key = :key"
_MINE = "owner = :owner AND key = :key AND holder = :holder AND photo_id IS NULL"
_RENEW = f"""
UPDATE idempotency_keys SET expires_at = clock_timestamp() + make_interval(secs => :lease_s) WHERE {_MINE}
"""  # noqa: S608 - constants
_ANSWER = f"""
UPDATE idempotency_keys
SET expires_at = clock_timestamp() + make_interval(secs => :kept_s), sha256 = :sha256, photo_id = :photo_id,
    created = :created
WHERE {_MINE}
"""  # noqa: S608 - constants
_RELEASE = f"DELETE FROM idempotency_keys WHERE {_MINE}"  # noqa: S608 - constants
PRUNE = "DELETE FROM idempotency_keys WHERE expires_at < clock_timestamp()"


class Reservation:
    """One request's hold on a key; `earlier` and `sha256` are those of the answer that it has already."""

    def __init__(self, database: Database, *, owner: str, key: str) -> None:
        self.earlier: Accepted | None = None
        self._sha256 = b""
        self._database = database
        self._names = {"owner": owner, "key": key}
        self._mine = {**self._names, "holder": uuid4()}
        self._renewed_s = time.monotonic()
        self._reserve()

    def _reserve(self) -> None:
        while True:
            with self._database.transaction() as tx:
                if tx.execute(_RESERVE, {**self._mine, "lease_s": LEASE_S}).one_or_none():
                    return
                found = tx.execute(_READ, self._names).one_or_none()
            if found is None:
                continue  # it was given up between the two statements
            if found.photo_id is None:
                raise KeyInUse("the first request with this Idempotency-Key isn't answered yet")
            self.earlier, self._sha256 = Accepted(found.photo_id, created=found.created), bytes(found.sha256)
            return

    def answered(self, sha256: bytes) -> Accepted | None:
        """What this key's first upload became, if there was one.

        Raises:
            KeyReused: that one had other bytes.
        """
        if self.earlier is not None and self._sha256 != sha256:
            raise KeyReused("this Idempotency-Key was used for another file; give each upload its own")
        return self.earlier

    def answer(self, tx: Transaction, sha256: bytes, accepted: Accepted) -> None:
        """Keep the answer, in the transaction that it is about.

        Raises:
            KeyInUse: another request has taken the key over.
        """
        answer = {"sha256": sha256, "photo_id": accepted.id, "created": accepted.created}
        if tx.execute(_ANSWER, {**self._mine, **answer, "kept_s": KEPT_S}).rowcount != 1:
            raise KeyInUse("this upload stood still for so long that another request took over its key")

    def renew(self) -> None:
        """Say that the request goes on; to be called while its body comes, as often as one likes."""
        if self.earlier is not None or time.monotonic() - self._renewed_s < _RENEWED_AFTER_S:
            return
        self._renewed_s = time.monotonic()
        try:
            with self._database.statement() as tx:
                tx.execute(_RENEW, {**self._mine, "lease_s": LEASE_S})
        except DatabaseAway as error:
            logger.warning("an idempotency key's lease isn't renewed: %s", error)

    def release(self) -> None:
        """Give the key up, unless it has its answer; if the database is away, its lease ends by itself."""
        if self.earlier is not None:
            return
        try:
            with self._database.statement() as tx:
                tx.execute(_RELEASE, self._mine)
        except DatabaseAway as error:
            logger.warning("an idempotency key stays reserved for a while: %s", error)
