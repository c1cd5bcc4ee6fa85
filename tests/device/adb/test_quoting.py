from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.device.adb.client import command_line, quote
from clawperator.testing import SimulatedPhone, simulated_phone

HOSTILE = [
    "$(reboot)",
    "`reboot`",
    "a;b",
    "a && b | c > /sdcard/d",
    "it's",
    "''",
    '"\'"\'"',
    "\\",
    "line\nline",
    "-rf",
    "*",
    "~",
    "#",
    "!",
    "$HOME",
    "",
    " ",
    "\t",
    "\x7f\x01",
    "ü€😀",
]


@pytest.fixture(scope="module")
def phone() -> Iterator[SimulatedPhone]:
    with simulated_phone() as phone:
        yield phone


def argv_on_the_phone(phone: SimulatedPhone, arguments: list[str]) -> list[str]:
    answer = phone.shell_script("printf '%s\\0' " + command_line(*arguments))
    assert answer.code == 0
    return answer.text.split("\0")[:-1]


def test_hostile_arguments_arrive_as_they_are(phone: SimulatedPhone) -> None:
    assert argv_on_the_phone(phone, HOSTILE) == HOSTILE


TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"))


@pytest.mark.random
@given(arguments=st.lists(TEXT, min_size=1, max_size=5))
def test_what_arrives_on_the_phone_is_what_was_given(phone: SimulatedPhone, arguments: list[str]) -> None:
    assert argv_on_the_phone(phone, arguments) == arguments


@pytest.mark.parametrize("plain", ["com.android.settings", "/sdcard/a-b_c.txt", "--user=0", "a:b,c@d%e+f"])
def test_harmless_words_stay_readable(plain: str) -> None:
    assert quote(plain) == plain


def test_text_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        command_line("echo", "a\0b")
