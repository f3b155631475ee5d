"""Raw photos: where the largest preview in one lies, and what the photo itself is like.

Every camera writes a JPEG beside its sensor data, each in a place of its own (a directory, the maker notes, a
track). They are found by their content, so that the next camera's are found too.
"""

import io
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from imaging import exif_block, formats, isobmff, jpeg, tiff
from imaging.errors import TruncatedImage, UnsupportedFormat
from imaging.resize import Size

_MIN_EDGE_PX = 512
"""A preview whose longest edge is under this is a thumbnail, which shows too little of a photo."""
# sensor data can look like the beginning of a JPEG; a real one has its frame header after some 20 segments
_MAX_CANDIDATES, _MAX_STEPS = 4096, 100
# a preview within this part of the sensor's size is the whole photo, less the sensor's border
_BORDER = 0.05
_SENSOR_TOP, _SENSOR_LEFT, _SENSOR_BOTTOM, _SENSOR_RIGHT = 4, 5, 6, 7


@dataclass(frozen=True)
class RawPhoto:
    """What is shown of a raw photo, and what it really is."""

    preview: BinaryIO
    """A JPEG, with whatever stands behind it in the file."""
    size: Size
    """The photo's width and height as stored, in pixels."""
    orientation: int
    is_cut: bool
    """Whether the file ends before its sensor data does."""


def find(file: BinaryIO, media_type: str) -> RawPhoto:
    """Find the largest preview in a raw photo.

    Args:
        file: a file of the operating system's, moved.
        media_type: one of `formats.RAW`.

    Raises:
        UnsupportedFormat: there is none that is large enough to be shown.
        TruncatedImage: there is none, and the file is cut.
    """
    ifds = _directories(file, media_type)
    tiles = {at for ifd in ifds for at in ifd.get(tiff.TILE_OFFSETS, ())}
    # lossy sensor data comes in JPEG tiles, which are no pictures
    previews = [
        (width * height, at, (width, height)) for at, width, height in _jpegs(file) if at not in tiles
    ]
    _, at, shown = max(previews, default=(0, 0, (0, 0)))
    is_cut = _announced_bytes(file, media_type) > file.seek(0, io.SEEK_END)
    if max(shown) < _MIN_EDGE_PX:
        if is_cut:
            raise TruncatedImage("the raw photo ends before any preview large enough to be shown")
        raise UnsupportedFormat("the file seems to be a raw photo without a preview large enough to be shown")
    if media_type in formats.TIFF_RAW:
        orientation = next(iter(ifds[0].get(tiff.ORIENTATION, ())), 1) if ifds else 1
    else:
        orientation = tiff.orientation(exif_block.find(file, media_type))
    sizes = [*_raf_size(file, media_type), *_sizes(ifds)]
    preview = io.BufferedReader(cast(io.RawIOBase, _Rest(file, at)))
    return RawPhoto(preview, _photo_size(sizes, shown), orientation, is_cut)


def _directories(file: BinaryIO, media_type: str) -> list[tiff.Ifd]:
    if media_type in formats.TIFF_RAW:
        return list(tiff.directories(file))
    blocks = isobmff.canon_blocks(file).values() if media_type == "image/x-canon-cr3" else ()
    return [ifd for block in blocks for ifd in tiff.directories(io.BytesIO(block))]


def _announced_bytes(file: BinaryIO, media_type: str) -> int:
    """Say how long the file has to be for all that its headers name."""
    if media_type in formats.TIFF_RAW:
        return tiff.data_end(file)
    if media_type == "image/x-canon-cr3":
        return max((end for _, _, end in isobmff.top_boxes(file)), default=0)
    file.seek(formats.RAF_JPEG)
    numbers = [int.from_bytes(file.read(4), "big") for _ in range(6)]
    return max(map(sum, zip(numbers[::2], numbers[1::2], strict=True)))


def _jpegs(file: BinaryIO) -> Iterator[tuple[int, int, int]]:
    """Find all JPEGs in a file: where they begin, width, height."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at = -1
        for _ in range(_MAX_CANDIDATES):
            at = data.find(jpeg.START, at + 1)
            if at < 0:
                return
            frame = jpeg.frame(file, at, _MAX_STEPS)
            if frame:
                yield at, frame[1], frame[2]


def _sizes(ifds: list[tiff.Ifd]) -> Iterator[Size]:
    """Give what the directories say of the photo's size, the surest first."""
    main = [ifd for ifd in ifds if not next(iter(ifd.get(tiff.SUBFILE_TYPE, ())), 0) & 1]
    yield from _pairs(main, tiff.DEFAULT_CROP_SIZE)
    for ifd in ifds[:1]:
        if ifd.keys() >= {_SENSOR_TOP, _SENSOR_LEFT, _SENSOR_BOTTOM, _SENSOR_RIGHT}:  # Panasonic
            top, left, bottom, right = (
                sum(ifd[tag][:1]) for tag in (_SENSOR_TOP, _SENSOR_LEFT, _SENSOR_BOTTOM, _SENSOR_RIGHT)
            )
            yield right - left, bottom - top
    yield from _pairs(ifds, tiff.PIXEL_WIDTH, tiff.PIXEL_HEIGHT)
    yield from sorted(_pairs(main, tiff.WIDTH, tiff.HEIGHT), reverse=True)


def _pairs(ifds: list[tiff.Ifd], *tags: int) -> list[Size]:
    found = [sum((ifd.get(tag, ()) for tag in tags), ()) for ifd in ifds]
    return [(pair[0], pair[1]) for pair in found if len(pair) == 2]


def _raf_size(file: BinaryIO, media_type: str) -> Iterator[Size]:
    """Read the cropped size from a Fujifilm RAF's records of tag, length and content (published nowhere)."""
    if media_type != "image/x-fuji-raf":
        return
    file.seek(formats.RAF_JPEG + 8)
    file.seek(int.from_bytes(file.read(4), "big"))
    for _ in range(min(int.from_bytes(file.read(4), "big"), 256)):
        tag, length = (int.from_bytes(file.read(2), "big") for _ in range(2))
        record = file.read(length)
        if tag == 0x0111 and length == 4:
            yield int.from_bytes(record[2:], "big"), int.from_bytes(record[:2], "big")


def _photo_size(sizes: list[Size], shown: Size) -> Size:
    """Choose the photo's size: what the camera's own full-size preview has, or what the file says."""
    for size in sizes:
        if all(abs(side - seen) <= _BORDER * side for side, seen in zip(size, shown, strict=True)):
            return shown
        if size[0] * size[1] > shown[0] * shown[1]:
            return size
    return shown


class _Rest(io.RawIOBase):
    """The part of a file from a place on, as a file."""

    def __init__(self, file: BinaryIO, start: int) -> None:
        self._file, self._start = file, start
        self.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset + (self._start if whence == io.SEEK_SET else 0), whence) - self._start

    def tell(self) -> int:
        return self._file.tell() - self._start

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
