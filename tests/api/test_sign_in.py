"""The console's way in and out: keys, links, sessions, and who may not use them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.cookies import SimpleCookie
from typing import Any

import pytest
from flask import Flask

from api.keys import Keys
from api.sessions import Sessions
from app import create_app
from config import Settings
from db.session import Database
from tests.http import Answer, Client
from tests.pictures import jpeg
from tests.waiting import until

Auth = Callable[..., dict[str, str]]
MakeKey = Callable[..., str]
OURS = {"Origin": "http://localhost"}


@pytest.fixture
def sessions(database: Database) -> Sessions:
    """Over an empty database."""
    return Sessions(database)


def sign_in(client: Client, key: str, **options: Any) -> Answer:
    """Paste a key."""
    return client.post("/sign-in", data={"key": key}, headers=OURS, **options)


def cookie(answer: Answer) -> dict[str, str]:
    """The cookie of an answer, as a browser sends it back."""
    [morsel] = SimpleCookie(answer.headers["Set-Cookie"]).values()
    return {"Cookie": f"{morsel.key}={morsel.value}"}


def test_a_pasted_key_begins_a_session_that_may_do_what_the_key_may(
    client: Client, make_key: MakeKey
) -> None:
    answer = sign_in(client, make_key("anna", "photos:read"))
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    session = cookie(answer)
    assert client.get("/v1/photos", headers=session).status == 200
    assert b"Signed in as <strong>anna</strong>" in client.get("/sign-in", headers=session).body
    upload = client.post("/v1/photos", data=jpeg(), headers={**session, **OURS})
    assert (upload.status, upload.json["code"]) == (403, "missing-scope")


def test_the_cookie_is_for_this_instance_alone_and_out_of_scripts_reach(
    client: Client, make_key: MakeKey, database: Database
) -> None:
    header = sign_in(client, make_key()).headers["Set-Cookie"]
    assert re.match(r"safelight_[0-9a-f]{8}=[0-9a-f]{64}; ", header)
    assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=604800"} <= set(header.split("; "))
    assert "Secure" not in header
    named = header.partition("=")[0]
    assert Sessions(database).cookie_name() == named
    with database.transaction() as tx:
        tx.execute("DELETE FROM instance")
    assert Sessions(database).cookie_name() != named


def test_under_https_the_cookie_is_secure(settings: Settings, make_key: MakeKey) -> None:
    client = Client(create_app(replace(settings, trusted_proxies=1)))
    forwarded = {"X-Forwarded-Proto": "https", "Origin": "https://localhost"}
    answer = client.post("/sign-in", data={"key": make_key()}, headers=forwarded)
    assert "; Secure;" in answer.headers["Set-Cookie"]


def test_a_wrong_key_signs_nobody_in_and_counts_as_one(client: Client) -> None:
    answers = [sign_in(client, "sl_0123456789ab_" + "0" * 48) for _ in range(21)]
    assert [answer.status for answer in answers] == [403] * 20 + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert b"too many wrong keys" in answers[-1].body
    assert not any("Set-Cookie" in answer.headers for answer in answers)


def test_a_link_is_spent_by_its_button_alone_and_once(client: Client, sessions: Sessions) -> None:
    path = f"/sign-in/{sessions.make_link('anna', ['photos:read'])}"
    for method in ("GET", "HEAD", "GET"):
        looked = client.ask(method, path)
        assert (looked.status, "Set-Cookie" in looked.headers) == (200, False)
    answer = client.post(path, headers=OURS)
    assert answer.status == 303
    assert client.get("/v1/photos", headers=cookie(answer)).status == 200
    again = client.post(path, headers=OURS)
    assert (again.status, "Set-Cookie" in again.headers) == (403, False)
    assert b"used already" in again.body


def test_a_link_spent_twice_at_once_begins_one_session(migrated_url: str, sessions: Sessions) -> None:
    for _ in range(10):
        link = sessions.make_link("anna", ["admin"])
        together = threading.Barrier(8)

        def spend(link: str = link, together: threading.Barrier = together) -> str | None:
            together.wait()
            return sessions.spend(link)

        with ThreadPoolExecutor(8) as pool:
            begun = [each.result() for each in [pool.submit(spend) for _ in range(8)]]
        assert sum(session is not None for session in begun) == 1


@pytest.mark.parametrize(
    ("table", "column", "age", "works"),
    [
        ("sign_in_links", "created_at", "9 minutes", True),
        ("sign_in_links", "created_at", "11 minutes", False),
        ("sessions", "used_at", "11 hours", True),
        ("sessions", "used_at", "13 hours", False),
        ("sessions", "created_at", "6 days 23 hours", True),
        ("sessions", "created_at", "7 days 1 minute", False),
    ],
)
def test_links_and_sessions_end_by_themselves(
    sessions: Sessions, database: Database, table: str, column: str, age: str, works: bool
) -> None:
    link = sessions.make_link("anna", ["admin"])
    session = sessions.spend(link) if table == "sessions" else None
    with database.transaction() as tx:
        tx.execute(f"UPDATE {table} SET {column} = clock_timestamp() - interval '{age}'")
    found = sessions.find(session) if session else sessions.spend(link)
    assert (found is not None) is works
    sessions.make_link("bert", ["admin"])
    with database.transaction() as tx:
        kept = tx.execute("SELECT count(*) FROM sign_in_links WHERE owner = 'anna'").scalar_one()
    assert kept == 0


def test_a_session_in_use_does_not_idle(sessions: Sessions, database: Database) -> None:
    session = sessions.spend(sessions.make_link("anna", ["admin"]))
    assert session is not None
    with database.transaction() as tx:
        tx.execute("UPDATE sessions SET used_at = clock_timestamp() - interval '11 hours'")
    assert sessions.find(session) is not None

    def touched() -> bool:
        with database.transaction() as tx:
            return bool(
                tx.execute(
                    "SELECT used_at > clock_timestamp() - interval '1 minute' FROM sessions"
                ).scalar_one()
            )

    until(touched)


def test_a_session_ends_with_its_key(
    client: Client, make_key: MakeKey, database: Database, sessions: Sessions
) -> None:
    key = make_key()
    identity = key.split("_")[1]
    session = cookie(sign_in(client, key))
    link = sessions.make_link("anna", ["photos:read"], key_id=identity)
    assert client.get("/v1/photos", headers=session).status == 200
    Keys(database).revoke(identity)
    assert client.get("/v1/photos", headers=session).status == 401
    assert sessions.spend(link) is None


def test_signing_out_ends_the_session(client: Client, make_key: MakeKey) -> None:
    session = cookie(sign_in(client, make_key()))
    out = client.post("/sign-out", headers={**session, **OURS})
    assert (out.status, out.headers["Location"]) == (303, "/sign-in")
    assert "Expires=Thu, 01 Jan 1970" in out.headers["Set-Cookie"]
    assert client.get("/v1/photos", headers=session).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:8001"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://[::1"},
        {"Origin": "file://localhost"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
        {"Referer": "http://localhost/"},
    ],
)
def test_no_other_sites_page_changes_anything_with_the_cookie(
    client: Client, make_key: MakeKey, sessions: Sessions, headers: dict[str, str]
) -> None:
    key = make_key()
    session = cookie(sign_in(client, key))
    photo = client.post("/v1/photos", data=jpeg(), headers={**session, **OURS})
    assert photo.status == 202
    link = sessions.make_link("evil", ["admin"])
    for method, path in (
        ("POST", "/v1/photos"),
        ("DELETE", photo.headers["Location"]),
        ("POST", "/sign-out"),
        ("POST", "/sign-in"),
        ("POST", f"/sign-in/{link}"),
    ):
        answer = client.ask(method, path, headers={**session, **headers})
        assert (answer.status, answer.json["code"]) == (403, "cross-site-request"), path
    assert client.get(photo.headers["Location"], headers={**session, **headers}).status == 200
    bearer = {"Authorization": f"Bearer {key}", **headers}
    assert client.ask("DELETE", photo.headers["Location"], headers=bearer).status == 204


def test_a_key_wins_over_a_cookie(client: Client, make_key: MakeKey, auth: Auth) -> None:
    session = cookie(sign_in(client, make_key("anna")))
    client.post("/v1/photos", data=jpeg(), headers={**session, **OURS})
    assert len(client.get("/v1/photos", headers=session).json["photos"]) == 1
    assert client.get("/v1/photos", headers={**session, **auth("bert")}).json["photos"] == []
    assert client.get("/v1/photos", headers={**session, "Authorization": "Bearer x"}).status == 401


def test_the_pages_run_one_file_of_ours_and_are_kept_nowhere(client: Client) -> None:
    for path in ("/sign-in", "/sign-in/0123"):
        page = client.get(path)
        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["Referrer-Policy"] == "same-origin"
        assert not re.search(rb"<script(?! type=\"module\" src=\"/)|<style|style=|\son\w+=", page.body)
        assert re.findall(rb'src="/console/\w+/(\w+\.js)"', page.body) == [b"keep_place.js"]
    styles = re.findall(rb'href="([^"]+\.css)"', page.body)
    assert len(styles) == 2
    for path in styles:
        style = client.get(path.decode())
        assert (style.status, style.headers["Content-Type"]) == (200, "text/css; charset=utf-8")


def test_a_name_is_text_on_the_page(client: Client, make_key: MakeKey) -> None:
    page = client.get("/sign-in", headers=cookie(sign_in(client, make_key("<b>anna</b>"))))
    assert b"&lt;b&gt;anna" in page.body


def test_an_endless_form_is_refused(client: Client) -> None:
    answer = sign_in(client, "x" * 100_000)
    assert (answer.status, answer.headers["Content-Type"]) == (413, "application/problem+json")


def test_no_secret_of_a_session_or_a_link_is_stored(sessions: Sessions, database: Database) -> None:
    link = sessions.make_link("anna", ["admin"])
    session = sessions.spend(sessions.make_link("anna", ["admin"]))
    assert session is not None
    with database.transaction() as tx:
        stored = f"{tx.execute('TABLE sessions').all()} {tx.execute('TABLE sign_in_links').all()}"
    assert bytes.fromhex(link).hex() not in stored
    assert session not in stored


def test_the_command_prints_a_link_that_works(app: Flask, client: Client, settings: Settings) -> None:
    runner = app.test_cli_runner()
    arguments = ["sign-in-link", "--owner", "anna", "--scope", "admin"]
    link = runner.invoke(args=arguments).output.strip()
    address = f"http://127.0.0.1:{settings.port}"
    assert link.startswith(f"{address}/sign-in/")
    answer = client.post(link.removeprefix(address), headers=OURS)
    assert answer.status == 303
    other = runner.invoke(args=[*arguments, "--at", "https://photos.example.org/"]).output
    assert other.startswith("https://photos.example.org/sign-in/")
    wrong = runner.invoke(args=["sign-in-link", "--owner", " ", "--scope", "admin"])
    assert (wrong.exit_code, "Traceback" in wrong.output) == (2, False)


def test_streams_of_a_session_without_a_key_last_as_long_as_it_does(sessions: Sessions) -> None:
    link = sessions.make_link("anna", ["photos:read"])
    secret = sessions.spend(link)
    assert secret is not None
    key = sessions.find(secret)
    assert key is not None
    assert sessions.live([key.id, "session-00000000"]) == {key.id}
    sessions.end(secret)
    assert sessions.live([key.id]) == set()
