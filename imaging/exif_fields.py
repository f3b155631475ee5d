"""The fields of the interface, from raw tags: one unit each, null for what a file doesn't say or can't mean.

Tag names and meanings are EXIF 2.32, sections 4.6.4 to 4.6.6.
"""

import math
import re
from datetime import datetime

from imaging.exif_raw import number, text, windows_text
from imaging.exif_tags import Tags
from imaging.results import Json

EXPOSURE_PROGRAMS = {
    1: "manual",
    2: "normal",
    3: "aperture priority",
    4: "shutter priority",
    5: "creative",
    6: "action",
    7: "portrait",
    8: "landscape",
}
METERING_MODES = {
    1: "average",
    2: "center-weighted",
    3: "spot",
    4: "multi-spot",
    5: "pattern",
    6: "partial",
    255: "other",
}
WHITE_BALANCES = {0: "auto", 1: "manual"}
_DATE_TAGS = (
    ("DateTimeOriginal", "SubSecTimeOriginal", "OffsetTimeOriginal"),
    ("DateTimeDigitized", "SubSecTimeDigitized", "OffsetTimeDigitized"),
    ("DateTime", "SubSecTime", "OffsetTime"),
)
_DATE = re.compile(r"(\d{4})[:/.-](\d\d?)[:/.-](\d\d?)[ T]+(\d\d?):(\d\d?):(\d\d?)")
_OFFSET = re.compile(r"[+-](?:0\d|1[0-4]):[0-5]\d")
# ISO values that don't fit 16 bits are given in tags of their own (EXIF 2.32, 4.6.5 table 7)
_ISO_SATURATED = 65535


def normalise(tags: Tags) -> dict[str, Json]:
    """Give every field of the interface; lengths in mm and m, times in s, coordinates in degrees (WGS 84)."""
    taken_at, offset = _taken_at(tags)
    latitude, longitude = _place(tags)
    return {
        "make": _text(tags, "Make"),
        "model": _text(tags, "Model"),
        "lens_make": _text(tags, "LensMake"),
        "lens": _text(tags, "LensModel"),
        "software": _text(tags, "Software"),
        "artist": _text(tags, "Artist") or _windows_text(tags, "XPAuthor"),
        "copyright": _text(tags, "Copyright"),
        "description": _text(tags, "ImageDescription") or _windows_text(tags, "XPTitle"),
        "taken_at": taken_at,
        "taken_at_offset": offset,
        "exposure_time_s": _positive(tags, "ExposureTime"),
        "f_number": _positive(tags, "FNumber"),
        "iso": _iso(tags),
        "exposure_bias_ev": _number(tags, "ExposureBiasValue"),
        "exposure_program": _named(tags, "ExposureProgram", EXPOSURE_PROGRAMS),
        "metering_mode": _named(tags, "MeteringMode", METERING_MODES),
        "white_balance": _named(tags, "WhiteBalance", WHITE_BALANCES),
        "flash_fired": _flash_fired(tags),
        "focal_length_mm": _positive(tags, "FocalLength"),
        "focal_length_35mm_mm": _positive(tags, "FocalLengthIn35mmFilm"),
        "orientation": _orientation(tags),
        "latitude": latitude,
        "longitude": longitude,
        "altitude_m": _altitude_m(tags),
        "direction_deg": _direction_deg(tags),
    }


def _values(tags: Tags, name: str) -> list[object]:
    """Find a tag where it belongs, or in the main directory, where TIFF/EP has it; [] without one."""
    tag = tags.get(name) or tags.get(f"EXIF {name}") or tags.get(f"Image {name}")
    if tag is None:
        return []
    return list(tag.values) if isinstance(tag.values, list | tuple) else [tag.values]


def _text(tags: Tags, name: str) -> str | None:
    return next((text(value) for value in _values(tags, name)), None)


def _windows_text(tags: Tags, name: str) -> str | None:
    return windows_text(_values(tags, name))


def _number(tags: Tags, name: str) -> int | float | None:
    return next((number(value) for value in _values(tags, name)), None)


def _positive(tags: Tags, name: str) -> int | float | None:
    value = _number(tags, name)
    return value if value and value > 0 else None


def _named(tags: Tags, name: str, names: dict[int, str]) -> str | None:
    value = _number(tags, name)
    return names.get(int(value)) if value is not None else None


def _orientation(tags: Tags) -> int | None:
    value = _number(tags, "Orientation")
    return int(value) if value is not None and 1 <= value <= 8 else None


def _flash_fired(tags: Tags) -> bool | None:
    value = _number(tags, "Flash")
    return bool(int(value) & 1) if value is not None else None


def _iso(tags: Tags) -> int | None:
    """Read the sensitivity; of a list the first."""
    value = _positive(tags, "ISOSpeedRatings")
    if value is None or value == _ISO_SATURATED:
        value = _positive(tags, "RecommendedExposureIndex") or _positive(tags, "ISOSpeed") or value
    return int(value) if value else None


def _taken_at(tags: Tags) -> tuple[str | None, str | None]:
    """Find when the photo was taken.

    Returns:
        ISO 8601 with the sub-seconds and the UTC offset that the file states, and that offset. Without an
        offset the time is the camera's local one.
    """
    for date_name, fraction_name, offset_name in _DATE_TAGS:
        moment = _moment(_text(tags, date_name) or "")
        if moment:
            fraction = (_text(tags, fraction_name) or "")[:9]
            offset = _text(tags, offset_name) or ""
            fraction = f".{fraction}" if fraction.isascii() and fraction.isdigit() else ""
            known_offset = offset if _OFFSET.fullmatch(offset) else None
            return f"{moment.isoformat()}{fraction}{known_offset or ''}", known_offset
    return None, None


def _moment(value: str) -> datetime | None:
    parts = _DATE.match(value)
    if not parts:
        return None
    try:
        return datetime(*map(int, parts.groups()))  # type: ignore[arg-type]  # noqa: DTZ001 (local)
    except ValueError:
        return None


def _place(tags: Tags) -> tuple[float | None, float | None]:
    """Read latitude and longitude; both or neither, as half a place is none."""
    latitude = _degrees(tags, "GPS GPSLatitude", "NS", 90)
    longitude = _degrees(tags, "GPS GPSLongitude", "EW", 180)
    if latitude is None or longitude is None:
        return None, None
    return latitude, longitude


def _degrees(tags: Tags, name: str, hemispheres: str, limit: float) -> float | None:
    """Read degrees, minutes and seconds; the second of the hemispheres is negative."""
    parts = [number(value) for value in _values(tags, name)][:3]
    hemisphere = (_text(tags, f"{name}Ref") or "").upper()[:1]
    if not parts or not hemisphere or hemisphere not in hemispheres:
        return None
    degrees = 0.0
    for part, unit in zip(parts, (1, 60, 3600), strict=False):
        if part is None:
            return None
        degrees += part / unit
    if not abs(degrees) <= limit:
        return None
    return math.copysign(degrees, -1 if hemisphere == hemispheres[1] else 1)


def _altitude_m(tags: Tags) -> float | None:
    """Read the height over sea level, below it negative."""
    value = _number(tags, "GPS GPSAltitude")
    if not value:
        return value
    return -abs(value) if _number(tags, "GPS GPSAltitudeRef") == 1 else value


def _direction_deg(tags: Tags) -> float | None:
    value = _number(tags, "GPS GPSImgDirection")
    return value if value is not None and 0 <= value <= 360 else None
