"""Colour spaces that AVIF, HEIC and PNG name by numbers (ITU-T H.273) instead of embedding a profile.

They are made into ICC profiles of a matrix and a curve (ICC.1:2001, 6.3.1.2), to have one way to sRGB.
"""

import functools
import math
import struct
from collections.abc import Callable

Matrix = list[list[float]]
Primaries = tuple[float, float, float, float, float, float]

_PRIMARIES: dict[int, Primaries] = {
    9: (0.708, 0.292, 0.170, 0.797, 0.131, 0.046),  # BT.2020
    11: (0.680, 0.320, 0.265, 0.690, 0.150, 0.060),  # DCI P3
    12: (0.680, 0.320, 0.265, 0.690, 0.150, 0.060),  # Display P3
}
_BT_709: Primaries = (0.640, 0.330, 0.300, 0.600, 0.150, 0.060)
_D65, _D50 = (0.3127, 0.3290), (0.34570, 0.35854)
# the cone responses in which a white is adapted (ICC.1:2010, annex E)
_BRADFORD = [[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]]
_LINEAR, _PQ, _HLG = 8, 16, 18
_SDR_WHITE_NITS, _HDR_WHITE_NITS = 203, 1000  # BT.2408: diffuse white, and what stills are mastered for
_KNEE = 0.6
"""Up to this part of white HDR is shown as it is; what is brighter is pressed into the rest."""
_POINTS = 4096


@functools.lru_cache(maxsize=16)
def profile(primaries: int, transfer: int) -> bytes | None:
    """Make the ICC profile of a colour space.

    Args:
        primaries, transfer: numbers as in H.273, tables 2 and 3; high dynamic range (PQ, HLG) is pressed into
            the range of sRGB.

    Returns:
        The profile, or None for sRGB, for what is as good as that, and for numbers that mean nothing.
    """
    curve = {_LINEAR: _linear, _PQ: _pq, _HLG: _hlg, 4: _gamma(2.2), 5: _gamma(2.8)}.get(transfer)
    if curve is None and primaries not in _PRIMARIES:
        return None
    return icc(_PRIMARIES.get(primaries, _BT_709), curve or srgb)


def icc(primaries: Primaries, curve: Callable[[float], float], white: tuple[float, float] = _D65) -> bytes:
    """Write an ICC profile from chromaticities (x and y of red, green, blue) and the way to linear light."""
    columns = [_xyz(*primaries[at : at + 2]) for at in (0, 2, 4)]
    matrix = _transposed(columns)
    scales = _times(_inverse(matrix), _xyz(*white))
    to_d50 = _adaptation(white)
    colorants = [
        _times(to_d50, [scale * part for part in column])
        for scale, column in zip(scales, columns, strict=True)
    ]
    table = b"curv" + bytes(4) + struct.pack(">I", _POINTS)
    table += b"".join(struct.pack(">H", round(65535 * curve(at / (_POINTS - 1)))) for at in range(_POINTS))
    tags = {b"wtpt": _xyz_tag(_xyz(*_D50))}
    tags |= {name + b"XYZ": _xyz_tag(xyz) for name, xyz in zip((b"r", b"g", b"b"), colorants, strict=True)}
    places, data = b"", b""
    start = 128 + 4 + 12 * (len(tags) + 3)
    for name, content in tags.items():
        places += name + struct.pack(">2I", start + len(data), len(content))
        data += content
    for name in (b"rTRC", b"gTRC", b"bTRC"):
        places += name + struct.pack(">2I", start + len(data), len(table))
    body = struct.pack(">I", len(tags) + 3) + places + data + table
    head = struct.pack(">I4sI4s4s4s", 128 + len(body), b"", 0x02400000, b"mntr", b"RGB ", b"XYZ ")
    head += bytes(12) + b"acsp" + bytes(28) + _xyz_tag(_xyz(*_D50))[8:]
    return head.ljust(128, b"\0") + body


def srgb(value: float) -> float:
    """Give the linear light of an sRGB value (IEC 61966-2-1)."""
    return value / 12.92 if value <= 0.04045 else math.pow((value + 0.055) / 1.055, 2.4)


def _gamma(exponent: float) -> Callable[[float], float]:
    return lambda value: math.pow(value, exponent)


def _linear(value: float) -> float:
    return value


def _pq(value: float) -> float:
    """Show SMPTE ST 2084, which is absolute, in the range of sRGB."""
    root = value ** (1 / 78.84375)
    return _pressed(
        10_000 * (max(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)) ** (1 / 0.1593017578125)
    )


def _hlg(value: float) -> float:
    """Show BT.2100 hybrid log-gamma, at the system gamma of its reference display, in the range of sRGB."""
    scene = (
        value * value / 3 if value <= 0.5 else (math.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12
    )
    return _pressed(_HDR_WHITE_NITS * scene**1.2)


def _pressed(nits: float) -> float:
    light, brightest = nits / _SDR_WHITE_NITS, _HDR_WHITE_NITS / _SDR_WHITE_NITS
    if light <= _KNEE:
        return light
    over, most = ((at - _KNEE) / (1 - _KNEE) for at in (light, brightest))
    return min(1.0, _KNEE + (1 - _KNEE) * over * (1 + over / most**2) / (1 + over))


def _xyz(x: float, y: float) -> list[float]:
    return [x / y, 1.0, (1 - x - y) / y]


def _xyz_tag(xyz: list[float]) -> bytes:
    return b"XYZ " + bytes(4) + struct.pack(">3i", *(round(part * 65536) for part in xyz))


def _adaptation(white: tuple[float, float]) -> Matrix:
    """Take colours seen under a white to those seen under D50."""
    before, after = _times(_BRADFORD, _xyz(*white)), _times(_BRADFORD, _xyz(*_D50))
    scaled = [
        [new / old * part for part in row] for old, new, row in zip(before, after, _BRADFORD, strict=True)
    ]
    back = _inverse(_BRADFORD)
    return _transposed([_times(back, column) for column in _transposed(scaled)])


def _times(matrix: Matrix, vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _transposed(matrix: Matrix) -> Matrix:
    return [list(row) for row in zip(*matrix, strict=True)]


def _inverse(matrix: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = matrix
    cofactors = [
        [e * i - f * h, c * h - b * i, b * f - c * e],
        [f * g - d * i, a * i - c * g, c * d - a * f],
        [d * h - e * g, b * g - a * h, a * e - b * d],
    ]
    determinant = a * cofactors[0][0] + b * cofactors[1][0] + c * cofactors[2][0]
    return [[part / determinant for part in row] for row in cofactors]
