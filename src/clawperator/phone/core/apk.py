"""Read package name, label and version from an APK's manifest.

APKs are untrusted input: only the manifest is unpacked, up to a maximum size.
"""

import io
import re
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from clawperator.errors import ClawperatorException
from clawperator.phone.core.packages import ApkFacts

_MANIFEST = "AndroidManifest.xml"
_MAX_MANIFEST = 4 * 1024 * 1024
_MAX_DIRECTORY = 4 * 1024 * 1024
_MAX_TEXT = 255
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")
_MAX_PACKAGE = 223

# The end record of a zip file, and the locator of the ZIP64 format before it.
_END, _END_SIZE, _ZIP64, _ZIP64_SIZE = b"PK\5\6", 22, b"PK\6\7", 20

_XML, _STRINGS, _RESOURCES, _START = 0x0003, 0x0001, 0x0180, 0x0102
_UTF8 = 0x100
_TEXT, _DECIMAL, _HEXADECIMAL = 0x03, 0x10, 0x11
# Android identifies its own attributes by resource id; their names may be obfuscated.
_NAMES = {
    0x01010001: "label",
    0x0101021B: "versionCode",
    0x0101021C: "versionName",
    0x01010576: "versionCodeMajor",
}


class ApkError(ClawperatorException, ValueError):
    """A file that cannot be installed. ``reason`` is Android's error code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


# An attribute's value: a text, a number, or neither for a reference.
_Value = str | int | None


def read_apk(file: BinaryIO) -> ApkFacts:
    """Read an APK from a seekable file.

    A label in the resources is not resolved; the last part of the package name is used instead.
    """
    manifest = _read_manifest(file)
    root: dict[str, _Value] | None = None
    application: dict[str, _Value] = {}
    try:
        for name, attributes in _elements(manifest):
            if root is None:
                if name != "manifest":
                    break
                root = attributes
            elif name == "application":
                application = attributes
                break
    except (struct.error, IndexError, UnicodeDecodeError) as e:
        raise _malformed("the manifest is damaged") from e
    if root is None:
        raise _malformed("the manifest does not begin with <manifest>")
    package = _text(root, "package")
    if len(package) > _MAX_PACKAGE or _PACKAGE.fullmatch(package) is None:
        raise ApkError("INSTALL_PARSE_FAILED_BAD_PACKAGE_NAME", f"{package[:80]!r} is not a valid package name")
    if _text(root, "split"):
        raise ApkError("INSTALL_FAILED_MISSING_SPLIT", f"the file is a split of {package}, not a base APK")
    codes = (root.get(name) for name in ("versionCodeMajor", "versionCode"))
    high, low = (code if isinstance(code, int) else 0 for code in codes)
    return ApkFacts(
        package=package,
        label=_text(application, "label").strip()[:_MAX_TEXT] or package.rpartition(".")[2],
        version_name=_text(root, "versionName")[:_MAX_TEXT],
        version_code=high << 32 | low,
    )


def _text(attributes: dict[str, _Value], name: str) -> str:
    value = attributes.get(name)
    return value if isinstance(value, str) else ""


# The archive


def _read_manifest(file: BinaryIO) -> bytes:
    try:
        _check_directory(file)
        with ZipFile(file) as archive:
            entry = archive.getinfo(_MANIFEST)
            if entry.compress_type not in {ZIP_STORED, ZIP_DEFLATED} or entry.flag_bits & 1:
                raise _malformed("unsupported compression of the manifest")
            with archive.open(entry) as packed:
                data = packed.read(_MAX_MANIFEST + 1)
    except KeyError:
        raise _not_an_apk("the file has no manifest") from None
    except ApkError:
        raise
    except RuntimeError:  # a newer version of the format, encryption or patched data
        raise _not_an_apk("the archive uses unsupported features of the zip format") from None
    except (BadZipFile, EOFError, OSError, OverflowError, ValueError, struct.error, zlib.error) as e:
        raise _not_an_apk("the file is not a complete zip archive") from e
    if len(data) > _MAX_MANIFEST:
        raise _malformed("the manifest is too large")
    return data


def _check_directory(file: BinaryIO) -> None:
    """Refuse a central directory that is too large to read safely."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(0, size - _END_SIZE - _ZIP64_SIZE - 0xFFFF))
    tail = file.read()
    at = len(tail) - _END_SIZE
    if at < 0 or tail[at : at + 4] != _END or tail[-2:] != b"\0\0":
        at = tail.rfind(_END)
    if at < 0 or at + _END_SIZE > len(tail):
        raise _not_an_apk("the file is not a zip archive")
    is_zip64 = tail[max(0, at - _ZIP64_SIZE) : at].startswith(_ZIP64)
    if is_zip64 or struct.unpack_from("<I", tail, at + 12)[0] > _MAX_DIRECTORY:
        raise _not_an_apk("the central directory is too large")
    file.seek(0)


