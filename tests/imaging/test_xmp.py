import io
import time
import zlib
from pathlib import Path
from typing import Any

import pillow_heif
import pytest
from PIL import PngImagePlugin

from imaging import xmp
from imaging.exif import read_exif
from imaging.preview import render
from tests.imaging.pictures import ASCII, SHORT, encoded, exif, four_corners, jpeg_with, webp_with
from tests.imaging.test_preview import STORED, assert_upright, stored

NAMESPACES = """xmlns:tiff="http://ns.adobe.com/tiff/1.0/" xmlns:exif="http://ns.adobe.com/exif/1.0/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:aux="http://ns.adobe.com/exif/1.0/aux/" xmlns:other="http://example.org/" """


def packet(attributes: str = "", elements: str = "") -> bytes:
    return f"""<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" {NAMESPACES}
{attributes}>{elements}</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>""".encode()


PACKET = packet(
    'tiff:Make="Acme" tiff:Model="Box 1" exif:FNumber="28/10"'
    ' exif:DateTimeOriginal="2024-05-06T07:08:09.5+02:00"',
    "<exif:ISOSpeedRatings><rdf:Seq><rdf:li>400</rdf:li></rdf:Seq></exif:ISOSpeedRatings>"
    "<exif:ExposureTime>1/250</exif:ExposureTime><tiff:Orientation>6</tiff:Orientation>",
)
WANTED = {
    "make": "Acme",
    "model": "Box 1",
    "taken_at": "2024-05-06T07:08:09.5+02:00",
    "taken_at_offset": "+02:00",
    "exposure_time_s": 0.004,
    "f_number": 2.8,
    "iso": 400,
    "orientation": 6,
}


def png(xmp_packet: bytes = PACKET, *, packed: bool = False, **options: Any) -> bytes:
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("XML:com.adobe.xmp", xmp_packet.decode(), zip=packed)
    return encoded(stored(6), "PNG", pnginfo=texts, **options)


def heic() -> bytes:
    out = io.BytesIO()
    pillow_heif.from_pillow(four_corners()).save(out, xmp=PACKET)
    return out.getvalue()


def found(path: Path, data: bytes) -> dict[str, Any]:
    path.write_bytes(data)
    return {name: value for name, value in read_exif(path).fields.items() if value is not None}


@pytest.mark.parametrize(
    "data",
    [
        png(),
        png(packed=True),
        jpeg_with([b"http://ns.adobe.com/xap/1.0/\0" + PACKET]),
        webp_with({b"XMP ": PACKET}),
        encoded(four_corners(), "TIFF", tiffinfo={0x2BC: PACKET}),
        heic(),
        encoded(four_corners(), "AVIF", xmp=PACKET),
    ],
    ids=["PNG", "packed PNG", "JPEG", "WebP", "TIFF", "HEIC", "AVIF"],
)
def test_every_container_is_read_where_exif_is_missing(tmp_path: Path, data: bytes) -> None:
    assert found(tmp_path / "photo", data) == WANTED


def test_exif_counts_alone_where_it_is_there(tmp_path: Path) -> None:
    block = exif([(0x10F, ASCII, "Other")])
    data = jpeg_with([b"http://ns.adobe.com/xap/1.0/\0" + PACKET, b"Exif\0\0" + block])
    assert found(tmp_path / "photo", data) == {"make": "Other"}


def test_the_raw_tags_hold_it_beside_exif(tmp_path: Path) -> None:
    (tmp_path / "photo").write_bytes(png(exif=exif([(0x10F, ASCII, "Other")])))
    raw = read_exif(tmp_path / "photo").raw
    assert (raw["Image Make"], raw["XMP tiff:Make"], raw["XMP exif:ISOSpeedRatings"]) == (
        "Other",
        "Acme",
        "400",
    )


@pytest.mark.parametrize("orientation", STORED)
def test_it_turns_a_picture_that_has_no_exif(tmp_path: Path, orientation: int) -> None:
    content = packet(f'tiff:Orientation="{orientation}"')
    (tmp_path / "photo").write_bytes(
        jpeg_with([b"http://ns.adobe.com/xap/1.0/\0" + content], stored(orientation))
    )
    assert_upright(render(tmp_path / "photo", max_pixels=10**6))


def test_it_does_not_turn_what_exif_speaks_of(tmp_path: Path) -> None:
    segments = [b"http://ns.adobe.com/xap/1.0/\0" + PACKET, b"Exif\0\0" + exif([(0x112, SHORT, 1)])]
    (tmp_path / "photo").write_bytes(jpeg_with(segments))
    assert_upright(render(tmp_path / "photo", max_pixels=10**6))


