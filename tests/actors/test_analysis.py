"""A photo's analysis from the request to the stored result, by a real worker from a real slow service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask, request

from api import analysis
from app import create_app
from config import Settings
from db.session import Database
from examples.slow_service import Behaviour
from tests.actors.analysing import Person, working
from tests.http import Client, multipart
from tests.pictures import jpeg
from tests.slow_service import SlowService, serving, slow_service
from tests.waiting import until

EVERYTHING = {"place", "labels", "faces", "moderation"}


@pytest.fixture
def site() -> Iterator[SlowService]:
    """A service that is done after three partial answers."""
    with slow_service(Behaviour(polls=3, retry_after_s=0.1)) as site:
        yield site


@pytest.fixture(params=["operations", "body"])
def dialect(request: pytest.FixtureRequest) -> str:
    """How the service is spoken to."""
    return str(request.param)


def asking(settings: Settings, url: str, **changes: Any) -> Settings:
    """Settings that name a service, with a tenth of every interval."""
    quick: dict[str, Any] = {"analysis_timeout_s": 2.0, "analysis_breaker_s": 1.0, "worker_slots": 4}
    return replace(settings, **{"analysis_url": url, **quick, **changes})


@pytest.fixture
def settings(settings: Settings, site: SlowService) -> Settings:
    """Those of this module's app and workers."""
    return asking(settings, site.url("operations"))


@pytest.fixture
def person(client: Client, auth: Callable[..., dict[str, str]]) -> Person:
    """Anna."""
    return Person(client, auth("anna"))


def test_the_first_answer_comes_at_once_and_the_rest_is_stored_when_done(
    person: Person, settings: Settings, site: SlowService, dialect: str
) -> None:
    site.behaviour.retry_after_s = 3.0  # longer than this machine may be busy
    with working(replace(settings, analysis_url=site.url(dialect))):
        photo_id = person.upload()
        person.ready(photo_id)
        answer = person.ask(photo_id)
        assert answer.status == 202
        assert answer.json["analysis"]["state"] == "processing"
        assert (set(answer.json["analysis"]["data"]), answer.json["analysis"]["polls"]) == ({"place"}, 1)
        assert answer.json["analysis"]["next_poll_at"]
        done = person.wait(photo_id)
    assert (set(done["data"]), done["polls"], done["next_poll_at"], done["error"]) == (
        EVERYTHING,
        4,
        None,
        None,
    )
    assert site.jobs.photos == {photo_id: 1}
    [task] = [task for task in person.photo(photo_id)["tasks"] if task["kind"] == "analysis"]
    assert (task["state"], task["attempts"]) == ("completed", 1)


def test_a_complete_analysis_is_answered_from_the_store_unless_it_is_to_be_refreshed(
    person: Person, settings: Settings, site: SlowService
) -> None:
    with working(settings):
        photo_id = person.upload("?analysis=true")
        first = person.wait(photo_id)
        calls = site.jobs.calls
        answer = person.ask(photo_id)
        assert (answer.status, answer.json["analysis"]) == (200, first)
        assert site.jobs.calls == calls
        site.behaviour.retry_after_s = 1.0
        answer = person.ask(photo_id, "?refresh=true")
        assert (answer.status, answer.json["analysis"]["polls"]) == (202, 1)
        assert set(answer.json["analysis"]["data"]) == EVERYTHING  # what was stored, and what is new over it
        site.behaviour.retry_after_s = 0.1
        person.wait(photo_id)
    assert site.jobs.photos == {photo_id: 2}


def test_who_asks_second_is_answered_at_once(
    person: Person, site: SlowService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "FIRST_CALL_S", 8.0)
    photo_id = person.upload()  # and no worker runs
    begun_s = time.monotonic()
    first = threading.Thread(target=person.ask, args=(photo_id,))
    first.start()
    until(lambda: person.analysis(photo_id) is not None)
    answer = person.ask(photo_id)
    assert time.monotonic() - begun_s < 6
    assert first.is_alive()
    assert (answer.status, answer.json["analysis"]["state"]) == (202, "processing")
    first.join()


