"""Every error has a hint, and the commands in hints exist."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clawperator
from clawperator._base.codes import HINTS
from clawperator.contract.actions import ACTIONS
from clawperator.contract.commands import find_command
from clawperator.contract.execution import validate
from clawperator.errors import CODES, ClawError
from clawperator.operations.claw import claw_commands
from tests.support.running import clawperator as run

BASE: dict[str, Any] = {
    "commandId": "c",
    "taskId": "t",
    "source": "s",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 5_000,
}
_DEVICE_BY_HAND = re.compile(r"--device \{|adb -s \{")
_COMMAND = re.compile(r"'(clawperator|claw) ([^']*)'")


def test_every_code_has_one_default_hint() -> None:
    own = {code for code, row in CODES.items() if row.hint is not None}
    assert own | set(HINTS) == set(CODES)
    assert not own & set(HINTS)


@pytest.mark.parametrize("code", CODES)
def test_every_error_has_a_hint(code: str) -> None:
    error = ClawError(code, "it failed")
    assert error.hint
    assert error.document()["hint"] == error.hint
    assert error.hint in str(error)
    assert error.with_(details={"a": 1}).hint == error.hint


def test_the_commands_in_hints_exist() -> None:
    hints = [*HINTS.values(), *(row.hint or "" for row in CODES.values())]
    source = "\n".join(path.read_text("utf-8") for path in Path(clawperator.__file__).parent.rglob("*.py"))
    lines = {*_COMMAND.findall("\n".join(hints)), *_COMMAND.findall(source)}
    assert len(lines) > 100
    unknown = [f"{program} {line}" for program, line in lines if not is_command(program, line.split())]
    assert unknown == []


def test_hints_quote_the_serial_of_a_device() -> None:
    """``device_flag`` and ``adb_flag`` make the flags: a serial may have spaces and quotes."""
    package = Path(clawperator.__file__).parent
    by_hand = [str(path) for path in package.rglob("*.py") if _DEVICE_BY_HAND.search(path.read_text("utf-8"))]
    assert by_hand == []


def is_command(program: str, words: list[str]) -> bool:
    if not words or words[0].startswith(("-", "<")) or "{" in words[0] or words[0] == "help":
        return True
    if program == "claw":
        return any(words[0] in (command.name, *command.synonyms) for command in claw_commands())
    command = find_command(words[0])
    if command is None:
        return False
    below = words[1] if len(words) > 1 else "-"
    return not command.subcommands or below.startswith(("{", "-")) or bool(find_command(below, command))


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("press warp", "Set --key to one of: "),
        ("scroll sideways", "Run 'clawperator scroll down'."),
        ("scroll-until Battery", "Run 'clawperator scroll-until down --text Battery'."),
        ("recording start --session-id a/b", "Use letters, digits, '-' and '_', for example demo-1."),
        ("click --coordinate 10", "Run 'clawperator click --help'."),
        ("click --coordinate 10 x", "Write for example --coordinate 540 1200."),
        ("click --text A --text B", "Give --text once."),
        ("type hello --text Title", "Here --text is the text to type. Select the field with --id, "),
        ("tap 540 700", "Run 'clawperator click --coordinate 540 700'."),
        ("click --text x --timeout soon", "Write for example --timeout 5000."),
        ("click --text x --timeout 5", "Choose a timeout from 1000 to 120000 ms."),
        ("read-value Version", "Run 'clawperator read-value --label Version'."),
        ("wait Display", "Run 'clawperator wait --text Display'."),
        ("phone start --seed many", "Run 'clawperator phone start --help'."),
    ],
)
def test_a_wrong_command_line_gets_the_line_that_works(line: str, hint: str) -> None:
    ran = run(*line.split(), *(() if "phone" in line else ("--validate-only",)))
    assert ran.code == 1
    assert hint in ran.json["hint"].replace(" --validate-only", "")  # a suggestion keeps the other flags


def test_the_label_in_a_hint_is_quoted_for_the_shell() -> None:
    assert run("wait", "Wi-Fi & more").json["hint"] == "Run 'clawperator wait --text 'Wi-Fi & more''."


def invalid(document: Any) -> ClawError:
    with pytest.raises(ClawError) as info:
        validate(document)
    return info.value


@pytest.mark.parametrize("action", ACTIONS)
def test_an_invalid_param_gets_the_values_that_it_takes(action: str) -> None:
    fields = msgspec.structs.fields(ACTIONS[action].params)
    for field in fields:
        for wrong in (object.__name__, {"unknown": 1}, -5, [True]):
            document = {**BASE, "actions": [{"id": "a", "type": action, "params": {field.encode_name: wrong}}]}
            with suppress(ClawError):
                validate(document)
                continue  # the value is valid for this field
            hint = invalid(document).own_hint
            assert hint, document
            assert "None" not in hint


@pytest.mark.parametrize("key", [*BASE, "actions", "mode"])
def test_an_invalid_field_of_an_execution_gets_the_values_that_it_takes(key: str) -> None:
    error = invalid({**BASE, "actions": [{"id": "a", "type": "snapshot_ui"}], key: -1})
    assert error.message.startswith(key)
    assert key in error.hint


KEYS = st.sampled_from(["actions", "type", "id", "params", "matcher", "timeoutMs"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda below: st.lists(below) | st.dictionaries(KEYS, below),
    max_leaves=8,
)


@given(JSON)
def test_every_invalid_document_gets_a_hint(document: Any) -> None:
    assert invalid(document).own_hint
