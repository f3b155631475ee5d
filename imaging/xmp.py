"""XMP: the fields of a photo whose EXIF is missing, as in PNGs and many exports (ISO 16684-1)."""

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

_NAMES = {
    "http://ns.adobe.com/tiff/1.0/": "tiff",
    "http://ns.adobe.com/exif/1.0/": "exif",
    "http://cipa.jp/exif/1.0/": "exifEX",
    "http://ns.adobe.com/exif/1.0/aux/": "aux",
    "http://ns.adobe.com/xap/1.0/": "xmp",
    "http://ns.adobe.com/photoshop/1.0/": "photoshop",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
# what only holds properties together
_WRAPPERS = {_RDF, "adobe:ns:meta/"}
_UNKNOWN = "?"
_MAX_BYTES = 1 << 20
_MAX_DEPTH = 32
_MAX_PROPERTIES = 200
_MAX_SIGNS = 1000

Properties = Mapping[str, str]
"""By name, such as "exif:FNumber" or "exif:Flash/exif:Fired"; of a list the first item."""


class _Refused(Exception):
    """The packet has what no XMP needs: a document type, endless depth."""


def parse(packet: bytes) -> Properties:
    """Read the simple properties of the namespaces that photos use; a broken packet gives what stands before.

    A document type, and so any entity of the file's own, ends the reading: XMP has none, attacks do.
    """
    reader = _Reader()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    with contextlib.suppress(expat.ExpatError, _Refused, ValueError):
        parser.Parse(packet[:_MAX_BYTES].strip(b"\0 \r\n\t"), True)
    return reader.found


def _refuse(*_: object) -> None:
    raise _Refused


def _short(name: str) -> str | None:
    space, _, local = name.rpartition(" ")
    if space in _WRAPPERS:
        return None
    return f"{_NAMES[space]}:{local}" if space in _NAMES else _UNKNOWN


@dataclass
class _Reader:
    """Follows the elements: which property is being read, and how deep."""

    found: dict[str, str] = field(default_factory=dict)
    _path: list[str | None] = field(default_factory=list)
    _text: list[str] = field(default_factory=list)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= _MAX_DEPTH or len(self.found) >= _MAX_PROPERTIES:
            raise _Refused
        self._path.append(_short(name))
        self._text.clear()
        for attribute, value in attributes.items():
            self._keep([*self._path, _short(attribute)], value)

    def text(self, text: str) -> None:
        self._text.append(text)

    def end(self, _: str) -> None:
        self._keep(self._path, "".join(self._text))
        self._text.clear()
        self._path.pop()

    def _keep(self, path: list[str | None], value: str) -> None:
        names = [part for part in path if part]
        if names and _UNKNOWN not in names and value.strip():
            self.found.setdefault("/".join(names), value.strip()[:_MAX_SIGNS])


def orientation(packet: bytes | None) -> int:
    """Say how to turn a stored picture: 1 to 8, 1 where nothing valid is said."""
    value = parse(packet or b"").get("tiff:Orientation", "")
    return int(value) if re.fullmatch("[1-8]", value) else 1
