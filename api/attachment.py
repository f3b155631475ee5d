"""`Content-Disposition` for a file to be kept, whatever its name (RFC 6266)."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote

from werkzeug.http import dump_options_header


def attachment(filename: str) -> str:
    """The header's value: a plain name for old clients, and the whole one in UTF-8 where that differs."""
    plain = unicodedata.normalize("NFKD", filename).encode("ascii", "ignore").decode()
    names = {"filename": plain or "photo"}
    if plain != filename:
        names["filename*"] = f"UTF-8''{quote(filename, safe='')}"
    return dump_options_header("attachment", names)
