"""What is refused before anything is decoded, by the header alone."""

from typing import BinaryIO

from imaging import jpeg, tiff
from imaging.errors import CorruptImage

_JPEG_FACTOR = 4
"""How many times `max_pixels` a JPEG may have: its decoder leaves out all but every eighth pixel and row of a
picture so large. A progressive one, whose coefficients are all held at once, gets no more than others."""
# encoders write 10 or so; each costs a pass over the whole picture
_MAX_SCANS = 200


def pixel_limit(file: BinaryIO, media_type: str, max_pixels: int) -> int:
    """Say how many pixels a picture may have, and refuse structures that decoders take minutes for.

    Args:
        file: a seekable file, moved.
        media_type: as `formats.identify` gave it.
        max_pixels: the limit for pictures that have to be decoded whole.

    Raises:
        CorruptImage: a JPEG of hundreds of scans, a TIFF of as many pieces as no real picture has.
        ValueError: a JPEG without a frame header, which its decoder would look for to the end of the file.
    """
    if media_type == "image/tiff":
        ifd = next(tiff.directories(file), {})
        if max(len(ifd.get(tag, ())) for tag in (tiff.STRIP_OFFSETS, tiff.TILE_OFFSETS)) >= tiff.MAX_VALUES:
            raise CorruptImage("the picture is cut into more pieces than any real one")
    if media_type != "image/jpeg":
        return max_pixels
    frame = jpeg.frame(file)
    if frame is None:
        raise ValueError("no frame header that the decoder reads")
    if frame[0] == jpeg.PROGRESSIVE and jpeg.scans(file) > _MAX_SCANS:
        raise CorruptImage("the picture is given in more scans than any real one")
    return max_pixels * (_JPEG_FACTOR if frame[0] in jpeg.SEQUENTIAL else 1)
