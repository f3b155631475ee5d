"""The servers that the tests are given."""

from __future__ import annotations

import psycopg2
import redis


def test_the_database_is_this_test_processes_own(database_url: str, worker_number: int) -> None:
    connection = psycopg2.connect(database_url)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_database()")
        assert cursor.fetchone() == (f"test_{worker_number}",)
    connection.close()


def test_redis_is_empty_at_first(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")


def test_redis_is_empty_at_first_again(redis_url: str) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("left", "over")
