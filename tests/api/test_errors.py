"""Every error is a problem (RFC 9457), the framework's own too."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask

from app import create_app
from config import Settings
from embedded.ports import any_free_port
from tests.http import Answer, Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]


def assert_problem(answer: Answer, status: int, code: str) -> None:
    """An answer is a whole problem."""
    assert answer.status == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json
    assert (body["status"], body["code"], body["type"]) == (status, code, f"urn:safelight:problem:{code}")
    assert body["title"]
    assert body["detail"]
    assert body["request_id"] == answer.headers["X-Request-ID"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not-found"),
        ("GET", "/v1/photos/not-an-id", 404, "not-found"),
        ("GET", "/metrics", 404, "not-found"),
        ("GET", "/internal/targets", 404, "not-found"),
        ("PUT", "/v1/photos", 405, "method-not-allowed"),
        ("BREW", "/v1/photos", 405, "method-not-allowed"),
        ("GET", "/v1/photos?limit=x", 422, "unprocessable-entity"),
        ("GET", "/v1/photos?limit=0", 422, "unprocessable-entity"),
        ("GET", "/v1/photos?limit=201", 422, "unprocessable-entity"),
        ("GET", "/v1/photos?state=lost", 422, "unprocessable-entity"),
        ("GET", "/v1/photos?cursor=x", 400, "bad-cursor"),
    ],
)
def test_a_wrong_request_is_told_in_a_problem(
    client: Client, auth: Auth, method: str, path: str, status: int, code: str
) -> None:
    assert_problem(client.ask(method, path, headers=auth("anna")), status, code)


def test_a_wrong_method_is_told_the_right_ones(client: Client) -> None:
    assert set(client.ask("PUT", "/v1/photos").headers["Allow"].split(", ")) == {
        "GET",
        "HEAD",
        "POST",
        "OPTIONS",
    }


def test_wrong_fields_are_named(client: Client, auth: Auth) -> None:
    errors = client.get("/v1/photos?limit=x&state=lost", headers=auth("anna")).json["errors"]
    assert set(errors["query"]) == {"limit", "state"}


def test_an_unexpected_error_tells_nothing_of_itself(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    def view() -> str:
        raise RuntimeError("a secret")

    app.add_url_rule("/broken", view_func=view)
    app.config["PROPAGATE_EXCEPTIONS"] = False
    with caplog.at_level(logging.ERROR):
        answer = Client(app).get("/broken")
    assert_problem(answer, 500, "internal-error")
    assert b"secret" not in answer.body
    assert "a secret" in caplog.text


def test_every_answer_is_marked_nosniff_and_has_an_id_of_its_own(client: Client, auth: Auth) -> None:
    answers = [client.get(path, headers=auth("anna")) for path in ("/v1/photos", "/nowhere", "/livez")]
    answers.append(client.get("/v1/photos"))
    assert {answer.headers["X-Content-Type-Options"] for answer in answers} == {"nosniff"}
    assert len({answer.headers["X-Request-ID"] for answer in answers}) == 4


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "PUT", "POST"])
@pytest.mark.parametrize("path", ["/v1/photos", "/v1/me", "/nowhere", "/livez", "/openapi.json", "/sign-in"])
def test_no_answer_is_without_its_guards(client: Client, method: str, path: str) -> None:
    answer = client.ask(method, path)
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] in ("no-referrer", "same-origin")
    assert len(answer.headers.getlist("Content-Security-Policy")) == 1


def test_without_its_database_the_api_says_503_and_when_to_come_back(
    settings: Settings, make_key: Callable[..., str]
) -> None:
    away = replace(settings, database_url=f"postgresql://nobody@127.0.0.1:{any_free_port()}/none")
    client = Client(create_app(away))
    answer = client.get("/v1/photos", headers={"Authorization": f"Bearer {make_key()}"})
    assert_problem(answer, 503, "database-away")
    assert int(answer.headers["Retry-After"]) > 0


def test_an_upload_without_a_store_is_503_and_leaves_no_row(
    client: Client, auth: Auth, settings: Settings
) -> None:
    folder = Path(settings.storage_url.removeprefix("file://"))
    (folder / "originals").write_text("a file where a folder is needed")
    key = auth("anna")
    answer = client.post("/v1/photos", data=jpeg(), headers=key)
    assert_problem(answer, 503, "store-away")
    assert client.get("/v1/photos", headers=key).json["photos"] == []
