"""Given a backup, when it is restored into an empty installation, then that is the same."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from flask import Flask

from app import create_app
from config import Settings
from db.migrate import upgrade
from db.session import Database
from db.tables import metadata
from photos.feed import Feed, Position
from tests import servers
from tests.cli.test_commands import run
from tests.hand import Hand
from tests.http import Client
from tests.pictures import jpeg
from tests.waiting import until

Auth = Callable[..., dict[str, str]]
SIGNED_IN = ("sessions", "sign_in_links")


@pytest.fixture
def other(settings: Settings, server_addresses: servers.Addresses, tmp_path: Path) -> Iterator[Flask]:
    """Another installation: an empty database without a schema, and an empty store."""
    url = servers.own_database(server_addresses.postgres_url, f"restored_{uuid4().hex}")
    store = (tmp_path / "other-store").as_uri()
    app = create_app(replace(settings, database_url=url, storage_url=store))
    app.extensions["url"] = url
    yield app
    app.extensions["safelight.hub"].stop()


@pytest.fixture
def photo_ids(client: Client, auth: Auth, hand: Hand) -> list[str]:
    """A photo that is ready, one that failed, one that waits."""
    key = auth("Zoë \\N \\.")
    ids = [str(client.post("/v1/photos", data=jpeg(seed=seed), headers=key).json["id"]) for seed in range(3)]
    hand.finish(ids[0])
    hand.fail(ids[1], "exif", error_type="corrupt-image", detail='it "broke"\n\tin two\\lines')
    return ids


def rows(database_url: str) -> dict[str, list[Any]]:
    """All rows but those of who is signed in; events without the numbers of transactions."""
    database = Database(database_url)
    found = {}
    with database.transaction() as tx:
        for table in metadata.sorted_tables:
            if table.name not in SIGNED_IN:
                columns = [column for column in table.c if column.name != "xid"]
                query = table.select().with_only_columns(*columns).order_by(*table.primary_key)
                found[table.name] = [tuple(row) for row in tx.execute(query)]
    database.close()
    return found


def files(folder: Path) -> dict[str, bytes]:
    """A store's objects."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_restored_is_what_was_backed_up(
    app: Flask, other: Flask, photo_ids: list[str], settings: Settings, tmp_path: Path
) -> None:
    made = run(app, "backup", str(tmp_path / "backup"))
    assert made.exit_code == 0, made.output
    assert "3 photos, 6 tasks, 5 objects copied, 0 bad" in made.output

    restored = run(other, "restore", str(tmp_path / "backup"))
    assert restored.exit_code == 0, restored.output
    assert "5 objects copied, 0 bad" in restored.output
    assert rows(other.extensions["url"]) == rows(settings.database_url)
    assert len(rows(settings.database_url)["events"]) > 10
    assert files(tmp_path / "other-store") == files(tmp_path / "store")


def test_a_restored_installation_goes_on(
    app: Flask, other: Flask, photo_ids: list[str], auth: Auth, database: Database, tmp_path: Path
) -> None:
    with database.transaction() as tx:  # of a server that has seen far more than the new one
        tx.execute("UPDATE events SET xid = CAST(CAST(id + 4000000000000 AS text) AS xid8)")
        events = tx.execute("SELECT count(*) FROM events").scalar_one()
    key = auth("anna")
    assert run(app, "backup", str(tmp_path / "backup")).exit_code == 0
    assert run(other, "restore", str(tmp_path / "backup")).exit_code == 0

    feed = Feed(Database(other.extensions["url"]))
    begun = feed.horizon()
    assert len(feed.after(Position(0, 0), limit=1_000).events) == events
    assert Client(other).post("/v1/photos", data=jpeg(seed=9), headers=key).status == 202

    def told() -> set[str]:
        return {event.type for event in feed.after(begun.mark.position, limit=100).events}

    # The events of an open transaction come first, and another test may have one on the same server.
    until(lambda: "photo-accepted" in told())