def test_a_service_that_is_down_is_asked_again_until_it_is_there(
    person: Person, settings: Settings, site: SlowService
) -> None:
    site.behaviour.down = True
    with working(settings):
        photo_id = person.upload()
        person.ready(photo_id)
        answer = person.ask(photo_id)
        assert (answer.status, answer.json["analysis"]["data"]) == (202, {})
        assert answer.json["analysis"]["state"] == "processing"
        assert answer.json["analysis"]["error"]["type"] == "remote-error"
        site.behaviour.down = False
        assert set(person.wait(photo_id)["data"]) == EVERYTHING


def test_a_run_that_takes_too_many_polls_fails_and_keeps_what_there_is(
    person: Person, settings: Settings, site: SlowService
) -> None:
    site.behaviour.polls = 1000
    with working(replace(settings, analysis_polls=3)):
        photo_id = person.upload("?analysis=true")
        failed = person.wait(photo_id, "failed")
        person.ready(photo_id)  # which no analysis spoils
    assert (failed["polls"], failed["error"]["type"]) == (3, "remote-timeout")
    assert set(failed["data"]) == {"place", "labels", "faces"}


def test_a_run_that_takes_too_long_fails(person: Person, settings: Settings, site: SlowService) -> None:
    site.behaviour.polls = 1000
    with working(replace(settings, analysis_deadline_s=0.5)):
        failed = person.wait(person.upload("?analysis=true"), "failed")
    assert (failed["error"]["type"], set(failed["data"]) >= {"place"}) == ("remote-timeout", True)


def test_a_batch_is_analysed_where_that_is_asked_for(
    person: Person, settings: Settings, site: SlowService
) -> None:
    parts = [("file", f"{seed}.jpg", jpeg(32, 24, seed=seed)) for seed in range(2)]
    body, content_type = multipart(*parts)
    headers = {**person.key, "Content-Type": content_type}
    with working(settings):
        answer = person.client.post("/v1/photos/batch?analysis=true", data=body, headers=headers)
        ids = [result["photo"]["id"] for result in answer.json["results"]]
        for photo_id in ids:
            person.wait(photo_id)
    assert site.jobs.photos == dict.fromkeys(ids, 1)


def test_what_failed_is_asked_anew(
    person: Person, settings: Settings, site: SlowService, database: Database
) -> None:
    photo_id = person.upload("?analysis=true")
    with working(replace(settings, analysis_url=f"{site.address}/nowhere")):
        assert person.wait(photo_id, "failed")["error"]["type"] == "remote-rejected"
    with working(settings):
        assert person.ask(photo_id).status == 202
        person.wait(photo_id)
    with database.transaction() as tx:
        query = "SELECT state FROM tasks WHERE kind = 'analysis' ORDER BY created_at"
        assert list(tx.execute(query).scalars()) == ["discarded", "completed"]


def test_a_dead_service_opens_the_breaker_which_is_told_and_costs_no_attempt(
    settings: Settings, site: SlowService, auth: Callable[..., dict[str, str]], client: Client
) -> None:
    site.behaviour.down = True
    admin = auth("operator", "admin")
    person = Person(client, admin)

    def away_for() -> int:
        queues = client.get("/v1/queues", headers=admin).json["queues"]
        return next(int(queue["away_for"]) for queue in queues if queue["name"] == "analysis")

    with working(settings):
        photo_ids = [person.upload("?analysis=true", seed=seed) for seed in range(6)]
        until(lambda: away_for() == 1, timeout_s=60)
        site.behaviour.down = False
        for photo_id in photo_ids:
            person.wait(photo_id, timeout_s=60)
        until(lambda: away_for() == 0)
    assert set(site.jobs.photos.values()) == {1}


