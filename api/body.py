"""A request's body as it comes: never taken for whole when it isn't, never waited for without end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator

from flask import Request, Response, g

from api.digests import Digests
from api.errors import Problem
from api.patience import PIECE_BYTES, PIECE_S, Limit, connection_of, hear_out, watch
from photos.errors import UploadTooLarge

# Nobody is waited for who has sent nothing for so long.
_STALL_S = 30.0
# A refused client is listened to for so long, so that it gets to read the answer.
_LINGER_S = 5.0
# The server itself reads what is left of a body that is no larger (gunicorn's `finish_body`).
_SMALL_BYTES = 64 * 1024
# Of a body that isn't an upload: JSON, or a form.
SMALL_S = 15.0


class Body:
    """Reads the body of the current request, once, and checks it by the digests that the request states.

    Werkzeug can't tell a body's end from its client's under a server that terminates bodies itself, as
    gunicorn does: half a file would pass for a whole one. So the bytes are counted here.

    Args:
        each: called for each piece that has come.

    Raises:
        UploadTooLarge: it says that it is larger than `max_bytes`.
        Problem: its digests are malformed.
    """

    def __init__(self, request: Request, *, max_bytes: int, each: Callable[[], None] = lambda: None) -> None:
        self._stream = request.environ["wsgi.input"]
        self._socket = connection_of(request)
        self._length = request.content_length  # None if it comes in chunks
        self._max_bytes = max_bytes
        self._each = each
        self._digests = Digests(request.headers)
        if self._length is not None:
            self._check(self._length)

    def chunks(self) -> Iterator[bytes]:
        """The body, in pieces of at most `PIECE_BYTES`.

        Raises:
            Problem: it ends before its length, it stalls or trickles, its framing is malformed, or it isn't
                what its digests say.
            UploadTooLarge
        """
        taken = 0
        while chunk := self._read(
            PIECE_BYTES if self._length is None else min(PIECE_BYTES, self._length - taken)
        ):
            g.body_bytes = taken = taken + len(chunk)
            self._check(taken)
            self._digests.update(chunk)
            self._each()
            yield chunk
        if self._length is not None and taken < self._length:
            raise Problem(400, "incomplete-body", f"{self._length:,} bytes were announced, {taken:,} came")
        g.body_ended = True
        self._digests.check()

    def _read(self, size_bytes: int) -> bytes:
        with watch.limit(self._socket, within_s=PIECE_S, how=socket.SHUT_RD) as limit:
            if self._socket is not None:
                self._socket.settimeout(_STALL_S)
            try:
                data: bytes = self._stream.read(size_bytes)
            except TimeoutError as error:
                raise Problem(408, "upload-stalled", f"nothing came for {_STALL_S:.0f} s") from error
            except Exception as error:  # the server's own errors, of no common kind
                _refuse_if_over(limit)
                raise Problem(400, "malformed-body", f"the body can't be read: {error}") from error
            finally:
                if self._socket is not None:
                    self._socket.settimeout(None)
        _refuse_if_over(limit)
        return data

    def _check(self, size_bytes: int) -> None:
        if size_bytes > self._max_bytes:
            raise UploadTooLarge(f"the body is larger than {self._max_bytes:,} bytes")


def _refuse_if_over(limit: Limit | None) -> None:
    if limit is not None and limit.over:
        rate = f"{PIECE_BYTES // 1024} KiB in {PIECE_S:.0f} s"
        raise Problem(408, "upload-too-slow", f"the body comes too slowly: less than {rate}")


def read_small(request: Request) -> None:
    """Read a body that isn't streamed, within `SMALL_S`, and keep it for whoever parses it.

    Raises:
        Problem: it comes too slowly, or ends before its length.
        werkzeug.exceptions.RequestEntityTooLarge: it is larger than Flask's MAX_CONTENT_LENGTH.
    """
    with watch.limit(connection_of(request), within_s=SMALL_S, how=socket.SHUT_RD) as limit:
        data = request.get_data(cache=True)
    if limit is not None and limit.over:
        raise Problem(408, "upload-too-slow", f"the body didn't come within {SMALL_S:.0f} s")
    if len(data) < (request.content_length or 0):
        raise Problem(400, "incomplete-body", f"{request.content_length:,} bytes were announced")
    g.body_ended = True


def linger(request: Request, response: Response) -> None:
    """Have a refused client's unread body read once the answer is sent."""
    connection = connection_of(request)
    length = request.content_length or 0
    unread = (length > _SMALL_BYTES or "HTTP_TRANSFER_ENCODING" in request.environ) and "body_ended" not in g
    if connection is not None and unread:
        response.call_on_close(lambda: hear_out(connection, within_s=_LINGER_S))
