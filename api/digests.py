"""`Content-Digest` and `Repr-Digest` (RFC 9530): what a client says of its bytes, checked; and ours."""

from __future__ import annotations

import hashlib
from typing import cast

import http_sf
from werkzeug.datastructures import Headers

from api.errors import Problem

# An upload has no content coding, so the two fields say the same of it.
FIELDS = ("Content-Digest", "Repr-Digest")
_ALGORITHMS = {"sha-256": "sha256", "sha-512": "sha512"}
PARAMETERS = [
    {
        "in": "header",
        "name": name,
        "schema": {"type": "string"},
        "description": "of the body (RFC 9530): sha-256 and sha-512 are checked, others passed over",
    }
    for name in FIELDS
]


class Digests:
    """What the headers of a body, or of one part of it, state; other algorithms than ours are passed over.

    Raises:
        Problem: a field is malformed.
    """

    def __init__(self, headers: Headers) -> None:
        self._expected = [
            (field, algorithm, digest)
            for field in FIELDS
            for algorithm, digest in _stated(headers, field).items()
        ]
        self._hashes = {name: hashlib.new(_ALGORITHMS[name]) for _, name, _ in self._expected}

    def update(self, data: bytes) -> None:
        """Take the next bytes into account."""
        for each in self._hashes.values():
            each.update(data)

    def check(self) -> None:
        """Raises Problem if the bytes aren't what was stated of them."""
        for field, algorithm, digest in self._expected:
            if self._hashes[algorithm].digest() != digest:
                found = digest_field(algorithm, self._hashes[algorithm].digest())
                raise Problem(400, "digest-mismatch", f"{field} doesn't fit what came: that has {found}")


def digest_field(algorithm: str, digest: bytes) -> str:
    """A digest as the value of either field."""
    return http_sf.ser({algorithm: digest})


def _stated(headers: Headers, field: str) -> dict[str, bytes]:
    """The field's digests by those algorithms that we know."""
    try:
        value = ",".join(headers.getlist(field)).encode("latin-1")
        parsed = cast(dict[str, tuple[object, object]], http_sf.parse(value, tltype="dictionary"))
    except ValueError as error:
        raise _malformed(field, str(error)) from error
    found = {}
    for algorithm, (digest, _) in parsed.items():
        if algorithm not in _ALGORITHMS:
            continue
        if not isinstance(digest, bytes) or len(digest) != hashlib.new(_ALGORITHMS[algorithm]).digest_size:
            raise _malformed(field, f"{algorithm} isn't a digest of its length")
        found[algorithm] = digest
    return found


def _malformed(field: str, detail: str) -> Problem:
    return Problem(400, "malformed-digest", f"{field} is malformed (RFC 9530): {detail}")
