"""Forms (RFC 7578), read piece by piece, and forgiving about what clients put into their heads."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from multipart import MultipartSegment, PushMultipartParser
from werkzeug.datastructures import Headers
from werkzeug.http import parse_options_header

from api.errors import Problem

FIELD = "file"
# A form is larger than its files by its parts' heads and its other fields.
EXTRA_BYTES = 1024 * 1024
# What a part's head may hold; a file name with its folders, percent-encoded, is no longer than one header.
_MAX_HEADER_BYTES = 16 * 1024
_MAX_HEADERS = 32
_PLAIN_NAME = re.compile(r';\s*filename\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^;]*)', re.IGNORECASE)
_EXTENDED_NAME = re.compile(r";\s*filename\*", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """The head of one part; who sent no name, or no file name, gave None."""

    name: str | None
    filename: str | None
    headers: Headers


def events(chunks: Iterable[bytes], boundary: str, *, max_parts: int) -> Iterator[Part | bytes | None]:
    """The form's parts: the head of each, then its data, piece by piece, then None.

    Raises:
        Problem: the form is malformed, ends before its closing boundary, or has too many parts.
    """
    if not boundary:
        raise Problem(400, "malformed-multipart", "the multipart body's boundary isn't given")
    try:
        with PushMultipartParser(
            boundary.encode("ascii"),
            max_header_size=_MAX_HEADER_BYTES,
            max_header_count=_MAX_HEADERS,
            max_segment_count=max_parts,
            header_charset="latin-1",  # which anything is
        ) as parser:
            for chunk in chunks:
                for event in parser.parse(chunk):
                    yield _part(event) if isinstance(event, MultipartSegment) else event
    except ValueError as error:
        raise Problem(400, "malformed-multipart", f"the multipart body is malformed: {error}") from error


def _part(segment: MultipartSegment) -> Part:
    """A part's head, each header in the charset that it really is in."""
    headers = Headers(
        [(name, as_text(value.encode("latin-1")).strip(" \t")) for name, value in segment.headerlist]
    )
    disposition = headers["Content-Disposition"]
    return Part(parse_options_header(disposition)[1].get("name"), filename_of(disposition), headers)


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
