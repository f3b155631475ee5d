"""Keys: made once, recognised, ended."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from api.keys import SCOPES, Keys
from db.session import Database


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
    text = keys.create("anna", ["admin"])
    with database.transaction() as tx:
        tx.execute("UPDATE keys SET expires_at = clock_timestamp() + interval '1 hour'")
    assert keys.authenticate(text) is not None
    with database.transaction() as tx:
        tx.execute("UPDATE keys SET expires_at = clock_timestamp()")
    assert keys.authenticate(text) is None


@pytest.mark.parametrize(
    ("owner", "scopes", "told"),
    [
        ("anna", [], "at least one scope"),
        (" ", ["admin"], "an owner"),
        ("anna", ["root"], "unknown scope root"),
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

    assert runner.invoke(args=["keys", "list"]).output == f"{identity}  anna  photos:read  live\n"
    assert runner.invoke(args=["keys", "revoke", identity]).exit_code == 0
    assert runner.invoke(args=["keys", "list"]).output == f"{identity}  anna  photos:read  revoked\n"
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
