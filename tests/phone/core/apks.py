"""Small APKs for tests: a zip file with a binary manifest and no code."""

import io
import struct
import zipfile
from collections.abc import Callable, Sequence

# An attribute: its name, its number among Android's own or None, its value. A ``Reference`` points to a resource.
Attribute = tuple[str, int | None, "str | int | Reference"]
Element = tuple[str, Sequence[Attribute]]
LABEL, VERSION_CODE, VERSION_NAME = 0x01010001, 0x0101021B, 0x0101021C
_NOTHING = 0xFFFFFFFF


class Reference(int):
    """The number of a resource."""


def make_apk(  # noqa: PLR0913 - the facts of one package
    package: str,
    version_code: int = 1,
    version_name: str = "1.0",
    label: str | Reference | None = None,
    *,
    split: str = "",
    filler: int = 0,
) -> bytes:
    """An APK. ``filler`` is how many bytes of other content it has."""
    attributes: list[Attribute] = [
        ("versionCode", VERSION_CODE, version_code),
        ("versionName", VERSION_NAME, version_name),
        ("package", None, package),
    ]
    if split:
        attributes.append(("split", None, split))
    application: list[Attribute] = [("label", LABEL, label)] if label is not None else []
    return pack(make_manifest([("manifest", attributes), ("application", application)]), filler)


def pack(manifest: bytes, filler: int = 0) -> bytes:
    """A zip around a manifest."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("AndroidManifest.xml", manifest)
        archive.writestr("resources.arsc", bytes(filler), zipfile.ZIP_STORED)
    return out.getvalue()


def make_manifest(elements: Sequence[Element], *, utf8: bool = False) -> bytes:
    """Binary XML in which each element is nested in the one before it."""
    known = {name: number for _, attributes in elements for name, number, _ in attributes if number is not None}
    # The names that have numbers come first, so that the table of numbers fits them.
    strings = list(known)

    def index(text: str) -> int:
        if text not in strings:
            strings.append(text)
        return strings.index(text)

    starts = [_start(name, attributes, index) for name, attributes in elements]
    ends = [
        _chunk(0x0103, struct.pack("<IIII", 1, _NOTHING, _NOTHING, index(name)), 16)
        for name, _ in reversed(elements)
    ]
    resources = _chunk(0x0180, b"".join(struct.pack("<I", number) for number in known.values()), 8)
    return _chunk(0x0003, _strings(strings, utf8=utf8) + resources + b"".join(starts + ends), 8)


def _start(name: str, attributes: Sequence[Attribute], index: Callable[[str], int]) -> bytes:
    rows = []
    for key, _, value in attributes:
        if isinstance(value, str):
            kind, raw, number = 0x03, index(value), index(value)
        else:
            kind, raw, number = (0x01 if isinstance(value, Reference) else 0x10), _NOTHING, int(value)
        rows.append(struct.pack("<IIIHBBI", _NOTHING, index(key), raw, 8, 0, kind, number))
    body = struct.pack("<IIIIHHHHHH", 1, _NOTHING, _NOTHING, index(name), 20, 20, len(rows), 0, 0, 0)
    return _chunk(0x0102, body + b"".join(rows), 16)


def _strings(strings: Sequence[str], *, utf8: bool) -> bytes:
    blobs = [_utf8(text) if utf8 else _utf16(text) for text in strings]
    offsets, at = [], 0
    for blob in blobs:
        offsets.append(at)
        at += len(blob)
    start = 28 + 4 * len(strings)
    data = b"".join(blobs)
    data += bytes(-len(data) % 4)
    head = struct.pack("<IIIII", len(strings), 0, 0x100 if utf8 else 0, start, 0)
    return _chunk(0x0001, head + struct.pack(f"<{len(offsets)}I", *offsets) + data, 28)


def _utf16(text: str) -> bytes:
    raw = text.encode("utf-16-le")
    units = len(raw) // 2
    length = (
        struct.pack("<H", units) if units < 0x8000 else struct.pack("<HH", 0x8000 | units >> 16, units & 0xFFFF)
    )
    return length + raw + b"\0\0"


def _utf8(text: str) -> bytes:
    def length(size: int) -> bytes:
        return bytes([size]) if size < 0x80 else bytes([0x80 | size >> 8, size & 0xFF])

    raw = text.encode()
    return length(len(text)) + length(len(raw)) + raw + b"\0"


def _chunk(kind: int, body: bytes, header: int) -> bytes:
    return struct.pack("<HHI", kind, header, 8 + len(body)) + body
