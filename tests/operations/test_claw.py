"""The rows of claw's own commands, and the parameters that are read by them."""

import shlex
import subprocess
import sys

import pytest
from msgspec import UNSET

from clawperator.cli.claw.command_line import parse_line, read_params
from clawperator.errors import ClawError
from clawperator.operations.claw import CLAW, CLAW_GLOBALS, claw_commands, find_claw_operation
from tests.support.running import claw_json

VERBS = {
    *("list-sessions", "delete-session", "load-session", "flush-transcript", "show-command", "show-tool"),
    *(
        "exec-command",
        "exec-tool",
        "route",
        "bootstrap",
        "command-graph",
        "tool-pool",
        "bootstrap-graph",
        "turn-loop",
        "trust",
    ),
}
ACTING = {
    *(
        "--device",
        "--operator-package",
        "--backend",
        "--permission-mode",
        "--allow-tool",
        "--deny-tool",
        "--deny-prefix",
    ),
    *("--ask-tool", "--timeout-seconds", "--allow-scheme", "--pass-env"),
}
SESSION = {"--directory", "--session-id", "--resume"}
THINKING = {
    *(
        "--limit",
        "--brain",
        "--model",
        "--events",
        "--evidence",
        "--heartbeat-seconds",
        "--max-budget-tokens",
        "--max-steps",
    ),
    *("--max-session-turns", "--strict"),
    "--no-mcp",
}
OWN_FLAGS = {
    "list-sessions": {"--directory"},
    "load-session": {"--directory"},
    "delete-session": {"--directory"},
    "flush-transcript": SESSION,
    "exec-command": ACTING,
    "exec-tool": ACTING,
    "route": {"--limit"},
    "trust": {"--list", "--remove", "--dry-run"},
    "tool-pool": {"--simple-mode", "--no-mcp", "--deny-tool", "--deny-prefix", "--pass-env"},
    "bootstrap": THINKING | ACTING | SESSION | {"--quiet"},
    "turn-loop": THINKING | ACTING | SESSION | {"--max-turns", "--continuation-prompt", "--structured-output"},
}


def test_claw_has_its_fifteen_commands_with_their_flags() -> None:
    assert {command.name for command in claw_commands()} == VERBS
    assert len(claw_commands()) == 15
    for command in claw_commands():
        flags = [flag.name for flag in command.flags]
        assert len(set(flags)) == len(flags)
        assert set(flags) == {"--output-format", *OWN_FLAGS.get(command.name, ())}
        assert command.summary.endswith(".")
        assert len(command.examples) >= 2
    assert [(f.name, f.aliases) for f in CLAW_GLOBALS] == [
        ("--output-format", ()),
        ("--help", ("-h",)),
        ("--version", ("-V",)),
    ]


def test_repeatable_flags_are_marked() -> None:
    repeated = {flag.name for command in claw_commands() for flag in command.flags if flag.repeats}
    assert repeated == {
        "--allow-tool",
        "--deny-tool",
        "--deny-prefix",
        "--ask-tool",
        "--allow-scheme",
        "--pass-env",
    }


def test_the_examples_of_claw_can_be_read() -> None:
    for command in claw_commands():
        for example in command.examples:
            words = shlex.split(example.rpartition("| ")[2])
            assert words[0] == "claw"
            assert parse_line(words[1:]).command == command


@pytest.mark.parametrize(
    ("line", "families"),
    [
        ("list-sessions", ["claw", "commands", "model", "sessions"]),
        ("bootstrap x", ["claw", "commands", "model", "servers", "turns"]),
        ("nonsense", ["claw", "commands", "model"]),
    ],
)
def test_a_line_of_claw_loads_only_the_rows_of_its_command(line: str, families: list[str]) -> None:
    script = (
        "import contextlib, sys; from clawperator.cli.claw.command_line import parse_line\n"
        f"with contextlib.suppress(Exception): parse_line({line.split()!r})\n"
        "print(*sorted(name for name in sys.modules if name.startswith('clawperator.operations.')))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert [name.rpartition(".")[2] for name in ran.stdout.split()] == families


def test_flags_and_words_become_parameters() -> None:
    flags = ["--deny-tool", "a", "--deny-tool=b", "--max-turns", "-1", "--timeout-seconds", "0", "--strict"]
    params = read_params(parse_line(["turn-loop", *flags, "--", "--go"]))
    assert (params.prompt, params.deny_tool, params.max_turns, params.strict) == ("--go", ["a", "b"], -1, True)
    assert isinstance(params.timeout_seconds, float)
    assert (params.timeout_seconds, params.resume, params.limit) == (0.0, UNSET, 5)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("route x --limit 1.5", "argument --limit: it must be a whole number from 0 up, not '1.5'"),
        ("route x --limit -1", "argument --limit: it must be a whole number from 0 up, not '-1'"),
        ("turn-loop x --max-turns y", "argument --max-turns: it must be a whole number, not 'y'"),
        (
            "exec-tool x {} --timeout-seconds y",
            "argument --timeout-seconds: it must be a number of seconds, 1000000000 at most, not 'y'",
        ),
    ],
)
def test_numbers_are_checked_in_the_words_of_argparse(line: str, message: str) -> None:
    with pytest.raises(ClawError) as info:
        read_params(parse_line(line.split()))
    assert (info.value.code, info.value.message) == ("ARGUMENTS_INVALID", message)


@pytest.mark.parametrize("name", CLAW)
def test_a_row_is_complete(name: str) -> None:
    row = find_claw_operation(name)
    assert all(f"claw {name}" in example for example in row.examples)
    assert [field.name for field in row.fields if not field.description or field.description.endswith(".")] == []


@pytest.mark.parametrize("flags", [[], ["--remove"], ["--dry-run"]])
def test_an_empty_variable_is_no_folder_to_trust(flags: list[str]) -> None:
    ran = claw_json("trust", *flags, "")
    assert (ran.code, ran.json["error"]["code"]) == (1, "ARGUMENTS_INVALID")
