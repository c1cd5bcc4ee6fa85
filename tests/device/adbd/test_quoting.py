"""Argument lists arrive on a device exactly, through our client and through ``adb shell``."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from clawperator.device.adb.client import command_line, run_shell
from tests.support.adb_services import exec_out
from tests.support.real_adbd import AdbdPhone

# Characters that a shell, adb or printf could take for their own.
SHARP = (
    *(
        "'",
        '"',
        "\\",
        "`id`",
        "$(id)",
        "$HOME",
        "${IFS}",
        "$'",
        "$((1/0))",
        "!",
        "!!",
        "#",
        "~",
        "*",
        "?",
        "[a-z]",
    ),
    *("{a,b}", ";", "&", "&&", "|", "||", "<", ">", ">>", "<<E", "(", ")", "\n", "\r", "\t", " ", "  ", "\x1b[2J"),
    *(
        "%s",
        "%d",
        "%%",
        "\\0",
        "\\n",
        "-",
        "--",
        "-n",
        "-e",
        "=",
        "A=b",
        "\x01",
        "\x7f",
        "\u202e",
        "漢",
        "🙂",
        "é",
        "\udcff",
    ),
)
ANY = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
WORD = (
    st.lists(st.sampled_from(SHARP) | ANY, max_size=6).map("".join)
    | st.just("")
    | st.tuples(st.sampled_from(SHARP), st.integers(500, 3_000)).map(lambda drawn: drawn[0] * drawn[1])
)
LISTS = st.lists(WORD, max_size=6)
EXAMPLES = 300


def encoded(words: list[str]) -> list[bytes]:
    """Bytes, in which a character that is no text has only one form."""
    return [word.encode("utf-8", "surrogateescape") for word in words]


def line_of(words: list[str]) -> str:
    """A command that prints its arguments, each with a NUL behind it; without any it would print a NUL too."""
    return command_line("printf", "%s\\0", "first", *words)


def received(output: bytes) -> list[bytes]:
    first, *words, rest = output.split(b"\0")
    assert (first, rest) == (b"first", b"")
    return words


@pytest.mark.random
@settings(max_examples=EXAMPLES)
@given(words=LISTS)
@example(words=[])
@example(words=["", "", ""])
@example(words=["x" * 60_000])
@example(words=["'" * 10_000])
@example(words=["\n" * 1_000, "'\n'"])
def test_argument_lists_arrive_exactly(shared_adbd: AdbdPhone, words: list[str]) -> None:
    line, expected = line_of(words), encoded(words)
    answer = run_shell(shared_adbd.device, line, seconds=30)
    assert (answer.code, answer.stderr) == (0, b"")
    assert received(answer.stdout) == expected
    ran = shared_adbd.adb.run("-s", shared_adbd.adbd.serial, "shell", line)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert received(ran.stdout) == expected


def test_the_raw_service_quotes_the_same(shared_adbd: AdbdPhone) -> None:
    words = [*SHARP, "", "".join(SHARP)]
    assert received(exec_out(shared_adbd.device, line_of(words), seconds=30)) == encoded(words)
