"""Ids of requests and traces: taken from headers that are sound, made anew for all others."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import Headers

from api import tracing
from tests.http import Client

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
VALID = f"00-{TRACE}-{PARENT}-01"


@pytest.mark.parametrize(
    "traceparent",
    [
        VALID,
        f"00-{TRACE}-{PARENT}-00",
        f"00-{TRACE}-{PARENT}-ff",
        f"cc-{TRACE}-{PARENT}-01-what-will-be-here",
    ],
)
def test_a_valid_traceparent_gives_the_trace_id(traceparent: str) -> None:
    assert tracing.trace_id(Headers({"traceparent": traceparent})) == TRACE


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        TRACE,
        VALID.upper(),
        f"ff-{TRACE}-{PARENT}-01",
        f"0-{TRACE}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[1:]}-{PARENT}-01",
        f"00-{TRACE}-{PARENT[1:]}-01",
        f"00-{TRACE}-{PARENT}-1",
        f"00-{TRACE}-{PARENT}-0g",
        f"{VALID}-more",
        f"{VALID}-",
        f"cc-{TRACE}-{PARENT}-01.more",
        f"{VALID},{VALID}",
        f"{VALID}\n",
        f" {VALID}",
        VALID * 1_000,
    ],
)
def test_an_invalid_one_is_as_none_at_all(traceparent: str) -> None:
    headers = Headers()
    headers._list.append(("traceparent", traceparent))  # as a server may hand it over
    made = tracing.trace_id(headers)
    assert re.fullmatch("[0-9a-f]{32}", made)
    assert made != TRACE
    assert made != tracing.trace_id(headers)


@given(st.text())
def test_whatever_comes_the_ids_are_sound(text: str) -> None:
    headers = Headers()
    headers._list += [("traceparent", text), ("X-Request-ID", text)]
    assert re.fullmatch("[0-9a-f]{32}", tracing.trace_id(headers))
    assert re.fullmatch("[A-Za-z0-9.-]{1,64}", tracing.request_id(headers))


@pytest.mark.parametrize("given_id", ["a", "4bf92f35-77b3.4da6", "x" * 64])
def test_a_short_plain_request_id_is_kept(client: Client, given_id: str) -> None:
    answer = client.get("/livez", headers={"X-Request-ID": given_id, "traceparent": VALID})
    assert (answer.headers["X-Request-ID"], answer.headers["X-Trace-ID"]) == (given_id, TRACE)


@pytest.mark.parametrize("given_id", ["", "x" * 65, "a b", "a_b", "\x1b[31m", "sl_0123456789ab_" + "0" * 48])
def test_any_other_is_replaced(client: Client, given_id: str) -> None:
    answer = client.get("/livez", headers={"X-Request-ID": given_id})
    assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-ID"])
