"""The name that a photo came with: kept to show it and to offer it again, never to open anything."""

from __future__ import annotations

import unicodedata

MAX_CHARS = 255
# Line and paragraph ends, other controls, lone surrogates.
_DROPPED = {"Cc", "Cs", "Zl", "Zp"}
# They turn the text around them, so that `gpj.exe` reads `exe.jpg`.
_BIDI = set(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))


def tidy(text: str | None) -> str | None:
    """The last part of a path, without control characters; too long a name is cut before its ending.

    Returns:
        At most `MAX_CHARS` characters that fit in a header and in PostgreSQL; None if nothing is left.
    """
    name = (text or "").replace("\\", "/").rpartition("/")[2]
    name = "".join(char for char in name if unicodedata.category(char) not in _DROPPED and char not in _BIDI)
    name = name.strip()
    if len(name) > MAX_CHARS:
        stem, dot, ending = name.rpartition(".")
        kept = f"{dot}{ending}" if stem and len(ending) < 16 else ""
        name = name[: MAX_CHARS - len(kept)] + kept
    return name if name.strip(".") else None
