"""Output on a terminal: colours, width, a status line; and JSON that does not depend on any of it."""

import re
import subprocess

import pytest

from tests.support.routes import Route
from tests.support.terminal import BINARY, run_on_terminal

COLOUR = re.compile(r"\x1b\[\d+m")
EXAMPLES = [
    ("devices",),
    ("config",),
    ("doctor",),
    ("skills", "list"),
    ("snapshot", "--view", "outline"),
    ("clik",),
]


def stable(text: str) -> str:
    return re.sub(r"\d{13}(-\w+)?|\d+ ms|\"elapsedMs\":\d+", "", text)


@pytest.mark.parametrize("argv", EXAMPLES, ids=" ".join)
@pytest.mark.parametrize("variables", [{}, {"CLAWPERATOR_OUTPUT": "text", "FORCE_COLOR": "1"}], ids=["", "text"])
def test_json_on_a_terminal_is_what_a_pipe_gets(
    route: Route, argv: tuple[str, ...], variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert route.serial
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    piped = subprocess.run([BINARY, *argv, "--json"], capture_output=True, check=False)
    seen = run_on_terminal(BINARY, *argv, "--json", columns=20)
    assert seen.code == piped.returncode
    assert stable(seen.out) == stable(piped.stdout.decode())
    assert seen.out.startswith("{")
    assert seen.err == piped.stderr.decode() == ""


def test_a_terminal_shows_colours_and_a_pipe_does_not(route: Route) -> None:
    assert route.serial
    seen = run_on_terminal(BINARY, "doctor", "--output", "text")
    piped = run_on_terminal(BINARY, "doctor", "--output", "text", out=False)
    assert "\x1b[32m[OK]\x1b[0m" in seen.out
    assert "\x1b" not in piped.out
    assert stable(COLOUR.sub("", seen.out)) == stable(piped.out)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_colours_can_be_turned_off(route: Route, variables: dict[str, str]) -> None:
    assert route.serial
    assert "\x1b" not in run_on_terminal(BINARY, "doctor", "--output", "text", environment=variables).out


def test_a_table_fits_the_terminal() -> None:
    narrow = COLOUR.sub("", run_on_terminal(BINARY, "skills", "list", "--output", "text", columns=60).out)
    assert max(map(len, narrow.splitlines())) <= 60
    assert "…" in narrow
    piped = run_on_terminal(BINARY, "skills", "list", "--output", "text", columns=60, out=False).out
    assert "…" not in piped


def test_an_error_has_its_colour_on_the_terminal_of_stderr() -> None:
    seen = run_on_terminal(BINARY, "clik", "--output", "text", out=False)
    assert (seen.code, seen.out) == (1, "")
    assert seen.err.startswith("\x1b[31mUNKNOWN_COMMAND\x1b[0m: ")
    piped = run_on_terminal(BINARY, "clik", "--output", "text", err=False)
    assert piped.err.startswith("UNKNOWN_COMMAND: ")


def test_help_is_the_same_on_a_terminal() -> None:
    piped = subprocess.run([BINARY, "help"], capture_output=True, check=True)
    assert run_on_terminal(BINARY, "help").out == piped.stdout.decode()
