"""What a file is, told by its first bytes; its name and declared type don't count."""

import codecs
import io
import re
from typing import BinaryIO

from imaging import tiff
from imaging.errors import NotAnImage, UnsupportedFormat

HEAD_BYTES = 4096
"""How many bytes from the start of a file `sniff` wants (fewer if the file is shorter)."""

RAF_JPEG = 84
"""Where a Fujifilm RAF names its JPEG, records and sensor data: place and length of each, big-endian."""

_ACCEPTED = (
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"FUJIFILMCCD-RAW"), "image/x-fuji-raf"),
    (re.compile(rb"IIR[OS]|MMOR"), "image/x-olympus-orf"),
    (re.compile(rb"IIU\0"), "image/x-panasonic-rw2"),
    (re.compile(rb"BM.{4}\0{4}.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\0\0\0", re.DOTALL), "image/bmp"),
)
_TIFF = re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+")

_REFUSED = (
    (re.compile(rb"%PDF-"), "a PDF document"),
    (re.compile(rb"%!PS|\xc5\xd0\xd3\xc6"), "a PostScript document"),
    (re.compile(rb"8BPS"), "a Photoshop document"),
    (re.compile(rb"\xff\x0a|\0\0\0\x0cJXL "), "a JPEG XL picture"),
    (re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51"), "a JPEG 2000 picture"),
    (re.compile(rb"\0\0[\x01\x02]\0[^\0]\0"), "an icon"),
    (re.compile(rb"\x76\x2f\x31\x01"), "an OpenEXR picture"),
    (re.compile(rb"#\?(?:RADIANCE|RGBE)"), "a Radiance HDR picture"),
    (re.compile(rb"DDS "), "a DirectDraw texture"),
    (re.compile(rb"gimp xcf"), "a GIMP document"),
    (re.compile(rb"qoif"), "a QOI picture"),
    (re.compile(rb"P[1-7]\s"), "a Netpbm picture"),
    (re.compile(rb".{128}DICM", re.DOTALL), "a DICOM medical image"),
    (re.compile(rb"II\x1a\0\0\0HEAP"), "a raw photo (Canon CRW)"),
    (re.compile(rb"FOVb"), "a raw photo (Sigma X3F)"),
    (re.compile(rb"\0MRM"), "a raw photo (Minolta MRW)"),
    (re.compile(rb"RIFF....AVI |\x1aE\xdf\xa3|FLV\x01", re.DOTALL), "a video"),
    (re.compile(rb"RIFF....WAVE|ID3|fLaC|OggS|FORM....AIF", re.DOTALL), "a sound recording"),
    (re.compile(rb"PK\x03\x04"), "a ZIP archive or an office document"),
    (re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd"), "a compressed archive"),
    (
        re.compile(rb"\s*(?:<\?xml.*|<!--.*|<!DOCTYPE svg.*)?<svg[\s>/]", re.DOTALL | re.IGNORECASE),
        "an SVG drawing",
    ),
)
_NO_IMAGE = (
    (re.compile(rb"\x7fELF|MZ"), "a program"),
    (re.compile(rb"#!"), "a script"),
    (re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE), "a web page"),
)
_HEIC_BRANDS = {b"heic", b"heim", b"heis", b"hevc"}
_AVIF_BRANDS = {b"avif", b"avis"}
# the brands of more than 8 bits are named by the general type, which they are of too, as ExifTool does: what
# takes image/heic need not take them
_HEIF_BRANDS = {b"heix", b"hevx", b"mif1", b"mif2", b"msf1"}
# compressions of sensor data that only raw files use: Sony, Nikon, Pentax, Kodak
_RAW_COMPRESSIONS = {32767, 34713, 65535, 65000}
# the makers whose raw files are TIFF structures with an embedded preview, by how their names begin
_RAW_MAKES = {
    b"NIKON": "image/x-nikon-nef",
    b"SONY": "image/x-sony-arw",
    b"PENTAX": "image/x-pentax-pef",
    b"RICOH": "image/x-pentax-pef",
    b"SAMSUNG": "image/x-samsung-srw",
}
TIFF_RAW = frozenset(
    {
        "image/x-adobe-dng",
        "image/x-canon-cr2",
        "image/x-olympus-orf",
        "image/x-panasonic-rw2",
        *_RAW_MAKES.values(),
    }
)
"""Raw photos that are TIFF structures."""
RAW = TIFF_RAW | {"image/x-canon-cr3", "image/x-fuji-raf"}
"""Raw photos: sensor data, with a JPEG beside it for those who only want to look."""


def sniff(head: bytes) -> str:
    """Name the media type of an accepted photo.

    Args:
        head: the first HEAD_BYTES bytes of the file, or all of a shorter one.

    Returns:
        A media type such as "image/jpeg" or "image/heic".

    Raises:
        UnsupportedFormat: a known format that is not accepted; says what the file seems to be.
        NotAnImage: anything else, an empty file too.
    """
    for pattern, media_type in _ACCEPTED:
        if pattern.match(head):
            return media_type
    if head[4:8] == b"ftyp":
        return _sniff_iso(head)
    if _TIFF.match(head):
        return _sniff_tiff(io.BytesIO(head))
    for pattern, kind in _REFUSED:
        if pattern.match(head):
            raise UnsupportedFormat(f"the file seems to be {kind}, which is not supported")
    raise NotAnImage(f"the file is not a picture: it seems to be {_describe(head)}")


def identify(file: BinaryIO) -> str:
    """Name the media type of a whole file, as `sniff` does, but see TIFF directories beyond its head too."""
    file.seek(0)
    media_type = sniff(file.read(HEAD_BYTES))
    return _sniff_tiff(file) if media_type == "image/tiff" else media_type


def _sniff_iso(head: bytes) -> str:
    """Name a file in the ISO base media format by its brands (ISO/IEC 14496-12, 4.3; 23008-12, 10)."""
    end = min(int.from_bytes(head[:4], "big"), len(head))
    major = head[8:12]
    brands = [major, *(head[at : at + 4] for at in range(16, end - 3, 4))]
    if major == b"crx ":
        return "image/x-canon-cr3"
    if major in _HEIC_BRANDS | _AVIF_BRANDS | _HEIF_BRANDS:
        # a general major brand leaves it to the compatible ones to name the codec
        for brand in brands:
            if brand in _HEIC_BRANDS:
                return "image/heic"
            if brand in _AVIF_BRANDS:
                return "image/avif"
        return "image/heif"
    raise UnsupportedFormat("the file seems to be a video, which is not supported")


def _sniff_tiff(file: BinaryIO) -> str:
    """Tell a TIFF picture from the raw formats that look like one."""
    ifd = next(tiff.directories(file), {})
    file.seek(8)
    if tiff.DNG_VERSION in ifd:
        return "image/x-adobe-dng"
    if file.read(2) == b"CR":
        return "image/x-canon-cr2"
    if not _has_sensor_data(ifd):
        return "image/tiff"
    make = tiff.content(ifd, tiff.MAKE).upper()
    for name, media_type in _RAW_MAKES.items():
        if make.startswith(name):
            return media_type
    raise UnsupportedFormat("the file seems to be a raw photo of an uncommon kind, which is not supported")


def _has_sensor_data(ifd: tiff.Ifd) -> bool:
    is_reduced = bool(next(iter(ifd.get(tiff.SUBFILE_TYPE, ())), 0) & 1)
    compressions = set(ifd.get(tiff.COMPRESSION, ()))
    return bool(compressions & _RAW_COMPRESSIONS) or (
        is_reduced and tiff.SUB_IFDS in ifd and tiff.MAKE in ifd
    )


def _describe(head: bytes) -> str:
    if not head:
        return "empty"
    for pattern, kind in _NO_IMAGE:
        if pattern.match(head):
            return kind
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "of no known format"
    return "text" if all(sign.isprintable() or sign.isspace() for sign in text) else "of no known format"
