"""What one owner does tells nothing of another's photos: no answer, no work, no dedup."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from config import Settings
from db.prepared import Prepared
from db.transaction import Transaction
from tests.http import Answer, Client
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
_ALL = ("photos:write", "photos:read", "originals:read")
_BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/photos/{photo_id}/reprocess"): {"json": {"kinds": ["preview"]}},
}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """With an analysis service, which isn't asked: else nobody's photo can be analysed."""
    return replace(settings, analysis_url="http://127.0.0.1:9/")


@contextmanager
def statements() -> Iterator[list[str]]:
    """What this thread asks PostgreSQL within the block; a key's last use is written by another."""
    seen: list[str] = []
    here, execute = threading.get_ident(), Transaction.execute

    def note(self: Transaction, statement: Any, *args: Any) -> Any:
        if threading.get_ident() == here:
            seen.append(statement.sql if isinstance(statement, Prepared) else str(statement))
        return execute(self, statement, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transaction, "execute", note)
        yield seen


def operations(client: Client) -> list[tuple[str, str]]:
    """Every operation on one photo or one task, as (method, path)."""
    paths = client.get("/openapi.json").json["paths"]
    return [
        (method.upper(), path)
        for path, said in paths.items()
        if "{photo_id}" in path or "{task_id}" in path
        for method in said
        if method != "parameters"
    ]


def told(answer: Answer, identity: str) -> dict[str, Any]:
    """An answer without what names the request or the thing asked for."""
    return {
        name: value.replace(identity, "...") if isinstance(value, str) else value
        for name, value in answer.json.items()
        if name != "request_id"
    }


def test_anothers_photo_is_in_everything_like_one_that_is_not_there(client: Client, auth: Auth) -> None:
    anna, bob = auth("anna", *_ALL), auth("bob", *_ALL)
    photo = client.post("/v1/photos", data=jpeg(), headers=bob).json
    assert client.get("/v1/me", headers=anna).status == 200  # the key is cached now
    walked = operations(client)
    assert len(walked) >= 10
    for method, path in walked:
        for key in ("photo_id", "task_id"):
            if f"{{{key}}}" not in path:
                continue
            foreign = photo["id"] if key == "photo_id" else photo["tasks"][0]["id"]
            outcomes = []
            for identity in (foreign, str(uuid4())):
                url = path.replace(f"{{{key}}}", identity).replace("{size}", "small")
                with statements() as seen:
                    answer = client.ask(method, url, headers=anna, **_BODIES.get((method, path), {}))
                assert answer.status == 404, (method, path, answer.body)
                assert answer.json["code"] in ("photo-not-found", "task-not-found")
                outcomes.append((told(answer, identity), seen))
            assert outcomes[0] == outcomes[1], (method, path)
    assert client.get(f"/v1/photos/{photo['id']}", headers=bob).status == 200


def test_the_same_bytes_of_another_owner_are_a_new_photo_by_the_same_work(client: Client, auth: Auth) -> None:
    anna, bob = auth("anna", *_ALL), auth("bob", *_ALL)
    theirs = client.post("/v1/photos", data=jpeg(seed=1), headers=bob).json
    assert client.get("/v1/me", headers=anna).status == 200
    outcomes = []
    for seed in (1, 2):  # bob has the first, nobody the second
        with statements() as seen:
            answer = client.post("/v1/photos", data=jpeg(seed=seed), headers=anna)
        assert answer.status == 202
        assert answer.json["id"] != theirs["id"]
        outcomes.append(seen)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("query", ["", "?sha256={sha256}", "?state=processing"])
def test_lists_have_only_ones_own(client: Client, auth: Auth, query: str) -> None:
    photo = client.post("/v1/photos", data=jpeg(), headers=auth("bob", *_ALL)).json
    answer = client.get(f"/v1/photos{query.format(**photo)}", headers=auth("anna", *_ALL))
    assert answer.json["photos"] == []
    assert client.get("/v1/tasks", headers=auth("anna", *_ALL)).json["tasks"] == []
