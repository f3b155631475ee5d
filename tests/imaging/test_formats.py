import pytest
from PIL import Image

from imaging import formats
from imaging.errors import NotAnImage, UnsupportedFormat
from tests.imaging.pictures import ASCII, LONG, SHORT, encoded, exif


@pytest.mark.parametrize(
    ("kind", "media_type"),
    [
        ("JPEG", "image/jpeg"),
        ("PNG", "image/png"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("TIFF", "image/tiff"),
        ("BMP", "image/bmp"),
        ("AVIF", "image/avif"),
    ],
)
def test_what_pillow_writes_is_recognised(kind: str, media_type: str) -> None:
    data = encoded(Image.new("RGB", (16, 16), "teal"), kind)
    assert formats.sniff(data[: formats.HEAD_BYTES]) == media_type


@pytest.mark.parametrize(
    ("brands", "media_type"),
    [
        (b"heic\0\0\0\0mif1heic", "image/heic"),
        (b"heix\0\0\0\0mif1heix", "image/heif"),
        (b"mif1\0\0\0\0mif1heic", "image/heic"),
        (b"mif1\0\0\0\0mif1miaf", "image/heif"),
        (b"mif1\0\0\0\0mif1avif", "image/avif"),
        (b"avis\0\0\0\0msf1avis", "image/avif"),
    ],
)
def test_the_brands_name_a_heif_file(brands: bytes, media_type: str) -> None:
    assert formats.sniff((8 + len(brands)).to_bytes(4, "big") + b"ftyp" + brands) == media_type


@pytest.mark.parametrize(
    ("head", "media_type"),
    [
        (exif([(0xC612, LONG, 0x401)]), "image/x-adobe-dng"),
        (b"II*\0\x10\0\0\0CR\2\0", "image/x-canon-cr2"),
        (b"\0\0\0\x18ftypcrx \0\0\0\1crx isom", "image/x-canon-cr3"),
        (exif([(0xFE, LONG, 1), (0x10F, ASCII, "NIKON CORPORATION"), (0x14A, LONG, 8)]), "image/x-nikon-nef"),
        (exif([(0xFE, LONG, 1), (0x10F, ASCII, "SONY"), (0x14A, LONG, 8)]), "image/x-sony-arw"),
        (exif([(0x103, SHORT, 65535), (0x10F, ASCII, "PENTAX ")], order=">"), "image/x-pentax-pef"),
        (b"FUJIFILMCCD-RAW 0201", "image/x-fuji-raf"),
        (b"IIRO\x08\0\0\0", "image/x-olympus-orf"),
        (b"MMOR\0\0\0\x08", "image/x-olympus-orf"),
        (b"IIU\0\x18\0\0\0", "image/x-panasonic-rw2"),
    ],
)
def test_a_raw_photo_is_told_from_a_tiff(head: bytes, media_type: str) -> None:
    assert formats.sniff(head) == media_type


@pytest.mark.parametrize(
    ("head", "seems"),
    [
        (b"%PDF-1.7\n", "PDF"),
        (b'<?xml version="1.0"?>\n<!-- made by hand -->\n<svg xmlns="http://www.w3.org/2000/svg">', "SVG"),
        (b"<svg/>", "SVG"),
        (b"8BPS\0\1", "Photoshop"),
        (b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL"),
        (b"\0\0\0\x18ftypisom\0\0\2\0isomavc1", "video"),
        (b"II\x1a\0\0\0HEAPCCDR", "CRW"),
        (exif([(0xFE, LONG, 1), (0x10F, ASCII, "Acme"), (0x14A, LONG, 8)]), "raw"),
        (exif([(0x103, SHORT, 34713)], order=">"), "raw"),
        (b"PK\3\4", "ZIP"),
    ],
)
def test_a_refusal_says_what_the_file_seems_to_be(head: bytes, seems: str) -> None:
    with pytest.raises(UnsupportedFormat, match=seems):
        formats.sniff(head)


@pytest.mark.parametrize(
    ("head", "seems"),
    [
        (b"", "empty"),
        (b"\n", "text"),
        (b"Dear diary,\nna\xc3\xafve caf\xc3\xa9", "text"),
        (b"#!/bin/sh\nrm -rf /\n", "script"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\x7fELF\2\1\1", "program"),
        (b"\xff\xd8", "no known format"),
        (b"BM but not a bitmap", "text"),
        (bytes(range(256)), "no known format"),
    ],
)
def test_what_is_no_picture_says_so(head: bytes, seems: str) -> None:
    with pytest.raises(NotAnImage, match=seems):
        formats.sniff(head)


def test_a_maker_that_is_no_text_is_no_maker() -> None:
    with pytest.raises(UnsupportedFormat, match="raw photo of an uncommon kind"):
        formats.sniff(exif([(0xFE, LONG, 1), (0x10F, SHORT, [999, 40_000]), (0x14A, LONG, 8)]))


def test_text_cut_inside_a_letter_is_still_text() -> None:
    with pytest.raises(NotAnImage, match="text"):
        formats.sniff("ä".encode() * 10 + b"\xc3")
