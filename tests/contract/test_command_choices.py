"""The choices in the command rows are those that the product accepts."""

import pytest

from clawperator._base.config import OUTPUTS
from clawperator.cli.console import LOG_LEVELS
from clawperator.contract.commands import BACKENDS, GLOBALS, Flag, find_by_path
from clawperator.contract.fields import LEVELS
from clawperator.operations.claw import claw_commands


def flag(path: str, name: str) -> Flag:
    command = find_by_path(path.split())
    assert command is not None
    return next(flag for flag in command.flags if flag.name == name)


@pytest.mark.parametrize(
    ("found", "accepted"),
    [
        (flag("click", "--backend"), BACKENDS),
        (next(flag for flag in GLOBALS if flag.name == "--output"), OUTPUTS),
        (next(flag for flag in GLOBALS if flag.name == "--log-level"), LOG_LEVELS),
        (next(flag for flag in claw_commands()[0].flags if flag.name == "--permission-mode"), LEVELS),
    ],
    ids=lambda value: value.name if isinstance(value, Flag) else "",
)
def test_the_choices_of_a_flag_are_what_it_accepts(found: Flag, accepted: tuple[str, ...]) -> None:
    assert sorted(found.choices) == sorted(accepted)
