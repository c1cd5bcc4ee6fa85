"""Arguments that are not text, very long numbers and closed streams: typed errors for every command."""

import io
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from clawperator.cli import dispatch
from clawperator.cli.claw import dispatch as claw_dispatch
from clawperator.contract.commands import GLOBALS, Command, Flag, leaves
from clawperator.operations.claw import CLAW_GLOBALS, claw_commands
from tests.support.hanging import HANG_SECONDS
from tests.support.running import Ran, claw, clawperator

ODD = {
    "byte": "x\udcff",  # a byte of argv that is not UTF-8
    "surrogate": "\ud800",
    "nul": "a\0b",
    "digits": "9" * 5_000,
    "hex": "0x" + "f" * 5_000,
    "json": '{"' + "9" * 5_000 + '":' + "9" * 5_000 + "}",
    "json text": '{"text":"\udcff"}',
    "deep": "[" * 50_000,
}


def examples(command: Command) -> list[list[str]]:
    """The arguments of the command's examples, without redirection."""
    return [shlex.split(line.partition(" <")[0])[1:] for line in command.examples] or [[command.name]]


def command_lines(command: Command, odd: str, shared: tuple[Flag, ...]) -> Iterator[list[str]]:
    """The command's examples with the odd text in place of each argument, and as the value of each other flag."""
    lines = examples(command)
    dry = ["--validate-only"] if any(flag.name == "--validate-only" for flag in command.flags) else []
    for words in lines:
        for i, word in enumerate(words):
            if i >= 1 and not word.startswith("-"):
                yield [*words[:i], odd, *words[i + 1 :], *dry]
    for flag in (*command.flags, *shared):
        if flag.values:
            yield [*lines[0], flag.name, *[odd] * flag.values, *dry]


def assert_typed(ran: Ran, argv: list[str]) -> None:
    assert b'"UNKNOWN"' not in ran.out, (argv, ran.out)
    assert b"Traceback" not in ran.out, argv
    assert "Traceback" not in ran.err, argv


@pytest.fixture
def _servers_end_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that odd arguments do not prevent would run until it is stopped."""
    from clawperator.serve.http.server import HttpServer

    monkeypatch.setattr(HttpServer, "run", lambda server, _: server._socket.close())


@pytest.mark.usefixtures("route", "folder", "quick_retries", "_servers_end_at_once")
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_clawperator_answers_odd_arguments_with_a_typed_error(odd: str) -> None:
    for name, command in leaves():
        if not name.startswith("phone ") and name not in ("skills run", "serve"):
            for argv in command_lines(command, odd, GLOBALS):
                assert_typed(clawperator(*argv), argv)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("flag", ["--host", "--port", "--folder", "--permission-mode", "--backend"])
def test_a_server_does_not_start_with_an_odd_argument(flag: str, odd: str) -> None:
    argv = ["serve", "--port", "0", flag, odd, "--timeout", "1"]
    ran = clawperator(*argv)
    assert_typed(ran, argv)
    assert ran.code == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_commands_of_simulated_phones_answer_odd_arguments_with_a_typed_error(odd: str) -> None:
    for name, command in leaves():
        if name.startswith("phone ") and name != "phone start":
            for argv in command_lines(command, odd, GLOBALS):
                assert_typed(clawperator(*argv), argv)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
@pytest.mark.parametrize("flag", ["--seed", "--app", "--fault", "--cassette", "--adbd-port", "--server-port"])
def test_a_phone_does_not_start_with_an_odd_argument(flag: str, odd: str) -> None:
    argv = ["phone", "start", "odd", flag, odd]
    ran = clawperator(*argv)
    assert_typed(ran, argv)
    assert ran.code == 1
    assert clawperator("phone", "list").json["phones"] == []


@pytest.mark.usefixtures("route", "folder", "quick_retries")
@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_claw_answers_odd_arguments_with_a_typed_error(odd: str) -> None:
    for command in claw_commands():
        for argv in command_lines(command, odd, CLAW_GLOBALS):
            assert_typed(claw(*argv, "--output-format=json"), argv)


CLOSED = ("stdin", "stdout", "stderr")


def run_without(
    closed: str, run: Callable[[list[str]], int], argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, bytes]:
    """The exit code and stdout of a process that was started without one of its streams."""
    out = io.BytesIO()
    streams = {"stdin": io.TextIOWrapper(io.BytesIO()), "stdout": io.TextIOWrapper(out), "stderr": io.StringIO()}
    with monkeypatch.context() as patch:
        for name, stream in streams.items():
            patch.setattr(sys, name, None if name == closed else stream)
        return run(argv), out.getvalue()


@pytest.mark.usefixtures("folder", "_servers_end_at_once")
@pytest.mark.parametrize("closed", CLOSED)
def test_clawperator_runs_every_command_without_a_stream(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, command in leaves():
        lines = [] if name in ("phone start", "skills run", "serve") else examples(command)
        for argv in [*lines, ["exec", "-"], ["exec", "--payload", "-"]]:
            verbose = [*argv, "--log-level=debug", "--port=1"]  # an ignored flag, and so a warning
            code, out = run_without(closed, dispatch.run, verbose, monkeypatch)
            assert code in (0, 1), argv
            assert b'"UNKNOWN"' not in out, (argv, out)
            assert code == 1 or closed != "stdout" or name == "serve", argv  # a server prints nothing there


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("closed", CLOSED)
def test_claw_runs_every_command_without_a_stream(closed: str, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for command in claw_commands():
        for argv in [*examples(command), ["bootstrap", "-"], ["exec-tool", "press_key", "-"]]:
            code, out = run_without(closed, claw_dispatch.run, [*argv, f"--output-format={form}"], monkeypatch)
            assert code in (0, 1, 2), argv
            assert b'"UNKNOWN"' not in out, (argv, out)
            assert b"Error: " not in out, (argv, out)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("redirect", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_process_without_streams_ends_with_an_exit_code_and_no_traceback(redirect: str) -> None:
    for command in ("clawperator exec -", "clawperator click", "claw bootstrap -", "claw route"):
        program = f"{sys.executable} -c 'from clawperator.cli.main import {command.split()[0].replace('clawperator', 'main')} as m; m()'"
        script = f"exec {program} {' '.join(command.split()[1:])} {redirect}"
        ran = subprocess.run(["sh", "-c", script], capture_output=True, check=False, timeout=HANG_SECONDS)
        assert ran.returncode in (0, 1, 2), (command, ran)
        assert b"Traceback" not in ran.stdout + ran.stderr, (command, ran)
        assert b"UNKNOWN" not in ran.stdout + ran.stderr, (command, ran)
