"""Photos to measure with: generated, alike wherever Pillow is, and as detailed as a camera's."""

from __future__ import annotations

import io
import os
import random
from dataclasses import dataclass
from pathlib import Path

import PIL
from PIL import Image, ImageDraw
from PIL.ExifTags import GPS, IFD, Base

_VERSION = 1  # of what is drawn here; kept photos of another are made anew
_OCTAVES = (5, 12, 30, 75, 190, 480)
_ORIENTATIONS = (1, 6, 1, 1, 8, 1, 3, 1)
_MAKER_NOTE_BYTES = 2_000


@dataclass(frozen=True)
class Kind:
    """What one camera makes.

    Args:
        noise: how much of the luma is a sensor's noise, 0 to 1. It decides the size of the file.
        subsampling: of chroma, as Pillow names it.
    """

    width: int
    height: int
    quality: int
    noise: float
    subsampling: str
    make: str
    model: str


KINDS = {
    "2mp": Kind(1632, 1224, 86, 0.08, "4:2:0", "samsung", "SM-A127F"),
    "12mp": Kind(4032, 3024, 89, 0.08, "4:2:0", "Apple", "iPhone 14 Pro"),
    "24mp": Kind(6000, 4000, 91, 0.07, "4:2:2", "Canon", "Canon EOS R10"),
    "small": Kind(560, 420, 75, 0.02, "4:2:0", "Canon", "Canon EOS R10"),
}
# 5 of 12, 4 of 24 and 3 of 2 megapixels, no two of a kind in a row
MIXED = ("12mp", "24mp", "2mp", "12mp", "24mp", "12mp", "2mp", "24mp", "12mp", "24mp", "2mp", "12mp")
TWO_MEGAPIXELS = ("2mp",) * 4
SMALL = ("small",) * 16


@dataclass(frozen=True)
class Photo:
    """One generated file."""

    name: str
    kind: Kind
    data: bytes

    def unique(self, text: str) -> list[bytes]:
        """The file's bytes in parts, with a comment (COM, ITU-T T.81 B.2.4.5) behind its metadata.

        No two uploads are the same file then, and none is recognised as one that was there before.
        """
        comment = text.encode()
        segment = b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment
        cut = _behind_metadata(self.data)
        return [self.data[:cut], segment, self.data[cut:]]


def photos(kinds: tuple[str, ...], kept: Path) -> list[Photo]:
    """One photo for each name of a kind, none like another.

    Args:
        kept: a folder for them, so that a second run has them at once.
    """
    kept.mkdir(parents=True, exist_ok=True)
    made = []
    for seed, name in enumerate(kinds):
        path = kept / f"{name}-{seed}-{_VERSION}-pillow{PIL.__version__}.jpg"
        if not path.exists():
            unfinished = path.with_suffix(f".{os.getpid()}")  # another run may be at it too
            unfinished.write_bytes(generate(KINDS[name], seed))
            unfinished.rename(path)
        made.append(Photo(f"{name}-{seed}.jpg", KINDS[name], path.read_bytes()))
    return made


def generate(kind: Kind, seed: int) -> bytes:
    """Make one photo: a JPEG with EXIF and GPS; the same bytes for the same kind and seed."""
    dice = random.Random(f"{kind.model} {seed}")
    size = (kind.width, kind.height)
    luma = _texture(dice, size, _OCTAVES)
    _draw_edges(dice, luma)
    noise = Image.frombytes("L", size, dice.randbytes(kind.width * kind.height))
    chroma = [_texture(dice, size, _OCTAVES[:3]).point(_muted) for _ in range(2)]
    picture = Image.merge("YCbCr", [Image.blend(luma, noise, kind.noise), *chroma])
    out = io.BytesIO()
    exif = _exif(dice, kind, _ORIENTATIONS[seed % len(_ORIENTATIONS)])
    picture.save(out, "JPEG", quality=kind.quality, subsampling=kind.subsampling, exif=exif)
    return out.getvalue()


def _texture(dice: random.Random, size: tuple[int, int], octaves: tuple[int, ...]) -> Image.Image:
    """Random patches, coarse ones and finer ones over them: about the spectrum of a landscape."""
    whole = Image.new("L", size, 128)
    for number, across in enumerate(octaves):
        down = across * size[1] // size[0] + 1
        patches = Image.frombytes("L", (across, down), dice.randbytes(across * down))
        whole = Image.blend(whole, patches.resize(size, Image.Resampling.BICUBIC), 0.55 * 0.72**number)
    return whole


def _draw_edges(dice: random.Random, luma: Image.Image) -> None:
    """Houses, signs and branches: the hard edges that a resize shows its quality at."""
    draw, (width, height) = ImageDraw.Draw(luma), luma.size
    for _ in range(40):
        left, top = dice.randrange(width), dice.randrange(height // 3, height)
        right, bottom = left + dice.randrange(8, width // 9), top + dice.randrange(8, height // 9)
        draw.rectangle((left, top, right, bottom), fill=dice.randrange(20, 235))
        for _ in range(6):
            end = (left + dice.randint(-width, width) // 8, top - dice.randrange(height // 4))
            draw.line((left, top, *end), fill=dice.randrange(20, 235), width=dice.randint(1, 5))


def _muted(value: float) -> float:
    return 128 + (value - 128) * 0.35


def _exif(dice: random.Random, kind: Kind, orientation: int) -> bytes:
    """What a camera writes (EXIF 2.32), a MakerNote too; without the embedded thumbnail."""
    exif = Image.Exif()
    taken_at = f"2026:0{dice.randint(1, 9)}:{dice.randint(10, 28)} 08:30:{dice.randint(10, 59)}"
    exif.update({Base.Make: kind.make, Base.Model: kind.model, Base.Orientation: orientation})
    exif.update({Base.DateTime: taken_at, Base.Software: "1.0"})
    exif.get_ifd(IFD.Exif).update(
        {
            Base.ExposureTime: 1 / dice.randint(30, 2000),
            Base.FNumber: dice.choice((1.8, 2.8, 4.0, 8.0)),
            Base.ISOSpeedRatings: dice.choice((50, 100, 400, 3200)),
            Base.ExifVersion: b"0232",
            Base.DateTimeOriginal: taken_at,
            Base.OffsetTimeOriginal: "+03:00",
            Base.FocalLength: 6.86,
            Base.MakerNote: b"BENCH\0" + dice.randbytes(_MAKER_NOTE_BYTES),
            Base.LensModel: f"{kind.model} 6.86mm f/1.78",
        }
    )
    exif.get_ifd(IFD.GPSInfo).update(
        {
            GPS.GPSVersionID: b"\2\3\0\0",
            GPS.GPSLatitudeRef: "N",
            GPS.GPSLatitude: (float(dice.randint(35, 55)), float(dice.randrange(60)), 12.5),
            GPS.GPSLongitudeRef: "E",
            GPS.GPSLongitude: (float(dice.randint(20, 80)), float(dice.randrange(60)), 30.25),
            GPS.GPSAltitudeRef: b"\0",
            GPS.GPSAltitude: float(dice.randint(1, 900)),
        }
    )
    return exif.tobytes()


def _behind_metadata(data: bytes) -> int:
    """Where the APPn segments at a JPEG's beginning end (ITU-T T.81, B.1.1)."""
    at = 2
    while data[at] == 0xFF and 0xE0 <= data[at + 1] <= 0xEF:
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return at
