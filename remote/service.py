"""The client of the analysis service: one call at a time a thread, bounded in time and in bytes."""

from __future__ import annotations

import http.client
import json
import time
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.exceptions import ConnectionError as NoConnection

from remote.answer import Answer, answer_from, retry_after
from remote.breaker import Breaker
from remote.errors import RemoteBusy, RemoteRejected, RemoteTrouble, RemoteUnreachable

MAX_ANSWER_BYTES = 1024 * 1024
_PIECE_BYTES = 64 * 1024
_CONNECT_S = 3.0
_BUSY = (408, 425, 429)


class Service:
    """Asks the service, in either of its dialects; connections are kept. Follows no redirect, reads no
    environment, keeps no cookie: what is sent goes to the service's own origin, and nowhere else.

    Args:
        url: the service's.
        breaker: what spares it when it is dead.
        key: sent as a bearer token, if there is one.
        connections: calls at once; further ones wait.
        timeout_s: of one call, from its beginning to the answer's last byte.
    """

    def __init__(
        self, url: str, breaker: Breaker, *, key: str = "", connections: int = 8, timeout_s: float = 10.0
    ) -> None:
        self.url = url
        self.breaker = breaker
        self._timeout_s = timeout_s
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self._session.headers.update({"Accept": "application/json", "Accept-Encoding": "identity"})
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=connections, max_retries=0, pool_block=True)
        self._session.mount("http://", adapter)
        self._session.mount("https://", adapter)

    def submit(self, question: dict[str, Any], *, key: str) -> Answer:
        """Ask for the first time, or again where the service gave no operation's URL.

        Args:
            key: the `Idempotency-Key`: the same for the same question.

        Raises:
            RemoteTrouble, RemoteRejected, BreakerOpen
        """
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        return self._call("POST", self.url, headers, json.dumps(question).encode())

    def poll(self, operation_url: str) -> Answer:
        """Ask for an operation that the service named before.

        Raises:
            RemoteTrouble, RemoteRejected, BreakerOpen
        """
        return self._call("GET", operation_url, {}, None)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._session.close()

    def _call(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        until_s = time.monotonic() + self._timeout_s
        with self.breaker.guard():
            try:
                response = self._session.request(
                    method,
                    url,
                    headers=headers,
                    data=body,
                    stream=True,
                    allow_redirects=False,
                    timeout=(min(_CONNECT_S, self._timeout_s), self._timeout_s),
                )
                with response:
                    _check(response)
                    content = _content(response, until_s)
            except (OSError, urllib3.exceptions.HTTPError, http.client.HTTPException) as error:
                raise _trouble(error) from error
            return answer_from(response.status_code, response.headers, content, asked=url, of=self.url)


def _check(response: requests.Response) -> None:
    """Raises what a status that is no success means."""
    status = response.status_code
    after_s = retry_after(response.headers)
    if status in _BUSY:
        raise RemoteBusy(f"the service answers {status}", retry_after_s=after_s)
    if status >= 500:
        raise RemoteTrouble(f"the service answers {status}", retry_after_s=after_s)
    if status >= 300:
        raise RemoteRejected(f"the service answers {status}")
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise RemoteRejected("the service's answer is compressed, which wasn't asked for")


def _content(response: requests.Response, until_s: float) -> bytes:
    """The answer's body, as far as there is time and room for it."""
    content = bytearray()
    while piece := response.raw.read1(_PIECE_BYTES, decode_content=False):
        content += piece
        if len(content) > MAX_ANSWER_BYTES:
            raise RemoteRejected(f"the service's answer is larger than {MAX_ANSWER_BYTES:,} bytes")
        if time.monotonic() > until_s:
            raise RemoteTrouble("the service's answer takes too long")
    response.raw.drain_conn()  # at its end already; without it Python 3.11 doesn't keep the connection
    return bytes(content)


def _trouble(error: Exception) -> RemoteTrouble:
    """What a failed connection means; its text may have addresses in it, so only its kind is told."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    new = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
    if isinstance(error, NoConnection) and isinstance(reason, new):
        return RemoteUnreachable("no connection to the service comes about")
    return RemoteTrouble(f"the call to the service broke off ({type(error).__name__})")
