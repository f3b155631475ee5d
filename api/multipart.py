"""Forms (RFC 7578), read piece by piece, and forgiving about what clients put into their heads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from api.body import Body
from api.errors import Problem
from api.patience import PIECE_BYTES

FIELD = "file"
# A form is larger than its files by its parts' heads and its other fields.
EXTRA_BYTES = 1024 * 1024
# What the decoder may hold: a piece, what it kept of the one before, and a part's head.
_DECODER_BYTES = 4 * PIECE_BYTES
_PLAIN_NAME = re.compile(r';\s*filename\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;]*)', re.IGNORECASE)
_EXTENDED_NAME = re.compile(r";\s*filename\*", re.IGNORECASE)


class _Decoder(MultipartDecoder):
    """Werkzeug's, which takes only heads in UTF-8: a file name in Latin-1 is no reason to refuse a photo."""

    def _parse_headers(self, data: bytes | bytearray) -> Headers:
        return super()._parse_headers(as_text(bytes(data)).encode())


def events(body: Body, boundary: str, *, max_parts: int) -> Iterator[File | Field | Data]:
    """The form's parts: the head of each, then its data, piece by piece; `more_data` is False with the last.

    Raises:
        Problem: the form is malformed, or has too many parts.
        UploadTooLarge
    """
    if not boundary:
        raise Problem(400, "malformed-multipart", "the multipart body's boundary isn't given")
    try:
        decoder = _Decoder(boundary.encode("ascii"), _DECODER_BYTES, max_parts=max_parts)
        for chunk in chain(body.chunks(), [None]):
            decoder.receive_data(chunk)
            while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
                if isinstance(event, File | Field | Data):
                    yield event
    except ValueError as error:
        raise Problem(400, "malformed-multipart", f"the multipart body is malformed: {error}") from error
    except RequestEntityTooLarge as error:
        detail = f"over {max_parts} parts, or over {_DECODER_BYTES:,} bytes around them"
        raise Problem(400, "malformed-multipart", f"the multipart body has {detail}") from error


def filename_of(disposition: str) -> str | None:
    """The file name in a Content-Disposition; `filename*` counts more, wherever it stands (RFC 6266, 4.3)."""
    if _EXTENDED_NAME.search(disposition):
        disposition = _PLAIN_NAME.sub("", disposition)
    return parse_options_header(disposition)[1].get("filename")


def as_text(value: bytes) -> str:
    """Text in the UTF-8 that clients should send, else in Latin-1, which anything is."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")