def test_the_medium_preview_is_sent_where_that_is_set_and_never_the_original(
    person: Person, settings: Settings
) -> None:
    got: list[dict[str, Any]] = []
    app = Flask("keeps-questions")

    @app.post("/")
    def answer() -> dict[str, Any]:
        got.append(request.get_json())
        return {"status": "done", "data": {}}

    with serving(app) as address:
        for send in ("metadata", "preview"):
            with working(asking(settings, address, analysis_send=send)):
                photo_id = person.upload("?analysis=true", seed=len(got))
                person.wait(photo_id)
    metadata, preview = got
    assert set(metadata) == {"photo"}
    assert set(metadata["photo"]) == {"id", "media_type", "size_bytes", "width", "height", "exif"}
    assert metadata["photo"]["exif"]["make"]
    assert set(preview) == {"photo", "preview"}
    assert preview["preview"]["media_type"] == "image/jpeg"


def test_a_link_to_the_preview_is_sent_where_that_is_set_and_needs_no_key(
    settings: Settings, auth: Callable[..., dict[str, str]], database: Database
) -> None:
    got: list[dict[str, Any]] = []
    app = Flask("keeps-questions")

    @app.post("/")
    def answer() -> dict[str, Any]:
        got.append(request.get_json())
        return {"status": "done", "data": {}}

    with serving(app) as address:
        linking = asking(
            settings, address, analysis_send="url", public_url="https://host/", signing_key="k" * 32
        )
        person = Person(Client(create_app(linking)), auth("anna"))
        with working(linking):
            photo_id = person.upload("?analysis=true")
            person.wait(photo_id)
    url = got[0]["preview"]["url"]
    assert url.startswith("https://host/v1/shared/previews/")
    path = url.removeprefix("https://host")
    shown = person.client.get(path)
    medium = person.client.get(f"/v1/photos/{photo_id}/previews/medium", headers=person.key)
    assert (shown.status, shown.body) == (200, medium.body)
    for wrong in (path[:-1], f"{path}x", "/v1/shared/previews/x"):
        refused = person.client.get(wrong)
        assert (refused.status, refused.json["code"]) == (404, "link-not-valid")
    # another key's, and one without a key at all
    for other in ("o" * 32, ""):
        elsewhere = Client(create_app(replace(linking, signing_key=other, analysis_send="metadata")))
        assert elsewhere.get(path).json["code"] == "link-not-valid"
    person.client.ask("DELETE", f"/v1/photos/{photo_id}", headers=person.key)
    assert person.client.get(path).status == 404


def test_another_owners_photo_is_not_there(
    person: Person, client: Client, auth: Callable[..., dict[str, str]]
) -> None:
    photo_id = person.upload()
    answer = Person(client, auth("bob")).ask(photo_id)
    assert (answer.status, answer.json["code"]) == (404, "photo-not-found")
    reader = Person(client, auth("anna", "photos:read"))
    assert reader.ask(photo_id).status == 403


def test_without_a_service_nobody_is_promised_anything(
    settings: Settings, auth: Callable[..., dict[str, str]], database: Database
) -> None:
    app = create_app(replace(settings, analysis_url=""))
    person = Person(Client(app), auth("anna"))
    photo_id = person.upload()
    for answer in (
        person.ask(photo_id),
        person.client.post("/v1/photos?analysis=true", data=jpeg(8, 8, seed=9), headers=person.key),
    ):
        assert (answer.status, answer.json["code"]) == (409, "analysis-not-configured")
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM photos").scalar_one() == 1


def test_a_deleted_photo_takes_its_analysis_along(
    person: Person, settings: Settings, database: Database
) -> None:
    with working(settings):
        photo_id = person.upload("?analysis=true")
        person.wait(photo_id)
    assert person.client.ask("DELETE", f"/v1/photos/{photo_id}", headers=person.key).status == 204
    with database.transaction() as tx:
        assert tx.execute("SELECT count(*) FROM analyses").scalar_one() == 0
