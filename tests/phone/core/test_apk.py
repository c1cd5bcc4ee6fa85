"""Reading APKs: the facts of a manifest, and untrusted files."""

import io
import struct
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.phone.core import apk as module
from clawperator.phone.core.apk import ApkError
from clawperator.phone.core.packages import ApkFacts
from tests.phone.core.apks import LABEL, Reference, make_apk, make_manifest, pack


def read(data: bytes) -> ApkFacts:
    return module.read_apk(io.BytesIO(data))


def reason(data: bytes) -> str:
    with pytest.raises(ApkError) as caught:
        read(data)
    return caught.value.reason


def test_the_facts_of_an_apk_are_read_from_its_manifest() -> None:
    data = make_apk("com.example.app", 42, "1.2.3", "Exämple 🦀")
    assert read(data) == ApkFacts("com.example.app", "Exämple 🦀", "1.2.3", 42)


def test_strings_may_be_utf_8_and_long() -> None:
    name = "n" * 200
    manifest = make_manifest(
        [("manifest", [("package", None, "com.example.app")]), ("application", [("label", LABEL, name)])],
        utf8=True,
    )
    assert read(pack(manifest)).label == name


@pytest.mark.parametrize("label", [None, Reference(0x7F010001), "  "])
def test_an_unresolved_label_is_replaced_by_the_last_part_of_the_package(label: str | Reference | None) -> None:
    assert read(make_apk("com.example.app", label=label)).label == "app"


def test_an_attribute_is_identified_by_its_resource_id() -> None:
    manifest = make_manifest([("manifest", [("\u0001", 0x0101021B, 7), ("package", None, "a.b")])])
    assert read(pack(manifest)).version_code == 7


def test_a_large_version_code_has_two_halves() -> None:
    manifest = make_manifest(
        [("manifest", [("x", 0x01010576, 1), ("y", 0x0101021B, 2), ("package", None, "a.b")])]
    )
    assert read(pack(manifest)).version_code == (1 << 32) + 2


@pytest.mark.parametrize("package", ["", "single", "com..two", "../../etc", "com.a/b", "com.1a", "a." + "b" * 300])
def test_an_invalid_package_name_is_refused(package: str) -> None:
    assert reason(make_apk(package)) == "INSTALL_PARSE_FAILED_BAD_PACKAGE_NAME"


def test_a_split_alone_is_not_an_app() -> None:
    assert reason(make_apk("com.example.app", split="config.en")) == "INSTALL_FAILED_MISSING_SPLIT"


def test_what_is_not_a_zip_is_not_an_apk() -> None:
    assert reason(b"") == reason(b"hello") == reason(bytes(100_000)) == "INSTALL_PARSE_FAILED_NOT_APK"


def test_a_zip_without_a_manifest_is_not_an_apk() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert reason(out.getvalue()) == "INSTALL_PARSE_FAILED_NOT_APK"


@pytest.mark.parametrize(
    "manifest", [b"", b"<manifest/>", b"\x03\x00\x08\x00\xff\xff\xff\xff", make_manifest([("application", [])])]
)
def test_an_invalid_manifest_is_refused(manifest: bytes) -> None:
    assert reason(pack(manifest)) == "INSTALL_PARSE_FAILED_MANIFEST_MALFORMED"


def test_a_manifest_that_unpacks_to_gigabytes_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_MANIFEST", 10_000)
    assert reason(pack(bytes(20_000))) == "INSTALL_PARSE_FAILED_MANIFEST_MALFORMED"


def test_strings_that_share_their_bytes_cannot_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(
        make_manifest([("manifest", [("package", None, "x" * 3000), *((f"a{i}", None, "") for i in range(50))])])
    )
    (count,) = struct.unpack_from("<I", data, 16)
    offsets = struct.unpack_from(f"<{count}I", data, 36)
    data[36 : 36 + 4 * count] = struct.pack("<I", offsets[1]) * count
    monkeypatch.setattr(module, "_MAX_MANIFEST", 20_000)
    assert reason(pack(bytes(data))) == "INSTALL_PARSE_FAILED_MANIFEST_MALFORMED"


def test_a_central_directory_that_is_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_DIRECTORY", 10)
    assert reason(make_apk("com.example.app")) == "INSTALL_PARSE_FAILED_NOT_APK"


@pytest.mark.random
@given(st.data())
def test_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(
        make_manifest([("manifest", [("package", None, "com.example.app")])], utf8=data.draw(st.booleans()))
    )
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ApkError):
        read(pack(bytes(whole)))


def test_an_entry_with_a_negative_offset_is_refused() -> None:
    whole = bytearray(make_apk("com.example.a", 1, "1", "A"))
    at = whole.rindex(b"PK\x05\x06")
    whole[at + 16 : at + 20] = (int.from_bytes(whole[at + 16 : at + 20], "little") + 65_536).to_bytes(4, "little")
    with pytest.raises(ApkError):
        read(bytes(whole))


@pytest.mark.random
@given(st.data())
def test_a_damaged_archive_is_refused_or_harmless(data: st.DataObject) -> None:
    whole = bytearray(make_apk("com.example.app"))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ApkError):
        read(bytes(whole[: data.draw(st.integers(0, len(whole)))]))


@pytest.mark.parametrize(
    ("offset", "value"),
    [(6, 128), (8, 0x20), (8, 0x40), (8, 0x01), (10, 99)],
    ids=["version", "patch", "strong", "key", "method"],
)
def test_unsupported_features_of_the_zip_format_are_refused(offset: int, value: int) -> None:
    apk = bytearray(make_apk("com.example.one"))
    entry = apk.index(b"PK\1\2")
    apk[entry + offset] = value
    with pytest.raises(ApkError) as raised:
        read(bytes(apk))
    assert raised.value.reason.startswith("INSTALL_PARSE_FAILED_")
    assert "unsupported" in str(raised.value)
