"""The command registry: every row is complete, and its references lead somewhere."""

import shlex
import subprocess
import sys
from typing import get_args

import pytest

from clawperator.agent.tools.builtin import builtin_tools
from clawperator.commands.claw import CLAW_COMMANDS, CLAW_GLOBALS
from clawperator.commands.model import LEVELS, Command, Level, resolve_handler
from clawperator.commands.registry import MODULES, SYNONYMS, all_commands, find_by_path, find_command, leaves

CLAWPERATOR = dict(leaves())
CLAW = {command.name: command for command in CLAW_COMMANDS}
EVERY = [*CLAWPERATOR.items(), *CLAW.items()]


@pytest.mark.parametrize(("name", "command"), EVERY, ids=[name for name, _ in EVERY])
def test_the_handler_of_every_command_exists(name: str, command: Command) -> None:
    assert callable(resolve_handler(command.handler)), name
    if command.execution:
        assert callable(resolve_handler(command.execution)), name


def test_a_family_of_subcommands_has_no_handler() -> None:
    assert all(command.handler == "" for command in all_commands() if command.subcommands)


def test_every_tool_that_a_command_equals_exists() -> None:
    known = {tool.name for tool in builtin_tools()}
    for name, command in EVERY:
        assert set(command.tools) <= known, name


def test_a_command_needs_the_level_of_its_tools() -> None:
    """A policy that allows a command allows the same tool, and the other way round."""
    level_of = {tool.name: tool.level for tool in builtin_tools()}
    for name, command in CLAWPERATOR.items():
        for tool in command.tools:
            assert LEVELS.index(command.level) >= LEVELS.index(level_of[tool]), (name, tool)


def test_summaries_are_sentences_and_names_are_unique() -> None:
    for name, command in EVERY:
        assert command.summary.endswith("."), name
    names = [name for command in all_commands() for name in (command.name, *command.synonyms)]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_a_command_is_found_by_name_synonym_and_path() -> None:
    assert find_command("tap") == find_command("click") == find_by_path(["click"])
    assert find_by_path(["recording", "parse"]) == CLAWPERATOR["recording parse"]
    assert find_command("parse") is None


# Permission levels.


def test_levels_are_ordered_from_the_least_to_the_most() -> None:
    assert get_args(Level) == LEVELS == ("read-only", "act", "full")


def test_commands_that_reset_delete_install_or_provision_need_the_full_level() -> None:
    words = ("reset", "delete", "install", "provision", "update", "sync", "grant")
    for name, command in EVERY:
        if any(word in name for word in words):
            assert command.level == "full", name


def test_flags_that_raise_the_level_are_flags_of_the_command() -> None:
    for name, command in EVERY:
        assert set(command.raised_by) <= {flag.name for flag in command.flags}, name


@pytest.mark.parametrize(
    ("command", "flags", "level"),
    [
        (CLAWPERATOR["doctor"], (), "read-only"),
        (CLAWPERATOR["doctor"], ("--check-only",), "read-only"),
        (CLAWPERATOR["doctor"], ("--check-only", "--fix"), "full"),
        (CLAWPERATOR["click"], (), "act"),
        (CLAWPERATOR["snapshot"], (), "read-only"),
        (CLAWPERATOR["skills run"], ("--registry",), "full"),
        (CLAW["exec-tool"], (), "act"),
        (CLAW["exec-tool"], ("--permission-mode",), "full"),
        (CLAW["delete-session"], (), "full"),
        (Command("new", "A row without a level."), (), "full"),
    ],
)
def test_flags_raise_the_level_of_a_command(command: Command, flags: tuple[str, ...], level: Level) -> None:
    assert command.level_with(flags) == level


def test_the_highest_level_is_that_with_every_flag() -> None:
    assert CLAWPERATOR["doctor"].highest_level == "full"
    assert CLAWPERATOR["recording describe"].highest_level == "act"
    assert CLAWPERATOR["click"].highest_level == "act"


# The commands of claw.

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
    assert {command.name for command in CLAW_COMMANDS} == VERBS
    assert len(CLAW_COMMANDS) == 15
    for command in CLAW_COMMANDS:
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


def test_an_agent_needs_full_for_flags_that_widen_what_a_command_may_do() -> None:
    rows = [command for _, command in leaves()] + list(CLAW_COMMANDS)
    for flag in ("--allow-scheme", "--pass-env"):
        having = [command for command in rows if any(own.name == flag for own in command.flags)]
        assert len(having) >= 5
        assert {command.level_with([flag]) for command in having} == {"full"}


def test_repeatable_flags_are_marked() -> None:
    repeated = {flag.name for command in CLAW_COMMANDS for flag in command.flags if flag.repeats}
    assert repeated == {
        "--allow-tool",
        "--deny-tool",
        "--deny-prefix",
        "--ask-tool",
        "--allow-scheme",
        "--pass-env",
    }


def test_the_examples_of_claw_can_be_read() -> None:
    from clawperator.cli.claw.command_line import parse_line

    for command in CLAW_COMMANDS:
        for example in command.examples:
            words = shlex.split(example.rpartition("| ")[2])
            assert words[0] == "claw"
            assert parse_line(words[1:]).command == command


def test_the_table_of_claw_is_all_that_is_loaded_with_it() -> None:
    script = (
        "import sys, msgspec; before = set(sys.modules); import clawperator.commands.claw;"
        "print(*sorted(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    package = "clawperator.commands"
    assert ran.stdout.split() == [
        "clawperator",
        package,
        f"{package}.claw",
        f"{package}.model",
    ]


def test_the_table_of_names_is_that_of_the_rows() -> None:
    assert tuple(command.name for command in all_commands()) == tuple(MODULES)
    assert {word: command.name for command in all_commands() for word in command.synonyms} == SYNONYMS
