"""The routes of tasks, dead letters and reprocessing, over the real rooms; tasks are done by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from unittest.mock import ANY
from uuid import uuid4

import pytest

from db.session import Database
from tests.hand import Hand
from tests.http import Answer, Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
_ANY = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def key(auth: Auth) -> dict[str, str]:
    """Headers of Anna's key."""
    return auth("anna")


@pytest.fixture
def other(auth: Auth) -> dict[str, str]:
    """Headers of Bert's key."""
    return auth("bert")


@pytest.fixture
def admin(auth: Auth) -> dict[str, str]:
    """Headers of an operator's key, who has no photos."""
    return auth("operator", "admin")


def upload(client: Client, key: dict[str, str], seed: int = 1) -> str:
    """Upload a photo; returns its id."""
    return str(client.post("/v1/photos", data=jpeg(8, 8, seed=seed), headers=key).json["id"])


def failed(
    client: Client, key: dict[str, str], hand: Hand, seed: int = 1, detail: str = "it broke"
) -> tuple[str, str]:
    """A new photo whose EXIF task failed: (photo's id, task's id)."""
    photo_id = upload(client, key, seed)
    task_id = hand.task(photo_id, "exif")
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail=detail)
    return photo_id, task_id


def ids(answer: Answer) -> list[str]:
    """The tasks on a page."""
    assert answer.status == 200, answer.body
    return [task["id"] for task in answer.json["tasks"]]


def test_tasks_are_listed_newest_first_and_only_those_of_the_owners_photos(
    client: Client, key: dict[str, str], other: dict[str, str], admin: dict[str, str]
) -> None:
    mine, theirs = upload(client, key), upload(client, other)
    listed = client.get("/v1/tasks", headers=key).json["tasks"]
    assert {task["photo_id"] for task in listed} == {mine}
    assert sorted(task["kind"] for task in listed) == ["exif", "preview"]
    every = client.get("/v1/tasks", headers=admin).json["tasks"]
    assert [task["photo_id"] for task in every] == [theirs, theirs, mine, mine]


def test_following_the_links_gives_each_task_once(client: Client, key: dict[str, str]) -> None:
    for seed in range(3):
        upload(client, key, seed)
    whole, found = ids(client.get("/v1/tasks?kind=preview", headers=key)), []
    path: str | None = "/v1/tasks?limit=2&state=queued"
    while path is not None:
        answer = client.get(path, headers=key)
        found += ids(answer)
        link = re.fullmatch(r'<(.+)>; rel="next"', answer.headers.get("Link", ""))
        assert link is None or "state=queued" in link[1]
        path = link[1] if link else None
    assert found == whole
    assert len(found) == 3


