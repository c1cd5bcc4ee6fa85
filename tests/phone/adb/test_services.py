"""The terminal of an interactive shell."""

import pytest

from clawperator.phone.adb.services import MAX_LINE, Terminal


class Keys:
    def __init__(self, *pressed: bytes) -> None:
        self._pressed = list(pressed)

    def read(self, _: int, /) -> bytes:
        return self._pressed.pop(0) if self._pressed else b""


class Screen:
    def __init__(self) -> None:
        self.shown = b""

    def write(self, data: bytes, /) -> None:
        self.shown += data


@pytest.mark.parametrize(
    ("pressed", "line", "shown"),
    [
        (b"ls\r", b"ls\n", b"ls\r\n"),
        (b"lx\x7fs\n", b"ls\n", b"lx\b \bs\r\n"),
        ("aé\x08b\r".encode(), b"ab\n", "aé\b \bb\r\n".encode()),
        (b"\x7f\x7fa\r", b"a\n", b"a\r\n"),
        (b"abc\x15d\r", b"d\n", b"abc" + b"\b \b" * 3 + b"d\r\n"),
        (b"abc\x03d\r", b"d\n", b"abc^C\r\nd\r\n"),
        (b"abc\x04", b"abc", b"abc"),
    ],
)
def test_keys_make_lines(pressed: bytes, line: bytes, shown: bytes) -> None:
    screen = Screen()
    assert Terminal(Keys(*(bytes([key]) for key in pressed)), screen).read(100) == line
    assert screen.shown == shown


def test_end_of_input_is_reported_once_and_reading_may_continue() -> None:
    terminal = Terminal(Keys(b"a\r\x04b\r"), Screen())
    assert [terminal.read(100), terminal.read(1), terminal.read(100)] == [b"a\n", b"", b"b\n"]


def test_a_line_is_read_in_pieces() -> None:
    terminal = Terminal(Keys(b"abc\r"), Screen())
    assert [terminal.read(2), terminal.read(2), terminal.read(2)] == [b"ab", b"c\n", b""]


def test_a_line_beyond_the_limit_is_cut() -> None:
    screen = Screen()
    terminal = Terminal(Keys(b"x" * 10_000, b"\r"), screen)
    assert terminal.read(20_000) == b"x" * MAX_LINE + b"\n"
    assert screen.shown.endswith(b"\a\r\n")


def test_output_has_carriage_returns() -> None:
    screen = Screen()
    Terminal(Keys(), screen).write(b"a\nb\n")
    assert screen.shown == b"a\r\nb\r\n"
