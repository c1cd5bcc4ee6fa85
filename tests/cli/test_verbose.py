"""--verbose and --log-level: what happens, on stderr and in the host log."""

import re
from pathlib import Path

import pytest

from clawperator.device.run.host_log import log_file
from tests.support.routes import Route
from tests.support.running import Ran, clawperator

SECRET = "s3cr3t-typed-text"


def masked(ran: Ran) -> str:
    """The document without ids and times."""
    return re.sub(r'[-_]\d{13}(-\w+)?|"settled_ms":"\d+"', "", ran.out.decode())


def test_verbose_prints_device_backend_delivery_and_steps(route: Route) -> None:
    ran = clawperator("press", "home", "--verbose")
    assert ran.code == 0
    lines = ran.err.splitlines()
    assert all(re.match(r"clawperator: \+\d+ ms ", line) for line in lines)
    for words in (
        f"simulated phone {route.serial} by default: the only one",
        "backend auto",
        "press_key, timeout",
        "broadcast to its Operator",
        "Operator com.clawperator.operator on",
        "broadcast sent",
        "waiting for the result",
        "log lines",
        "step a1 (press_key): success",
        "success after",
    ):
        assert words in ran.err, words


@pytest.mark.parametrize("flags", [("--verbose",), ("--log-level", "debug"), ("--verbose", "--json")])
def test_stdout_is_the_same(route: Route, flags: tuple[str, ...]) -> None:
    route.run("press", "home")
    plain = route.run("press", "home")
    verbose = route.run("press", "home", *flags)
    assert masked(plain) == masked(verbose)
    assert (plain.err, bool(verbose.err)) == ("", True)


def test_the_adb_backend_prints_its_commands_and_attempts(route: Route) -> None:
    ran = route.run("click", "--text", "Nowhere", "--backend", "adb", "--timeout", "1500", "--verbose")
    assert ran.code == 1
    assert "backend adb" in ran.err
    assert re.search(r"shell uiautomator: exit code 0 after \d+ ms", ran.err)
    assert re.search(r"NODE_NOT_FOUND: next attempt in \d+ ms", ran.err)
    assert re.search(r"engine: click failed in \d+ ms", ran.err)


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize("backend", ["operator", "adb"])
def test_text_that_is_typed_is_in_no_trace(route: Route, backend: str) -> None:
    route.run("open", "com.android.settings")
    ran = route.run("type", SECRET, "--role", "textfield", "--backend", backend, "--timeout", "2000", "--verbose")
    assert "enter_text" in ran.err
    assert SECRET not in ran.err
    assert SECRET not in Path(log_file()).read_text()


def test_the_host_log_has_the_trace(route: Route) -> None:
    route.run("press", "home")
    before = Path(log_file()).read_text()
    route.run("press", "home")
    plain = Path(log_file()).read_text()
    route.run("press", "home", "--log-level", "debug")
    verbose = Path(log_file()).read_text()
    assert '"event":"trace"' not in plain.removeprefix(before)
    assert '"event":"trace"' in verbose.removeprefix(plain)


def test_a_higher_level_prints_no_notes(route: Route) -> None:
    assert route.run("press", "home", "--log-level", "error").err == ""
