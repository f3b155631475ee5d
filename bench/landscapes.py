"""Photos to show the console with: landscapes, each another one, drawn here: no file is kept."""

from __future__ import annotations

import io
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFilter

Colour = tuple[int, int, int]

_SIZES = ((1500, 1000), (1500, 1000), (1000, 1500), (1600, 900), (1200, 1200))
_CAMERAS = (("FUJIFILM", "X-T5"), ("NIKON CORPORATION", "NIKON Z 6_2"), ("Canon", "Canon EOS R6"))
_EXIF_IFD = 0x8769


@dataclass(frozen=True)
class Light:
    """A time of day: the sky's colours, from above to the horizon, the nearest hill's, the sun's."""

    name: str
    sky: tuple[Colour, Colour]
    hill: Colour
    sun: Colour
    stars: bool = False


LIGHTS = (
    Light("Dawn", ((94, 122, 168), (250, 196, 160)), (44, 48, 66), (255, 236, 200)),
    Light("Noon", ((64, 132, 206), (206, 230, 244)), (38, 84, 62), (255, 252, 236)),
    Light("Autumn", ((140, 160, 178), (244, 222, 180)), (112, 54, 26), (255, 240, 204)),
    Light("Dusk", ((58, 44, 92), (242, 120, 92)), (30, 20, 40), (255, 214, 150)),
    Light("Night", ((8, 12, 32), (44, 62, 104)), (6, 9, 18), (232, 236, 250), stars=True),
    Light("Desert", ((96, 150, 196), (248, 214, 168)), (150, 74, 40), (255, 244, 214)),
)


def landscape(seed: int) -> tuple[str, bytes]:
    """One photo, always the same of a seed: its file's name, and a JPEG with a camera's metadata."""
    dice = random.Random(seed)
    light = LIGHTS[seed % len(LIGHTS)]
    width, height = dice.choice(_SIZES)
    picture = _sky(light, width, height, dice)
    horizon, layers = dice.uniform(0.35, 0.6), dice.randint(4, 6)
    for layer in range(layers):
        nearness = (layer + 1) / layers
        base = height * (horizon + (1 - horizon) * 0.8 * nearness**1.4)
        _hill(
            picture, base, height * (0.22 - 0.1 * nearness), _mixed(light.sky[1], light.hill, nearness), dice
        )
    file = io.BytesIO()
    grain = Image.effect_noise((width, height), 18).convert("RGB")
    Image.blend(picture, grain, 0.03).save(file, "JPEG", quality=90, exif=_exif(seed, dice))
    return f"{light.name} {seed + 1:03}.jpg", file.getvalue()


def _sky(light: Light, width: int, height: int, dice: random.Random) -> Image.Image:
    fade = Image.linear_gradient("L").resize((width, height))
    sky = Image.composite(
        Image.new("RGB", fade.size, light.sky[1]), Image.new("RGB", fade.size, light.sky[0]), fade
    )
    glow = Image.new("L", fade.size)
    x, y, radius = width * dice.uniform(0.2, 0.8), height * dice.uniform(0.15, 0.4), width * 0.03
    pen = ImageDraw.Draw(glow)
    for factor, strength in ((6.0, 40), (3.0, 80), (1.0, 255)):
        reach = radius * factor
        pen.ellipse((x - reach, y - reach, x + reach, y + reach), fill=strength)
        glow = glow.filter(ImageFilter.GaussianBlur(radius * (factor - 1) / 2 + 1))
        pen = ImageDraw.Draw(glow)
    if light.stars:
        for _ in range(400):
            glow.putpixel((dice.randrange(width), dice.randrange(height // 2)), dice.randint(60, 255))
    return Image.composite(Image.new("RGB", fade.size, light.sun), sky, glow)


def _hill(picture: Image.Image, base: float, rough: float, colour: Colour, dice: random.Random) -> None:
    """A ridge by midpoint displacement, filled down to the foot; twice as fine, for smooth edges."""
    points = [dice.uniform(-1, 1), dice.uniform(-1, 1)]
    spread = 1.0
    while len(points) < 200:
        middles = [(a + b) / 2 + dice.uniform(-spread, spread) * 0.55 for a, b in pairwise(points)]
        points = [value for pair in zip(points, middles, strict=False) for value in pair] + [points[-1]]
        spread /= 2
    width, height = picture.size
    line = [
        (2 * width * at / (len(points) - 1), 2 * (base + rough * value)) for at, value in enumerate(points)
    ]
    mask = Image.new("L", (2 * width, 2 * height))
    ImageDraw.Draw(mask).polygon([*line, (2 * width, 2 * height), (0, 2 * height)], fill=255)
    picture.paste(colour, mask=mask.resize(picture.size, Image.Resampling.BOX))


def _mixed(far: Colour, near: Colour, share: float) -> Colour:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(far, near, strict=True))
    return red, green, blue


def _exif(seed: int, dice: random.Random) -> Image.Exif:
    """EXIF 2.32: Make, Model, DateTimeOriginal, ExposureTime, FNumber, ISO, FocalLength."""
    exif = Image.Exif()
    exif[0x010F], exif[0x0110] = dice.choice(_CAMERAS)
    taken_at = datetime(2026, 5, 1, 6) + timedelta(hours=7 * seed)  # noqa: DTZ001 - the camera's local time
    exif.get_ifd(_EXIF_IFD).update(
        {
            0x9003: taken_at.strftime("%Y:%m:%d %H:%M:%S"),
            0x829A: 1 / dice.choice((60, 125, 250, 500)),
            0x829D: dice.choice((2.8, 4.0, 5.6, 8.0)),
            0x8827: dice.choice((100, 200, 400, 1600)),
            0x920A: float(dice.choice((16, 23, 35, 56))),
        }
    )
    return exif
