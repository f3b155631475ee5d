"""Keys: made once, recognised, ended."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import Result
from flask import Flask

from api.key import SCOPES, Key
from api.key_cache import KeyCache
from api.keys import Keys
from db.session import Database
from embedded.ports import any_free_port
from tests.waiting import until

UNKNOWN = "sl_0123456789ab_" + "0" * 48


@pytest.fixture
def keys(database: Database) -> Keys:
    """Over an empty database."""
    return Keys(database)


def test_a_key_is_recognised_with_its_owner_and_scopes(keys: Keys) -> None:
    key = keys.authenticate(keys.create("anna", ["photos:read", "photos:write", "photos:read"]))
    assert key is not None
    assert (key.owner, key.scopes) == ("anna", ("photos:read", "photos:write"))
    assert key.allows("photos:read")
    assert not key.allows("originals:read")


def test_an_admins_key_has_every_scope(keys: Keys) -> None:
    key = keys.authenticate(keys.create("anna", ["admin"]))
    assert key is not None
    assert all(key.allows(scope) for scope in SCOPES)


def test_no_part_of_a_secret_is_stored(keys: Keys, database: Database) -> None:
    secret = keys.create("anna", ["admin"]).rpartition("_")[2]
    with database.transaction() as tx:
        row = tx.execute("SELECT keys::text, secret_sha256 FROM keys").one()
    assert secret not in row.keys
    assert secret.encode() not in bytes(row.secret_sha256)


def test_a_key_with_another_secret_or_form_is_none(keys: Keys) -> None:
    text = keys.create("anna", ["admin"])
    other = keys.create("bert", ["admin"])
    swapped = text.rpartition("_")[0] + "_" + other.rpartition("_")[2]
    for wrong in (swapped, text[:-1], text + "\n", text.upper(), f" {text}", "", "\0", "sl__"):
        assert keys.authenticate(wrong) is None


def test_a_revoked_key_is_none_at_once_and_is_revoked_only_once(keys: Keys) -> None:
    text = keys.create("anna", ["admin"])
    identity = text.split("_")[1]
    assert keys.revoke(identity)
    assert keys.authenticate(text) is None
    assert not keys.revoke(identity)
    assert not keys.revoke("unknown")


def test_an_expired_key_is_none(keys: Keys, database: Database) -> None:
    text = keys.create("anna", ["admin"], expires=timedelta(hours=1))
    assert keys.authenticate(text) is not None
    with database.transaction() as tx:
        tx.execute("UPDATE keys SET expires_at = clock_timestamp()")
    assert Keys(database).authenticate(text) is None
    assert [key.state for key in keys.list()] == ["expired"]


@pytest.mark.parametrize("expires", [timedelta(), timedelta(days=-1), datetime(2020, 1, 1, tzinfo=UTC)])
def test_no_key_is_made_that_has_expired(keys: Keys, expires: timedelta | datetime) -> None:
    with pytest.raises(ValueError, match="in the past"):
        keys.create("anna", ["admin"], expires=expires)
    assert keys.list() == []


def test_another_process_revocation_is_seen_when_the_cache_has_gone(
    keys: Keys, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = keys.create("anna", ["admin"])
    monkeypatch.setattr("api.key_cache.CACHE_S", 0.3)
    here = Keys(database)
    assert here.authenticate(text) is not None
    assert keys.revoke(text.split("_")[1])
    until(lambda: here.authenticate(text) is None, timeout_s=5)


def test_a_known_key_is_not_asked_for_again_and_a_wrong_one_neither(
    keys: Keys, database: Database, migrated_url: str
) -> None:
    text = keys.create("anna", ["admin"])
    here = Database(migrated_url, application_name="counted")
    asked = Keys(here)
    first = [asked.authenticate(text), asked.authenticate(UNKNOWN)]
    here.close()
    with database.transaction() as tx:
        tx.execute("ALTER TABLE keys RENAME TO hidden")
    try:
        assert [asked.authenticate(text), asked.authenticate(UNKNOWN)] == first
    finally:
        with database.transaction() as tx:
            tx.execute("ALTER TABLE hidden RENAME TO keys")


def test_wrong_keys_take_up_a_bounded_place_and_push_out_no_right_one() -> None:
    cache = KeyCache()
    key = Key("1", "anna", ("admin",), datetime.now(UTC), None, None)
    assert cache.find("right", lambda: key) is key
    for number in range(5_000):
        assert cache.find(f"wrong {number}", lambda: None) is None
    assert cache.find("right", lambda: None) is key
    assert len(cache._unknown) <= 1_000


def test_a_key_revoked_while_it_is_looked_up_is_not_kept() -> None:
    cache = KeyCache()
    key = Key("1", "anna", ("admin",), datetime.now(UTC), None, None)

    def look_up() -> Key:
        cache.clear()
        return key

    assert cache.find("a key", look_up) is key
    assert cache.find("a key", lambda: None) is None


def test_its_last_use_is_written_once_a_minute(keys: Keys, database: Database) -> None:
    identity = keys.create("anna", ["admin"]).split("_")[1]
    assert keys.get(identity).last_used_at is None
    keys.used(identity)
    until(lambda: keys.get(identity).last_used_at is not None)
    used_at = keys.get(identity).last_used_at
    other = Keys(database)  # of another process
    other.used(identity)
    until(lambda: not other._last_used._writing)
    assert keys.get(identity).last_used_at == used_at


def test_a_last_use_that_cannot_be_written_fails_nobody(caplog: pytest.LogCaptureFixture) -> None:
    away = Keys(Database(f"postgresql://nobody@127.0.0.1:{any_free_port()}/none"))
    for identity in ("0123456789ab", "another"):
        away.used(identity)
        until(lambda: not away._last_used._writing)
    assert caplog.text.count("writing keys.last_used_at fails") == 1


def test_rotation_overlaps(keys: Keys, database: Database) -> None:
    old = keys.create("anna", ["photos:read", "photos:write"], expires=timedelta(days=90))
    identity = old.split("_")[1]
    new = keys.rotate(identity, overlap=timedelta(hours=1))
    was, now = keys.authenticate(old), keys.authenticate(new)
    assert was is not None
    assert was.expires_at is not None
    assert now is not None
    assert now.expires_at is not None
    assert (now.owner, now.scopes) == (was.owner, was.scopes)
    assert timedelta(minutes=59) < was.expires_at - now.created_at <= timedelta(hours=1)
    assert timedelta(days=89, hours=23) < now.expires_at - now.created_at < timedelta(days=90, seconds=1)


def test_rotation_makes_no_key_last_longer(keys: Keys) -> None:
    old = keys.create("anna", ["admin"], expires=timedelta(hours=1))
    keys.rotate(old.split("_")[1], overlap=timedelta(hours=24))
    was = keys.authenticate(old)
    assert was is not None
    assert was.expires_at is not None
    # two looks at the clock, a microsecond apart at times
    assert abs(was.expires_at - was.created_at - timedelta(hours=1)) < timedelta(seconds=1)


def test_a_key_is_rotated_once_however_many_ask(keys: Keys) -> None:
    identity = keys.create("anna", ["admin"]).split("_")[1]

    def rotate() -> str | None:
        try:
            return keys.rotate(identity)
        except LookupError:
            return None

    with ThreadPoolExecutor(8) as pool:
        made = [each.result() for each in [pool.submit(rotate) for _ in range(8)]]
    assert sum(text is not None for text in made) == 1
    assert len(keys.list()) == 2


def test_rotation_without_overlap_ends_the_old_key_at_once(keys: Keys) -> None:
    old = keys.create("anna", ["admin"])
    new = keys.rotate(old.split("_")[1], overlap=timedelta())
    assert keys.authenticate(old) is None
    now = keys.authenticate(new)
    assert now is not None
    assert now.expires_at is None
    with pytest.raises(LookupError, match="no live key"):
        keys.rotate(old.split("_")[1])


@pytest.mark.parametrize(
    ("owner", "scopes", "told"),
    [
        ("anna", [], "at least one scope"),
        (" ", ["admin"], "an owner"),
        ("anna", ["root"], "unknown scope root"),
        ("an\nna", ["admin"], "can be shown"),
        ("\0", ["admin"], "can be shown"),
    ],
)
def test_a_key_needs_an_owner_and_known_scopes(keys: Keys, owner: str, scopes: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        keys.create(owner, scopes)


def test_the_commands_create_list_and_revoke(app: Flask, keys: Keys) -> None:
    runner = app.test_cli_runner()
    made = runner.invoke(args=["keys", "create", "--owner", "anna", "--scope", "photos:read"])
    text = made.output.strip()
    assert re.fullmatch(r"sl_[0-9a-f]{12}_[0-9a-f]{48}", text)
    identity = text.split("_")[1]

    shown = f"{identity}  anna  photos:read"
    assert runner.invoke(args=["keys", "list"]).output == f"{shown}  live  never used\n"
    assert runner.invoke(args=["keys", "revoke", identity]).exit_code == 0
    assert runner.invoke(args=["keys", "list"]).output == f"{shown}  revoked  never used\n"
    again = runner.invoke(args=["keys", "revoke", identity])
    assert (again.exit_code, again.output) == (1, f"Error: there is no live key {identity}\n")
    assert keys.authenticate(text) is None


@pytest.mark.parametrize(
    "arguments", [["--owner", " ", "--scope", "admin"], ["--owner", "a", "--scope", "x"]]
)
def test_a_wrong_command_is_told_without_a_traceback(app: Flask, arguments: list[str]) -> None:
    result = app.test_cli_runner().invoke(args=["keys", "create", *arguments])
    assert result.exit_code != 0
    assert isinstance(result.exception, SystemExit)
    assert "Error: " in result.output


def test_the_commands_rotate_and_tell_when_a_key_expires(app: Flask, keys: Keys) -> None:
    def run(*arguments: str) -> Result:
        return app.test_cli_runner().invoke(args=["keys", *arguments])

    create = ("create", "--owner", "anna", "--scope", "photos:read", "--expires-in")
    old = run(*create, "90d").output.strip()
    identity = old.split("_")[1]
    assert run("list").output == f"{identity}  anna  photos:read  live, expires in 89 d  never used\n"
    new = run("rotate", identity, "--overlap", "2h").output.strip()
    assert keys.authenticate(new) is not None
    assert "live, expires in 1 h" in run("list").output.splitlines()[0]
    again = run("rotate", identity)
    assert (again.exit_code, again.output) == (
        1,
        f"Error: there is no live key {identity} that wasn't rotated already\n",
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("soon", "'soon' is neither a duration (90d) nor a date"),
        ("90", "'90' is neither a duration"),
        ("2020-01-01", "a key can't expire in the past"),
        ("0", "a key can't expire in the past"),
    ],
)
def test_a_wrong_expiry_is_told_in_a_line(app: Flask, given: str, told: str) -> None:
    arguments = ["keys", "create", "--owner", "anna", "--scope", "admin", "--expires-in", given]
    result = app.test_cli_runner().invoke(args=arguments)
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output