def test_tasks_are_found_by_state_kind_error_and_photo(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo_id, task_id = failed(client, key, hand)
    upload(client, key, 2)
    for query in ("state=failed", "error_type=corrupt-image", f"photo_id={photo_id}&kind=exif"):
        assert ids(client.get(f"/v1/tasks?{query}", headers=key)) == [task_id]
    assert ids(client.get("/v1/tasks?state=failed&kind=preview", headers=key)) == []


@pytest.mark.parametrize(
    "query", ["state=nope", "kind=nope", "error_type=nope", "photo_id=nope", "limit=0", "limit=201"]
)
def test_a_filter_that_makes_no_sense_is_told(client: Client, key: dict[str, str], query: str) -> None:
    answer = client.get(f"/v1/tasks?{query}", headers=key)
    assert answer.status == 422
    assert query.partition("=")[0] in answer.json["errors"]["query"]


def test_a_task_is_shown_with_its_attempts_and_tracebacks_to_an_operator_alone(
    client: Client, key: dict[str, str], admin: dict[str, str], hand: Hand, database: Database
) -> None:
    photo_id, task_id = failed(client, key, hand)
    with database.transaction() as tx:
        tx.execute("UPDATE attempts SET traceback = 'Traceback: ...'")
    task = client.get(f"/v1/tasks/{task_id}", headers=key).json
    assert (task["photo_id"], task["kind"], task["state"], task["attempts"]) == (
        photo_id,
        "exif",
        "failed",
        1,
    )
    [attempt] = task["history"]
    assert attempt["error"] == {"type": "corrupt-image", "detail": "it broke"}
    assert (attempt["number"], attempt["outcome"], attempt["worker"]) == (1, "failed", "by-hand")
    assert attempt["traceback"] is None
    shown = client.get(f"/v1/tasks/{task_id}", headers=admin).json
    assert shown["history"][0]["traceback"] == "Traceback: ..."


def test_another_owners_task_is_not_there(
    client: Client, key: dict[str, str], other: dict[str, str], hand: Hand
) -> None:
    _, task_id = failed(client, key, hand)
    for identity in (task_id, str(uuid4())):
        answers = [
            client.get(f"/v1/tasks/{identity}", headers=other),
            client.post(f"/v1/tasks/{identity}/requeue", headers=other),
            client.post(f"/v1/tasks/{identity}/cancel", headers=other),
        ]
        assert {(answer.status, answer.json["code"]) for answer in answers} == {(404, "task-not-found")}
    assert client.get(f"/v1/tasks/{task_id}", headers=key).json["state"] == "failed"


def test_a_failed_task_is_requeued_by_its_owner_or_an_operator(
    client: Client, key: dict[str, str], admin: dict[str, str], hand: Hand
) -> None:
    dead = [failed(client, key, hand, seed)[1] for seed in range(2)]
    for who, task_id in zip((key, admin), dead, strict=True):
        answer = client.post(f"/v1/tasks/{task_id}/requeue", headers=who)
        assert (answer.status, answer.json["id"], answer.json["state"]) == (202, task_id, "pending")
        again = client.post(f"/v1/tasks/{task_id}/requeue", headers=who)
        assert (again.status, again.json["code"]) == (409, "task-not-failed")
        assert "the task is pending" in again.json["detail"]


def test_a_requeue_that_joins_a_live_task_answers_that_one(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo_id, task_id = failed(client, key, hand)
    hand.again(photo_id, "exif")
    answer = client.post(f"/v1/tasks/{task_id}/requeue", headers=key)
    assert (answer.status, answer.json["id"]) == (202, hand.task(photo_id, "exif"))
    assert client.get(f"/v1/tasks/{task_id}", headers=key).json["state"] == "discarded"


def test_a_live_task_is_cancelled_once(client: Client, key: dict[str, str], hand: Hand) -> None:
    photo_id = upload(client, key)
    task_id = hand.task(photo_id, "exif")
    answer = client.post(f"/v1/tasks/{task_id}/cancel", headers=key)
    assert (answer.status, answer.json["state"]) == (202, "cancelled")
    again = client.post(f"/v1/tasks/{task_id}/cancel", headers=key)
    assert (again.status, again.json["code"]) == (409, "task-ended")
    hand.previews(photo_id)
    assert client.get(f"/v1/photos/{photo_id}", headers=key).json["state"] == "failed"


@pytest.mark.parametrize(
    ("method", "path", "needed"),
    [
        ("GET", "/v1/tasks", "photos:read"),
        ("GET", f"/v1/tasks/{_ANY}", "photos:read"),
        ("POST", f"/v1/tasks/{_ANY}/requeue", "photos:write"),
        ("POST", f"/v1/tasks/{_ANY}/cancel", "photos:write"),
        ("POST", f"/v1/photos/{_ANY}/reprocess", "photos:write"),
        ("POST", "/v1/tasks/requeue", "admin"),
        ("POST", "/v1/tasks/discard", "admin"),
        ("GET", "/v1/dead-letters", "admin"),
        ("GET", f"/v1/tasks/batches/{_ANY}", "admin"),
        ("GET", "/v1/queues", "admin"),
        ("GET", "/v1/queue-history", "admin"),
        ("GET", "/v1/system", "admin"),
        ("PATCH", "/v1/queues/preview", "admin"),
    ],
)
def test_each_route_needs_its_scope(client: Client, auth: Auth, method: str, path: str, needed: str) -> None:
    lacking = [scope for scope in ("photos:read", "photos:write", "originals:read") if scope != needed]
    answer = client.ask(method, path, json={} if method != "GET" else None, headers=auth("anna", *lacking))
    assert (answer.status, answer.json["code"]) == (403, "missing-scope")
    assert needed in answer.json["detail"]
    assert client.ask(method, path).status == 401


@pytest.fixture
def dead(client: Client, key: dict[str, str], other: dict[str, str], hand: Hand) -> list[str]:
    """Four failed tasks of two owners: three alike but for their numbers."""
    details = ["cut at byte 17", "cut at byte 2,045", "no such tag"]
    made = [failed(client, key, hand, seed, detail)[1] for seed, detail in enumerate(details)]
    return [*made, failed(client, other, hand, 1, "cut at byte 0x1f")[1]]


def bulk(client: Client, admin: dict[str, str], action: str, **meant: Any) -> dict[str, Any]:
    """Requeue or discard many; returns the answer."""
    answer = client.post(f"/v1/tasks/{action}", json=meant, headers=admin)
    assert answer.status == 200, answer.body
    told: dict[str, Any] = answer.json
    return told


def test_dead_letters_are_grouped_whatever_their_numbers(
    client: Client, admin: dict[str, str], dead: list[str]
) -> None:
    groups = client.get("/v1/dead-letters", headers=admin).json["groups"]
    assert [(group["message"], group["count"]) for group in groups] == [
        ("cut at byte #", 3),
        ("no such tag", 1),
    ]
    assert (groups[0]["kind"], groups[0]["error_type"]) == ("exif", "corrupt-image")
    assert groups[0]["task_id"] == dead[3]
    assert groups[0]["first_seen_at"] < groups[0]["last_seen_at"]


def test_dead_letters_of_a_kind_or_an_error_are_told_alone(
    client: Client, admin: dict[str, str], dead: list[str]
) -> None:
    def found(query: str) -> int:
        return len(client.get(f"/v1/dead-letters?{query}", headers=admin).json["groups"])

    assert (found("kind=exif"), found("kind=preview")) == (2, 0)
    assert (found("error_type=corrupt-image&kind=exif"), found("error_type=time-limit")) == (2, 0)
    assert client.get("/v1/dead-letters?error_type=nope", headers=admin).status == 422


def test_a_groups_photo_is_shown_to_its_owner_alone(
    client: Client, auth: Auth, admin: dict[str, str], hand: Hand
) -> None:
    operator = auth("anna", "admin")
    photo_id = upload(client, operator)
    hand.previews(photo_id)
    hand.fail(photo_id, "exif", error_type="corrupt-image", detail="it broke")
    [mine] = client.get("/v1/dead-letters", headers=operator).json["groups"]
    assert client.get(mine["preview_url"], headers=operator).status == 200
    [theirs] = client.get("/v1/dead-letters", headers=admin).json["groups"]
    assert (theirs["photo_id"], theirs["preview_url"], theirs["filename"]) == (photo_id, None, None)


def test_a_groups_tasks_are_found_by_its_message(
    client: Client, admin: dict[str, str], dead: list[str]
) -> None:
    query = "/v1/tasks?state=failed&error_type=corrupt-image&message=cut%20at%20byte%20%23"
    assert ids(client.get(query, headers=admin)) == [dead[3], dead[1], dead[0]]
    assert client.get("/v1/tasks?message=cut", headers=admin).status == 422


def test_how_requeued_tasks_go_on_is_told_by_their_batch(
    client: Client, admin: dict[str, str], dead: list[str], hand: Hand, database: Database
) -> None:
    def states() -> dict[str, int]:
        told: dict[str, int] = client.get(f"/v1/tasks/batches/{_ANY}", headers=admin).json["states"]
        return told

    assert states() == {}
    bulk(client, admin, "requeue", message="cut at byte #", batch_id=_ANY)
    assert states() == {"pending": 3}
    with database.transaction() as tx:
        tx.execute(
            "UPDATE tasks SET state = 'queued', queued_at = now() WHERE id = ANY(CAST(:ids AS uuid[]))",
            {"ids": [dead[0], dead[3]]},
        )
        photos = {str(row.id): row.subject for row in tx.execute("SELECT id, subject FROM tasks")}
    hand.exif(photos[dead[0]])
    hand.fail(photos[dead[3]], "exif", error_type="corrupt-image", detail="again")
    assert states() == {"completed": 1, "failed": 1, "pending": 1}
    assert client.post(f"/v1/tasks/{dead[3]}/requeue", headers=admin).status == 202
    assert states() == {"completed": 1, "pending": 1}  # what is requeued anew is no more of that batch


def test_what_fails_after_a_dry_run_is_kept_out_by_its_time(
    client: Client, admin: dict[str, str], key: dict[str, str], hand: Hand, dead: list[str]
) -> None:
    counted = bulk(client, admin, "discard", all=True, dry_run=True)
    failed(client, key, hand, 9, "later")
    told = bulk(client, admin, "discard", failed_before=counted["as_of"])
    assert (told["outcomes"], counted["remaining"]) == ({"discarded": 4}, 4)
    assert bulk(client, admin, "discard", all=True, dry_run=True)["remaining"] == 1


def test_a_group_is_requeued_by_its_message(client: Client, admin: dict[str, str], dead: list[str]) -> None:
    meant = {"message": "cut at byte #", "kind": "exif"}
    counted = bulk(client, admin, "requeue", **meant, dry_run=True)
    assert counted == {"dry_run": True, "as_of": ANY, "outcomes": {}, "remaining": 3}
    told = bulk(client, admin, "requeue", **meant)
    assert told == {"dry_run": False, "as_of": ANY, "outcomes": {"requeued": 3}, "remaining": 0}
    assert bulk(client, admin, "requeue", all=True, dry_run=True)["remaining"] == 1


def test_many_are_discarded_by_ids_and_by_time(
    client: Client, admin: dict[str, str], dead: list[str], database: Database
) -> None:
    assert bulk(client, admin, "discard", ids=dead[:1])["outcomes"] == {"discarded": 1}
    with database.transaction() as tx:
        tx.execute(
            "UPDATE tasks SET finished_at = '2026-01-01T00:00:00Z' WHERE id = CAST(:id AS uuid)",
            {"id": dead[1]},
        )
    assert bulk(client, admin, "discard", failed_before="2026-01-01T00:00:00Z")["outcomes"] == {}
    assert bulk(client, admin, "discard", failed_before="2026-01-02T01:00:00+02:00")["outcomes"] == {
        "discarded": 1
    }
    assert bulk(client, admin, "discard", all=True)["outcomes"] == {"discarded": 2}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"dry_run": True},
        {"all": True, "kind": "exif"},
        {"kind": "nope"},
        {"error_type": "nope"},
        {"ids": []},
        {"ids": ["nope"]},
        {"failed_before": "yesterday"},
        {"older": 1},
    ],
)
def test_a_bulk_change_must_say_what_it_means(
    client: Client, admin: dict[str, str], dead: list[str], body: dict[str, Any]
) -> None:
    answer = client.post("/v1/tasks/discard", json=body, headers=admin)
    assert (answer.status, answer.json["code"]) == (422, "unprocessable-entity")
    assert bulk(client, admin, "discard", all=True, dry_run=True)["remaining"] == 4


