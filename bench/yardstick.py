"""Empties what `bench/yardstick.json` starts Safelight on, and makes the key that it names.

That file is for load generators of others that read such a description of a service. The key in it is no
secret: use it with servers of your own on 127.0.0.1 alone.
"""

from __future__ import annotations

import argparse
import json
import shutil
from contextlib import closing
from pathlib import Path

import redis
from sqlalchemy import insert

from api.key import hash_of
from db.migrate import upgrade
from db.session import Database
from db.tables import keys

ADAPTER = Path(__file__).parent / "yardstick.json"


def main() -> None:
    """Empty the database, Redis and the store; give the key its rights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--redis-url", required=True)
    parser.add_argument("--store", required=True, type=Path, help="the folder that photos are kept in")
    arguments = parser.parse_args()
    prepare(arguments.database_url, arguments.redis_url, arguments.store)


def prepare(database_url: str, redis_url: str, store: Path) -> None:
    """Do so; the database keeps nothing that it had."""
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir(parents=True)
    redis.Redis.from_url(redis_url).flushdb()
    with closing(Database(database_url, pool_size=1)) as database:
        with database.transaction() as tx:
            tx.execute("DROP SCHEMA public CASCADE")
            tx.execute("CREATE SCHEMA public")
        upgrade(database_url)
        _, identity, secret = key().split("_")
        row = {"id": identity, "secret_sha256": hash_of(secret), "owner": "bench"}
        with database.transaction() as tx:
            tx.execute(insert(keys).values(**row, scopes=["photos:read", "photos:write"]))


def key() -> str:
    """The key that the adapter sends."""
    headers = json.loads(ADAPTER.read_text())["headers"]
    return str(headers["Authorization"]).removeprefix("Bearer ")


if __name__ == "__main__":
    main()
