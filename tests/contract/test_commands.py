"""The command registry: every row is complete, and its references lead somewhere."""

from typing import get_args

import pytest

from clawperator.agent.tools.builtin import builtin_tools
from clawperator.contract.commands import (
    MODULES,
    SYNONYMS,
    Command,
    all_commands,
    find_by_path,
    find_command,
    leaves,
    resolve_handler,
)
from clawperator.contract.fields import LEVELS, Level
from clawperator.operations.claw import claw_commands

CLAWPERATOR = dict(leaves())
CLAW = {command.name: command for command in claw_commands()}
EVERY = [*CLAWPERATOR.items(), *CLAW.items()]


@pytest.mark.parametrize(("name", "command"), EVERY, ids=[name for name, _ in EVERY])
def test_the_handler_of_every_command_exists(name: str, command: Command) -> None:
    assert callable(resolve_handler(command.handler)), name


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
    found = find_by_path(["recording", "parse"])
    assert found is not None
    assert found.summary == CLAWPERATOR["recording parse"].summary
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


def test_an_agent_needs_full_for_flags_that_widen_what_a_command_may_do() -> None:
    rows = [command for _, command in leaves()] + list(claw_commands())
    for flag in ("--allow-scheme", "--pass-env"):
        having = [command for command in rows if any(own.name == flag for own in command.flags)]
        assert len(having) >= 5
        assert {command.level_with([flag]) for command in having} == {"full"}


def test_the_table_of_names_is_that_of_the_rows() -> None:
    assert tuple(command.name for command in all_commands()) == tuple(MODULES)
    assert {word: command.name for command in all_commands() for word in command.synonyms} == SYNONYMS
