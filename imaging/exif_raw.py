"""Raw tags as JSON that PostgreSQL takes: no NUL, no lone surrogate, no NaN, nothing endless."""

import math
import re
from fractions import Fraction

from exifread.core.ifd_tag import IfdTag
from exifread.tags.fields import FieldType

from imaging.exif_tags import Tags
from imaging.results import Json

CUT = "…"
"""Stands at the end of a value that was cut."""

WINDOWS_TAGS = range(0x9C9B, 0x9CA0)
_MAX_TAGS = 500
_MAX_ITEMS = 64
_MAX_SIGNS = 1000
_BYTE_TYPES = (FieldType.BYTE, FieldType.UNDEFINED, FieldType.SIGNED_BYTE)
# PostgreSQL's jsonb takes neither NUL nor a surrogate without its other half
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def jsonable(tags: Tags) -> dict[str, Json]:
    """Turn tags into JSON values: text, numbers, lists of numbers.

    Blobs of bytes are left out, and so is all beyond 500 tags; texts over 1,000 signs and lists over 64 items
    are cut and end with CUT. Fractions with denominator 0, NaN and infinities become null.
    """
    values = {_text(name): _value(tag) for name, tag in list(tags.items())[:_MAX_TAGS] if not _is_blob(tag)}
    return {name: value for name, value in values.items() if value != []}


def text(values: object) -> str | None:
    """Read a text: up to the first NUL, without outer blanks; None where nothing is left or it is none."""
    if isinstance(values, bytes):
        values = values.decode("utf-8" if _is_utf8(values) else "latin-1")
    if not isinstance(values, str):
        return None
    return _text(values.split("\0", 1)[0].strip()) or None


def number(value: object) -> int | float | None:
    """Read one number; None for denominators of 0, NaN, infinities and what is no number."""
    if isinstance(value, tuple) and len(value) == 1:
        return number(value[0])  # exifread's floats
    if isinstance(value, Fraction):
        if value.denominator == 0:
            return None
        return value.numerator if value.denominator == 1 else value.numerator / value.denominator
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return None


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text(value: str) -> str:
    cleaned = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", value)
    return cleaned if len(cleaned) <= _MAX_SIGNS else cleaned[:_MAX_SIGNS] + CUT


def _is_text_in_bytes(tag: IfdTag) -> bool:
    """Tell whether exifread knows the bytes of a tag to be text, as with ExifVersion and UserComment."""
    return tag.field_type == FieldType.UNDEFINED and tag.prefer_printable


def _is_blob(tag: IfdTag) -> bool:
    return (
        tag.field_type in _BYTE_TYPES
        and tag.tag not in WINDOWS_TAGS
        and not _is_text_in_bytes(tag)
        and (tag.field_length > _MAX_SIGNS or len(tag.values) > _MAX_ITEMS)
    )


def windows_text(values: object) -> str | None:
    """Read a text of Windows Explorer's own tags, XPTitle to XPSubject, which are UTF-16 in bytes."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, int) for value in values):
        return None
    return text(bytes(value & 0xFF for value in values).decode("utf-16-le", "replace"))


def _value(tag: IfdTag) -> Json:
    if tag.tag in WINDOWS_TAGS:
        return windows_text(tag.values)
    if isinstance(tag.values, str | bytes):
        return text(tag.values)
    if _is_text_in_bytes(tag):
        return text(tag.printable)
    values = list(tag.values) if isinstance(tag.values, list | tuple) else [tag.values]
    numbers: list[Json] = [number(value) for value in values[:_MAX_ITEMS]]
    if len(values) > _MAX_ITEMS:
        numbers.append(CUT)
    return numbers[0] if len(numbers) == 1 else numbers
