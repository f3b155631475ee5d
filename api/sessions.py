"""Sessions of the console, and the links that begin one: rows that know only a hash of their secret."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import ColumnElement, Table, delete, exists, func, insert, literal, or_, select
from sqlalchemy.dialects.postgresql import insert as upsert

from api.key import Key, check_grant, hash_of
from api.keys import live
from api.last_used import LastUsed
from db.session import Database
from db.tables import instance, keys, sessions, sign_in_links
from db.transaction import Transaction

IDLE = timedelta(hours=12)
LONGEST = timedelta(days=7)
LINK_LIFE = timedelta(minutes=10)
_NAME = "session-"


def _lives(table: Table, life: timedelta) -> ColumnElement[bool]:
    """Of a row: it is young enough, and the key that it was made with, if any, is live."""
    of_live_key = exists().where((keys.c.id == table.c.key_id) & live)
    return (table.c.created_at > func.clock_timestamp() - literal(life)) & or_(
        table.c.key_id.is_(None), of_live_key
    )


_session_lives = _lives(sessions, LONGEST) & (sessions.c.used_at > func.clock_timestamp() - literal(IDLE))
_link_lives = _lives(sign_in_links, LINK_LIFE)


class Sessions:
    """Begins, recognises and ends sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_used = LastUsed(database, "sessions", "token_sha256", "used_at")
        self._cookie_name: str | None = None

    def cookie_name(self) -> str:
        """`safelight_` and 8 hexadecimal digits of this installation's own: cookies don't know ports.

        Raises:
            DatabaseAway
        """
        if self._cookie_name is None:
            with self._database.transaction() as tx:
                tx.execute(upsert(instance).values(name=secrets.token_hex(4)).on_conflict_do_nothing())
                self._cookie_name = f"safelight_{tx.execute(select(instance.c.name)).scalar_one()}"
        return self._cookie_name

    def begin(self, key: Key) -> str:
        """Begin a session with a key's owner and scopes; it ends with the key. Returns its secret.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            tx.execute(delete(sessions).where(~_session_lives))
            return _insert(tx, sessions, key.owner, key.scopes, key.key_id)

    def find(self, secret: str) -> Key | None:
        """Whose session that is, as the key that it stands for; None if it is over.

        Raises:
            DatabaseAway
        """
        token = hash_of(secret)
        found = select(sessions).where((sessions.c.token_sha256 == token) & _session_lives)
        with self._database.statement() as statement:
            row = statement.execute(found).one_or_none()
        if row is None:
            return None
        self._last_used.note(token)
        name = f"{_NAME}{token.hex()[:8]}"
        ends_at = row.created_at + LONGEST
        return Key(name, row.owner, tuple(row.scopes), row.created_at, ends_at, None, key_id=row.key_id)

    def live(self, names: Collection[str]) -> set[str]:
        """Those of the names of sessions (`Key.id`) that aren't over.

        Raises:
            DatabaseAway
        """
        name = _NAME + func.encode(func.substring(sessions.c.token_sha256, 1, 4), "hex")
        with self._database.statement() as statement:
            found = select(name).where(name.in_(list(names)) & _session_lives)
            return set(statement.execute(found).scalars())

    def end(self, secret: str) -> None:
        """End a session, if there is one.

        Raises:
            DatabaseAway
        """
        with self._database.transaction() as tx:
            tx.execute(delete(sessions).where(sessions.c.token_sha256 == hash_of(secret)))

    def make_link(self, owner: str, scopes: Sequence[str], *, key_id: str | None = None) -> str:
        """Make a link's secret, good for 10 minutes and one session.

        Args:
            key_id: the key with whose end link and session end.

        Raises:
            ValueError: no owner, no scope or an unknown scope.
            DatabaseAway
        """
        check_grant(owner, scopes)
        with self._database.transaction() as tx:
            tx.execute(delete(sign_in_links).where(~_link_lives))
            return _insert(tx, sign_in_links, owner, sorted(set(scopes)), key_id)

    def spend(self, link: str) -> str | None:
        """Begin the session that a link is for and return its secret; None if the link is spent or too old.

        Raises:
            DatabaseAway
        """
        spent = (sign_in_links.c.token_sha256 == hash_of(link)) & _link_lives
        with self._database.transaction() as tx:
            row = tx.execute(delete(sign_in_links).where(spent).returning(sign_in_links)).one_or_none()
            return row and _insert(tx, sessions, row.owner, row.scopes, row.key_id)


def _insert(tx: Transaction, table: Table, owner: str, scopes: Sequence[str], key_id: str | None) -> str:
    secret = secrets.token_hex(32)
    row = {"token_sha256": hash_of(secret), "owner": owner, "scopes": list(scopes), "key_id": key_id}
    tx.execute(insert(table).values(**row))
    return secret
