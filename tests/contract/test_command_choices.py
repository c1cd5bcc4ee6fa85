"""The choices in the command rows are those that the product accepts."""

from typing import get_args, get_type_hints

import pytest

from clawperator._base.settings import OUTPUTS
from clawperator.cli.console import LOG_LEVELS
from clawperator.commands.claw import CLAW_COMMANDS
from clawperator.commands.model import BACKENDS, LEVELS, Flag
from clawperator.commands.registry import GLOBALS, find_by_path
from clawperator.contract.action_params import DIRECTIONS, KEY_CODES, ViewName
from clawperator.contract.actions import ACTIONS
from clawperator.recording.kinds import CompareMode, CompareStrategy


def flag(path: str, name: str) -> Flag:
    command = find_by_path(path.split())
    assert command is not None
    return next(flag for flag in command.flags if flag.name == name)


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        (flag("click", "--backend"), BACKENDS),
        (flag("snapshot", "--view"), get_args(ViewName)),
        (flag("scroll", "--direction"), DIRECTIONS),
        (flag("swipe", "--direction"), DIRECTIONS),
        (flag("press", "--key"), KEY_CODES),
        (flag("recording compare", "--mode"), get_args(CompareMode)),
        (flag("recording compare", "--strategy"), get_args(CompareStrategy)),
        (next(flag for flag in GLOBALS if flag.name == "--output"), OUTPUTS),
        (next(flag for flag in GLOBALS if flag.name == "--log-level"), LOG_LEVELS),
        (next(flag for flag in CLAW_COMMANDS[0].flags if flag.name == "--permission-mode"), LEVELS),
    ],
    ids=lambda value: value.name if isinstance(value, Flag) else "",
)
def test_the_choices_of_a_flag_are_what_it_accepts(found: Flag, accepted: tuple[str, ...]) -> None:
    assert sorted(found.choices) == sorted(accepted)


@pytest.mark.parametrize(
    ("name", "accepted"),
    [
        ("press", KEY_CODES),
        ("rotate", get_args(get_type_hints(ACTIONS["rotate"].params)["orientation"])),
        ("scroll", DIRECTIONS),
        ("swipe", DIRECTIONS),
    ],
)
def test_the_choices_of_a_word_are_what_it_accepts(name: str, accepted: tuple[str, ...]) -> None:
    command = find_by_path([name])
    assert command is not None
    assert sorted(command.word_choices) == sorted(accepted)
