"""`Idempotency-Key`: an upload sent again gets the first one's answer, and does nothing."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask

from api.patience import PIECE_S
from db.session import Database
from photos.idempotency import LEASE_S, Reservation
from tests.http import Answer, Client, multipart
from tests.pictures import jpeg

Auth = Callable[..., dict[str, str]]
Files = Callable[[], list[str]]
Post = Callable[..., Answer]
FIELD = "Idempotency-Key"


@pytest.fixture
def post(client: Client, key: dict[str, str]) -> Post:
    """Uploads under an idempotency key of Anna's: `post("a key", data)`."""

    def send(text: str, data: bytes | None = None, content_type: str = "image/jpeg") -> Answer:
        headers = {**key, FIELD: text, "Content-Type": content_type}
        return client.post("/v1/photos", data=jpeg() if data is None else data, headers=headers)

    return send


def count(database: Database, table: str) -> int:
    """How many rows a table has."""
    with database.transaction() as tx:
        return int(tx.execute(f"SELECT count(*) FROM {table}").scalar_one())


def test_the_same_key_and_file_gets_the_same_answer(
    post: Post, database: Database, stored_files: Files
) -> None:
    first, again = post("k"), post("k")
    assert (first.status, again.status) == (202, 202)
    assert again.json == first.json
    assert again.headers["Location"] == first.headers["Location"]
    assert ("Idempotent-Replayed" in first.headers, again.headers["Idempotent-Replayed"]) == (False, "true")
    assert len(stored_files()) == 1
    assert count(database, "events") == 3  # one photo accepted, two tasks submitted


def test_without_a_key_the_second_answer_tells_that_the_photo_was_there(post: Post) -> None:
    post("k")
    assert (post("another").status, post("another").status, post("k").status) == (200, 200, 202)


def test_a_form_and_a_raw_body_of_the_same_file_are_the_same_upload(post: Post) -> None:
    body, content_type = multipart(("file", "a.jpg", jpeg()))
    other, other_type = multipart(("file", "a.jpg", jpeg()), boundary="b")
    first, again = post("k", body, content_type), post("k", other, other_type)
    assert (again.status, again.json["id"]) == (202, first.json["id"])
    assert post("k").json["id"] == first.json["id"]


def test_the_same_key_with_another_file_is_422_and_nothing_is_kept(
    post: Post, database: Database, stored_files: Files
) -> None:
    post("k")
    answer = post("k", jpeg(seed=1))
    assert (answer.status, answer.json["code"]) == (422, "idempotency-key-reused")
    assert (len(stored_files()), count(database, "photos")) == (1, 1)
    assert post("k").status == 202


def test_owners_do_not_share_keys(client: Client, auth: Auth, post: Post) -> None:
    post("k")
    answer = client.post("/v1/photos", data=jpeg(seed=1), headers={**auth("bert"), FIELD: "k"})
    assert answer.status == 202
    assert "Idempotent-Replayed" not in answer.headers


def test_while_the_first_is_under_way_the_second_is_409(post: Post, database: Database) -> None:
    first = Reservation(database, owner="anna", key="k")
    answer = post("k")
    assert (answer.status, answer.json["code"]) == (409, "idempotency-key-in-use")
    assert int(answer.headers["Retry-After"]) > 0
    first.release()
    assert post("k").status == 202


def test_many_at_once_make_one_photo_and_get_its_answer_or_409(app: Flask, key: dict[str, str]) -> None:
    def send(_: int) -> Answer:
        return Client(app).post("/v1/photos", data=jpeg(), headers={**key, FIELD: "k"})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(24)))
    assert {answer.status for answer in answers} <= {202, 409}
    taken = [answer for answer in answers if answer.status == 202]
    assert len({answer.json["id"] for answer in taken}) == 1
    assert sum("Idempotent-Replayed" not in answer.headers for answer in taken) == 1


def expire(database: Database) -> None:
    """Let every key's time be over."""
    with database.transaction() as tx:
        tx.execute("UPDATE idempotency_keys SET expires_at = clock_timestamp() - interval '1 ms'")


def test_a_key_is_forgotten_after_its_time(post: Post, database: Database) -> None:
    post("k")
    expire(database)
    assert post("k", jpeg(seed=1)).status == 202


def test_the_key_of_a_request_that_died_is_free_after_its_lease(post: Post, database: Database) -> None:
    Reservation(database, owner="anna", key="k")
    with database.transaction() as tx:
        query = "SELECT extract(epoch FROM expires_at - clock_timestamp()) FROM idempotency_keys"
        assert 0 < float(tx.execute(query).scalar_one()) <= LEASE_S
    expire(database)
    assert post("k").status == 202


@pytest.mark.parametrize("data", [b"", b"no picture at all"])
def test_an_upload_that_is_refused_gives_its_key_up(post: Post, data: bytes) -> None:
    assert post("k", data).status in (400, 415)
    assert post("k").status == 202


def test_a_deleted_photo_does_not_come_back_by_its_key(
    post: Post, client: Client, key: dict[str, str], stored_files: Files
) -> None:
    first = post("k")
    client.ask("DELETE", first.headers["Location"], headers=key)
    again = post("k")
    assert (again.status, again.json["code"]) == (404, "photo-not-found")
    assert stored_files() == []


@pytest.mark.parametrize("text", ["", " ", '"', '"a', '""', "x" * 256, "naïve", "a\tb", '"a", "b"'])
def test_a_malformed_key_is_told(post: Post, stored_files: Files, text: str) -> None:
    answer = post(text)
    assert (answer.status, answer.json["code"]) == (400, "malformed-idempotency-key")
    assert stored_files() == []


def test_a_quoted_key_is_the_bare_one(post: Post) -> None:
    assert "Idempotent-Replayed" not in post('"8e03978e-40d5"').headers
    assert "Idempotent-Replayed" in post("8e03978e-40d5").headers
    assert "Idempotent-Replayed" in post(' "8e03978e-40d5";p=1').headers


def test_a_reservation_outlasts_two_of_the_slowest_pieces() -> None:
    assert LEASE_S > 2 * PIECE_S + 30  # the renewal of one may fail, and the store be slow
