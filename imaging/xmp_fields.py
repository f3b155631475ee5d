"""The fields of the interface from XMP, which repeats EXIF's as texts (XMP specification, part 2)."""

import math
import re
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction

from imaging.exif_fields import EXPOSURE_PROGRAMS, METERING_MODES, WHITE_BALANCES
from imaging.results import Json
from imaging.xmp import Properties

_NUMBER = re.compile(r"[+-]?\d{1,12}(?:\.\d{1,12})?(?:/[1-9]\d{0,11})?")
# ISO 8601 as XMP profiles it (part 1, 8.2.1.1); a date without a time says too little
_DATE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d)(:\d\d)?(\.\d{1,9})?(Z|[+-](?:0\d|1[0-4]):[0-5]\d)?")
# degrees, minutes, and either seconds or a part of the minutes (part 2, 1.2.7.4)
_PLACE = re.compile(r"(\d{1,3}),(\d{1,2}(?:\.\d{1,12})?)(?:,(\d{1,2}(?:\.\d{1,12})?))?([NSEW])")
_DATES = ("exif:DateTimeOriginal", "photoshop:DateCreated", "exif:DateTimeDigitized", "xmp:CreateDate")
_TEXTS = {
    "make": ("tiff:Make",),
    "model": ("tiff:Model",),
    "lens_make": ("exifEX:LensMake",),
    "lens": ("exifEX:LensModel", "aux:Lens"),
    "software": ("tiff:Software", "xmp:CreatorTool"),
    "artist": ("tiff:Artist", "dc:creator"),
    "copyright": ("tiff:Copyright", "dc:rights"),
    "description": ("tiff:ImageDescription", "dc:description"),
}


def normalise(properties: Properties) -> dict[str, Json]:
    """Give the fields that XMP has something usable for; units as in `exif_fields`."""
    taken_at, offset = _taken_at(properties)
    latitude, longitude = _place(properties)
    fields: dict[str, Json] = {
        name: next((properties[key] for key in keys if key in properties), None)
        for name, keys in _TEXTS.items()
    }
    fields |= {
        "taken_at": taken_at,
        "taken_at_offset": offset,
        "exposure_time_s": _positive(properties, "exif:ExposureTime"),
        "f_number": _positive(properties, "exif:FNumber"),
        "iso": _whole(
            properties, ("exif:ISOSpeedRatings", "exifEX:PhotographicSensitivity"), lambda value: value > 0
        ),
        "exposure_bias_ev": _number(properties, "exif:ExposureBiasValue"),
        "exposure_program": _named(properties, "exif:ExposureProgram", EXPOSURE_PROGRAMS),
        "metering_mode": _named(properties, "exif:MeteringMode", METERING_MODES),
        "white_balance": _named(properties, "exif:WhiteBalance", WHITE_BALANCES),
        "flash_fired": {"true": True, "false": False}.get(
            properties.get("exif:Flash/exif:Fired", "").lower()
        ),
        "focal_length_mm": _positive(properties, "exif:FocalLength"),
        "focal_length_35mm_mm": _positive(properties, "exif:FocalLengthIn35mmFilm"),
        "orientation": _whole(properties, ("tiff:Orientation",), lambda value: 1 <= value <= 8),
        "latitude": latitude,
        "longitude": longitude,
        "altitude_m": _altitude_m(properties),
        "direction_deg": _direction_deg(properties),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _number(properties: Properties, key: str) -> int | float | None:
    text = properties.get(key, "")
    if not _NUMBER.fullmatch(text):
        return None
    up, _, down = text.partition("/")
    value = Fraction(up) / Fraction(down or 1)
    return value.numerator if value.denominator == 1 else float(value)


def _positive(properties: Properties, key: str) -> int | float | None:
    value = _number(properties, key)
    return value if value and value > 0 else None


def _whole(properties: Properties, keys: tuple[str, ...], is_right: Callable[[float], bool]) -> int | None:
    values = (_number(properties, key) for key in keys)
    return next((int(value) for value in values if value is not None and is_right(value)), None)


def _named(properties: Properties, key: str, names: dict[int, str]) -> str | None:
    value = _number(properties, key)
    return names.get(int(value)) if value is not None else None


def _taken_at(properties: Properties) -> tuple[str | None, str | None]:
    for key in _DATES:
        parts = _DATE.fullmatch(properties.get(key, ""))
        if not parts:
            continue
        minutes, seconds, fraction, offset = parts.groups()
        try:
            moment = datetime.fromisoformat(minutes + (seconds or ":00"))
        except ValueError:
            continue
        offset = "+00:00" if offset == "Z" else offset
        return f"{moment.isoformat()}{fraction or ''}{offset or ''}", offset
    return None, None


def _place(properties: Properties) -> tuple[float | None, float | None]:
    latitude = _degrees(properties.get("exif:GPSLatitude", ""), "NS", 90)
    longitude = _degrees(properties.get("exif:GPSLongitude", ""), "EW", 180)
    return (latitude, longitude) if latitude is not None and longitude is not None else (None, None)


def _degrees(text: str, hemispheres: str, limit: float) -> float | None:
    parts = _PLACE.fullmatch(text)
    if not parts or parts[4] not in hemispheres:
        return None
    degrees = int(parts[1]) + float(parts[2]) / 60 + float(parts[3] or 0) / 3600
    return math.copysign(degrees, -1 if parts[4] == hemispheres[1] else 1) if degrees <= limit else None


def _altitude_m(properties: Properties) -> float | None:
    value = _number(properties, "exif:GPSAltitude")
    return -value if value and _number(properties, "exif:GPSAltitudeRef") == 1 else value


def _direction_deg(properties: Properties) -> float | None:
    value = _number(properties, "exif:GPSImgDirection")
    return value if value is not None and 0 <= value <= 360 else None