@pytest.mark.parametrize(
    ("attributes", "elements", "name", "want"),
    [
        ('exif:GPSLatitude="48,30.6N" exif:GPSLongitude="2,0,36W"', "", "latitude", 48.51),
        ('exif:GPSLatitude="48,30.6N" exif:GPSLongitude="2,0,36W"', "", "longitude", -2.01),
        ('exif:GPSLatitude="48,30.6N"', "", "latitude", None),
        ('exif:GPSLatitude="98,30.6N" exif:GPSLongitude="2,0,36W"', "", "latitude", None),
        ('exif:GPSAltitude="45/10" exif:GPSAltitudeRef="1"', "", "altitude_m", -4.5),
        ('exif:FNumber="1/0"', "", "f_number", None),
        ('exif:FNumber="NaN"', "", "f_number", None),
        ('exif:DateTimeOriginal="2024-02-30T01:02:03"', "", "taken_at", None),
        ('exif:DateTimeOriginal="2024-02-28"', "", "taken_at", None),
        ('xmp:CreateDate="2024-02-28T01:02Z"', "", "taken_at", "2024-02-28T01:02:00+00:00"),
        ('tiff:Orientation="9"', "", "orientation", None),
        ('exif:MeteringMode="5"', "", "metering_mode", "pattern"),
        ("", "<exif:Flash><rdf:Bag exif:Fired='True'/></exif:Flash>", "flash_fired", True),
        ("", '<exif:Flash exif:Fired="False"/>', "flash_fired", False),
        ("", "<dc:rights><rdf:Alt><rdf:li>A</rdf:li><rdf:li/></rdf:Alt></dc:rights>", "copyright", "A"),
        ("", "<other:Copy><tiff:Make>Wrong</tiff:Make></other:Copy>", "make", None),
        ('aux:Lens="50mm"', "", "lens", "50mm"),
    ],
)  # fmt: skip
def test_one_property_one_field(
    tmp_path: Path, attributes: str, elements: str, name: str, want: object
) -> None:
    got = found(tmp_path / "photo", png(packet(attributes, elements))).get(name)
    assert got == (pytest.approx(want) if isinstance(want, float) else want)


def test_entities_and_depth_end_the_reading() -> None:
    laughs = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{laughs}]><x>&a12;</x>'.encode()
    outside = b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + PACKET.replace(b"Acme", b"&a;")
    started = time.process_time()
    assert xmp.parse(bomb) == {}
    assert xmp.parse(outside) == {}
    assert xmp.parse(b"<a>" * 300_000) == {}
    assert len(xmp.parse(packet("", "<dc:title>x</dc:title>" * 20_000))) <= 200
    assert time.process_time() - started < 8


def test_a_broken_packet_gives_what_stands_before_the_damage() -> None:
    assert xmp.parse(PACKET[: PACKET.index(b"<exif:ExposureTime>")])["tiff:Make"] == "Acme"
    assert xmp.parse(b"\xff\xfe\0") == {}


@pytest.mark.parametrize("keyword", ["Raw profile type exif", "Raw profile type APP1"])
def test_a_png_with_exif_as_text_is_read(tmp_path: Path, keyword: str) -> None:
    block = b"Exif\0\0" + exif([(0x10F, ASCII, "Acme"), (0x112, SHORT, 6)])
    digits = block.hex()
    lines = "\n".join(digits[at : at + 72] for at in range(0, len(digits), 72))
    texts = PngImagePlugin.PngInfo()
    texts.add_text(keyword, f"\nexif\n{len(block):8}\n{lines}\n", zip=True)
    data = encoded(stored(6), "PNG", pnginfo=texts)
    assert found(tmp_path / "photo", data) == {"make": "Acme", "orientation": 6}
    assert_upright(render(tmp_path / "photo", max_pixels=10**6))


def test_a_text_that_unpacks_to_gigabytes_is_cut(tmp_path: Path) -> None:
    chunk = b"Raw profile type exif\0\0" + zlib.compress(bytes(200_000_000), 9)
    data = encoded(four_corners(), "PNG")
    whole = len(chunk).to_bytes(4, "big") + b"zTXt" + chunk
    whole += zlib.crc32(b"zTXt" + chunk).to_bytes(4, "big")
    assert found(tmp_path / "photo", data[:33] + whole + data[33:]) == {}
    assert_upright(render(tmp_path / "photo", max_pixels=10**6))