# Android's binary XML


def _elements(data: bytes) -> Iterator[tuple[str, dict[str, _Value]]]:
    """The start tags, each with its attributes."""
    kind, header, size = struct.unpack_from("<HHI", data)
    if kind != _XML or header < 8 or size > len(data):
        raise _malformed("the manifest is not binary XML")
    strings: list[str] = []
    resources: tuple[int, ...] = ()
    at = header
    while at + 8 <= size:
        kind, header, length = struct.unpack_from("<HHI", data, at)
        if header < 8 or length < header or at + length > size:
            raise _malformed("a chunk of the manifest exceeds its end")
        part = data[at : at + length]
        if kind == _STRINGS and not strings:
            strings = _read_strings(part)
        elif kind == _RESOURCES:
            resources = struct.unpack_from(f"<{(length - header) // 4}I", part, header)
        elif kind == _START:
            yield _read_element(part, header, strings, resources)
        at += length


def _read_strings(part: bytes) -> list[str]:
    (header,) = struct.unpack_from("<H", part, 2)
    count, _, flags, start = struct.unpack_from("<IIII", part, 8)
    if header < 28 or count > (len(part) - header) // 4:
        raise _malformed("the string pool of the manifest is truncated")
    read = _read_utf8 if flags & _UTF8 else _read_utf16
    budget = _MAX_MANIFEST  # strings may overlap, so their total size is limited
    strings = []
    for offset in struct.unpack_from(f"<{count}I", part, header):
        strings.append(read(part, start + offset))
        budget -= len(strings[-1]) + 1
        if budget < 0:
            raise _malformed("the strings of the manifest are too large")
    return strings


def _read_utf8(part: bytes, at: int) -> str:
    _, at = _read_length(part, at, "B")
    length, at = _read_length(part, at, "B")
    return part[at : at + length].decode("utf-8", "replace")


def _read_utf16(part: bytes, at: int) -> str:
    length, at = _read_length(part, at, "H")
    return part[at : at + 2 * length].decode("utf-16-le", "replace")


def _read_length(part: bytes, at: int, unit: str) -> tuple[int, int]:
    """A length in one unit, or in two if the highest bit of the first is set."""
    width = struct.calcsize(unit)
    (value,) = struct.unpack_from(f"<{unit}", part, at)
    high = 1 << (8 * width - 1)
    if not value & high:
        return value, at + width
    (low,) = struct.unpack_from(f"<{unit}", part, at + width)
    return (value & (high - 1)) << (8 * width) | low, at + 2 * width


def _read_element(
    part: bytes, header: int, strings: list[str], resources: tuple[int, ...]
) -> tuple[str, dict[str, _Value]]:
    _, name, start, size, count = struct.unpack_from("<IIHHH", part, header)
    attributes: dict[str, _Value] = {}
    for number in range(count):
        at = header + start + number * size
        _, key, _, _, _, kind, value = struct.unpack_from("<IIIHBBI", part, at)
        known = _NAMES.get(resources[key]) if key < len(resources) else None
        number_or_none = value if kind in {_DECIMAL, _HEXADECIMAL} else None
        attributes.setdefault(known or strings[key], strings[value] if kind == _TEXT else number_or_none)
    return strings[name], attributes


def _malformed(message: str) -> ApkError:
    return ApkError("INSTALL_PARSE_FAILED_MANIFEST_MALFORMED", message)


def _not_an_apk(message: str) -> ApkError:
    return ApkError("INSTALL_PARSE_FAILED_NOT_APK", message)