def test_a_bulk_change_stops_at_its_time_limit_and_tells_what_remains(
    client: Client, admin: dict[str, str], dead: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.tasks.BULK_S", -1.0)
    told = bulk(client, admin, "requeue", all=True)
    assert told == {"dry_run": False, "as_of": ANY, "outcomes": {}, "remaining": 4}


def test_a_photo_is_made_anew_and_serves_its_old_previews_meanwhile(
    client: Client, key: dict[str, str], hand: Hand
) -> None:
    photo_id = upload(client, key)
    hand.finish(photo_id)
    answer = client.post(f"/v1/photos/{photo_id}/reprocess", headers=key)
    assert (answer.status, answer.json["state"]) == (202, "processing")
    assert len(answer.json["previews"]) == 3
    assert {task["state"] for task in answer.json["tasks"]} == {"queued"}
    assert client.get(answer.json["previews"][0]["url"], headers=key).status == 200
    hand.finish(photo_id)
    assert client.get(f"/v1/photos/{photo_id}", headers=key).json["state"] == "ready"


def test_one_kind_alone_is_made_anew(client: Client, key: dict[str, str], hand: Hand) -> None:
    photo_id = upload(client, key)
    hand.finish(photo_id)
    answer = client.post(f"/v1/photos/{photo_id}/reprocess", json={"kinds": ["exif"]}, headers=key)
    states = {task["kind"]: task["state"] for task in answer.json["tasks"]}
    assert states == {"preview": "completed", "exif": "queued"}


def test_reprocessing_while_a_task_waits_makes_no_second_one(client: Client, key: dict[str, str]) -> None:
    photo_id = upload(client, key)
    assert client.post(f"/v1/photos/{photo_id}/reprocess", headers=key).status == 202
    assert len(ids(client.get("/v1/tasks", headers=key))) == 2


@pytest.mark.parametrize("body", [{"kinds": []}, {"kinds": ["nope"]}, {"kinds": "exif"}, {"kind": "exif"}])
def test_what_is_to_be_made_anew_must_make_sense(
    client: Client, key: dict[str, str], body: dict[str, Any]
) -> None:
    photo_id = upload(client, key)
    assert client.post(f"/v1/photos/{photo_id}/reprocess", json=body, headers=key).status == 422


def test_another_owners_photo_is_not_made_anew(
    client: Client, key: dict[str, str], other: dict[str, str]
) -> None:
    photo_id = upload(client, key)
    answer = client.post(f"/v1/photos/{photo_id}/reprocess", headers=other)
    assert (answer.status, answer.json["code"]) == (404, "photo-not-found")


@pytest.mark.parametrize("message", ["\ud800", "a\0b"])
def test_text_that_the_database_cannot_hold_is_a_wrong_value(
    client: Client, auth: Callable[..., dict[str, str]], message: str
) -> None:
    answer = client.post("/v1/tasks/requeue", json={"message": message}, headers=auth("anna", "admin"))
    assert (answer.status, answer.json["code"]) == (422, "unprocessable-entity")
    assert answer.json["errors"]["json"] == {"message": ["Not valid text."]}
