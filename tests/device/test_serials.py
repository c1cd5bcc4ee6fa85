import shlex

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.device.adb.client import (
    MAX_SERIAL_BYTES,
    adb_flag,
    device_flag,
    file_name,
    is_serial,
    serial_of,
)

LONGEST_FILE_NAME = 255
SERIALS = st.text(min_size=1, max_size=MAX_SERIAL_BYTES).filter(is_serial)


@pytest.mark.parametrize(
    "serial",
    [
        "R58M1234",
        "emulator-5554",
        "phone.local:5555",
        "[fe80::1%wlan0]:5555",
        "adb-35121JEHN28132-jr888A (2)._adb-tls-connect._tcp",
        "(no serial number)",
        "????????????",
        "../../etc/passwd",
        "a b",
        "a;reboot",
        "it's +#@/\\\"$(id)`",
        "Телефон",
        "x" * MAX_SERIAL_BYTES,
    ],
)
def test_a_serial_has_any_printable_characters(serial: str) -> None:
    assert is_serial(serial)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a\nb", "a\tb", "a\0", "a\x1b[31m", "a\x7f", "a\u202eb", "a\ufffdb", "a\udc80", "x" * 129, "я" * 65],
)
def test_control_characters_and_long_texts_are_no_serials(text: str) -> None:
    assert not is_serial(text)


@given(SERIALS)
@example("a b")
@example("-rf")
@example("it's")
def test_a_shell_reads_the_flag_as_this_serial(serial: str) -> None:
    words = shlex.split(device_flag(serial))
    assert words in (["--device", serial], [f"--device={serial}"])
    assert words[-1] == serial or serial.startswith("-")
    assert shlex.split(adb_flag(serial)) == ["-s", serial]


def test_a_plain_serial_needs_no_quotes() -> None:
    assert device_flag("phone.local:5555") == "--device phone.local:5555"
    assert device_flag("a b") == "--device 'a b'"
    assert device_flag("-x") == "--device=-x"


@given(SERIALS)
@example("x" * MAX_SERIAL_BYTES)
@example("x" * 100)
@example("x" * 101)
def test_a_file_name_is_safe_and_can_be_read_back(serial: str) -> None:
    name = file_name(serial)
    assert name.replace("-", "").replace("_", "").isalnum()
    assert name.isascii()
    assert len(f"{name}.json.lock") <= LONGEST_FILE_NAME
    assert serial_of(name) == serial


@given(SERIALS, SERIALS)
@example("x" * 127 + "a", "x" * 127 + "b")
def test_two_serials_have_two_file_names(one: str, other: str) -> None:
    assert (file_name(one) == file_name(other)) == (one == other)


@pytest.mark.parametrize(("length", "name"), [(100, "78" * 100), (101, "-" + "eHh4" * 33 + "eHg")])
def test_a_long_serial_has_a_shorter_name(length: int, name: str) -> None:
    assert file_name("x" * length) == name
    assert serial_of(name) == "x" * length


@pytest.mark.parametrize("name", ["notes", "-!", "ff", "-/w", "-eHh4 ", "-eHh4!!!!"])
def test_another_file_name_is_of_no_serial(name: str) -> None:
    with pytest.raises(ValueError):
        serial_of(name)