def test_a_second_backup_copies_what_is_new_and_either_can_be_restored(
    app: Flask, other: Flask, photo_ids: list[str], client: Client, auth: Auth, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    assert run(app, "backup", str(folder)).exit_code == 0
    [first] = [path.name for path in folder.glob("2*")]
    client.post("/v1/photos", data=jpeg(seed=5), headers=auth())
    second = run(app, "backup", str(folder))
    assert "4 photos, 8 tasks, 1 objects copied, 0 bad" in second.output
    restored = run(other, "restore", str(folder), "--name", first)
    assert restored.exit_code == 0, restored.output
    assert len(rows(other.extensions["url"])["photos"]) == 3


def test_a_missing_and_a_damaged_object_are_told_and_the_rest_is_kept(
    app: Flask, photo_ids: list[str], tmp_path: Path
) -> None:
    damaged, missing, *_ = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    missing.unlink()
    made = run(app, "backup", str(tmp_path / "backup"))
    assert made.exit_code == 1
    assert "3 objects copied, 2 bad" in made.output
    assert all(path.name in made.output for path in (damaged, missing))
    assert len(files(tmp_path / "backup" / "objects")) == 3


def test_nothing_is_restored_over_rows(app: Flask, photo_ids: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    assert run(app, "backup", str(folder)).exit_code == 0
    before = files(tmp_path / "store")
    for kept in (folder / "objects").rglob("*"):
        if kept.is_file():
            kept.write_bytes(b"damaged")
    refused = run(app, "restore", str(folder))
    assert refused.exit_code == 1
    assert "the database isn't empty" in refused.output
    assert files(tmp_path / "store") == before


def test_a_damaged_object_is_told_and_never_put_in_a_good_ones_place(
    app: Flask, other: Flask, photo_ids: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    assert run(app, "backup", str(folder)).exit_code == 0
    one, two, *_ = sorted(path for path in (folder / "objects").rglob("*") if path.is_file())
    good = one.read_bytes()
    for kept in (one, two):
        kept.write_bytes(bytes(len(kept.read_bytes())))  # as long as it was
    there = tmp_path / "other-store" / one.relative_to(folder / "objects")
    there.parent.mkdir(parents=True)
    there.write_bytes(good)
    restored = run(other, "restore", str(folder))
    assert restored.exit_code == 1
    assert "3 objects copied, 1 bad" in restored.output
    assert there.read_bytes() == good
    assert two.name in restored.output
    assert not list((tmp_path / "other-store").rglob(two.name))


def test_a_backup_that_is_checked_is_mended(app: Flask, photo_ids: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    assert run(app, "backup", str(folder)).exit_code == 0
    kept = next(path for path in (folder / "objects").rglob("*") if path.is_file())
    good = kept.read_bytes()
    kept.write_bytes(bytes(len(good)))
    assert "0 objects copied, 0 bad" in run(app, "backup", str(folder)).output
    assert "1 objects copied, 0 bad" in run(app, "backup", "--check", str(folder)).output
    assert kept.read_bytes() == good
    assert folder.stat().st_mode & 0o077 == 0


def test_what_was_deleted_since_does_not_come_back_with_a_restore(
    app: Flask, other: Flask, photo_ids: list[str], client: Client, auth: Auth, tmp_path: Path
) -> None:
    folder = tmp_path / "backup"
    key = auth("berta")
    gone = client.post("/v1/photos", data=jpeg(seed=77), headers=key).json["id"]
    assert run(app, "backup", str(folder)).exit_code == 0
    assert client.ask("DELETE", f"/v1/photos/{gone}", headers=key).status == 204
    assert run(app, "backup", str(folder)).exit_code == 0
    assert len(files(folder / "objects")) == 6
    assert "5 objects copied, 0 bad" in run(other, "restore", str(folder)).output


def test_an_empty_database_of_another_revision_gets_the_backups(
    app: Flask, other: Flask, photo_ids: list[str], settings: Settings, tmp_path: Path
) -> None:
    assert run(app, "backup", str(tmp_path / "backup")).exit_code == 0
    upgrade(other.extensions["url"], "0005")
    assert run(other, "restore", str(tmp_path / "backup")).exit_code == 0
    assert rows(other.extensions["url"]) == rows(settings.database_url)


def test_a_damaged_backup_changes_nothing(
    app: Flask, other: Flask, photo_ids: list[str], tmp_path: Path
) -> None:
    assert run(app, "backup", str(tmp_path / "backup")).exit_code == 0
    [tasks] = (tmp_path / "backup").glob("2*/tasks.copy.gz")
    text = gzip.decompress(tasks.read_bytes())
    for broken in (tasks.read_bytes()[:-20], gzip.compress(text[: text.index(b"\n") + 1]), b""):
        tasks.write_bytes(broken)
        refused = run(other, "restore", str(tmp_path / "backup"))
        assert refused.exit_code == 1
        assert "the backup is damaged" in refused.output
        upgrade(other.extensions["url"])
        assert not any(rows(other.extensions["url"]).values())


def test_an_unfinished_backup_is_none(app: Flask, other: Flask, photo_ids: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "backup"
    assert run(app, "backup", str(folder)).exit_code == 0
    [made] = folder.glob("2*")
    (made / "manifest.json").unlink()
    assert "there is no backup in" in run(other, "restore", str(folder)).output
    assert "there is no backup in" in run(other, "restore", str(tmp_path / "nowhere")).output


def test_a_backup_of_a_newer_version_is_told(
    app: Flask, other: Flask, photo_ids: list[str], tmp_path: Path
) -> None:
    assert run(app, "backup", str(tmp_path / "backup")).exit_code == 0
    [manifest] = (tmp_path / "backup").glob("2*/manifest.json")
    manifest.write_text(re.sub(r'"revision": "\w+"', '"revision": "9999"', manifest.read_text()))
    refused = run(other, "restore", str(tmp_path / "backup"))
    assert refused.exit_code == 1
    assert "of a newer version" in refused.output
