"""What the argument readers of the action commands share: values of flags, and the execution of one action."""

from collections.abc import Mapping
from typing import Any

from clawperator._base.text import is_blank, read_number
from clawperator.cli.command_line import Call
from clawperator.cli.parsing import ParsedArguments, invalid
from clawperator.contract.action_params import UserChoice
from clawperator.contract.execution import single_action, with_timeout
from clawperator.contract.limits import MAX_USER
from clawperator.errors import ClawError

Document = dict[str, Any]
# How long 'open --wait' waits for the app.
OPEN_WAIT_MS = 15_000


def number_param(call: Call, flag: str, param: str) -> Document:
    """A number given by a flag, as a param; nothing without the flag."""
    text = call.arguments.get(flag)
    if text is None:
        return {}
    number = read_number(text)
    if number is None:
        raise invalid(f"{flag} takes a number, not {text!r}", f"Write {flag} with a number.")
    return {param: number}


def user_choice(call: Call) -> UserChoice | None:
    """The Android user of --user; None without the flag."""
    text = call.arguments.get("--user")
    if text is None:
        return None
    if text == "current":
        return "current"
    number = read_number(text)
    if not isinstance(number, int) or not 0 <= number <= MAX_USER:
        raise invalid(f"--user takes a number from 0 to {MAX_USER} or current, not {text!r}", "Write --user 10.")
    return number


def build_execution(
    call: Call, action: str, params: Mapping[str, Any] | None = None, expected: Mapping[str, Any] | None = None
) -> Document:
    """The execution of one action. --timeout is its timeout, and bounds how long it looks for its element.

    With a timeout of 0 it looks once.

    ``expected`` is what the command itself expects afterwards, besides what the flags name.
    """
    if (user := user_choice(call)) is not None:
        params = {**(params or {}), "user": user}
    if expect := {**(expected or {}), **_expectation(call)}:
        params = {**(params or {}), "expect": expect}
    if call.arguments.has("--settle"):
        params = {**(params or {}), "settle": True}
    timeout = call.options.timeout_ms
    document = single_action(action, params)
    if timeout is None or params is None or not {"matcher", "labelMatcher"} & params.keys():
        return with_timeout(document, timeout)
    from clawperator.contract.execution import look_retry, looks_for_node, retry_within

    if not looks_for_node(action):
        return with_timeout(document, timeout)
    if timeout == 0:  # look once, as in Python
        return single_action(action, {**params, "retry": look_retry(0)})
    return with_timeout(single_action(action, {**params, "retry": retry_within(timeout)}), timeout)


def _expectation(call: Call) -> Document:
    """What the command expects afterwards; empty without such a flag."""
    arguments = call.arguments
    expect: Document = {
        name: value for name in ("text", "gone", "app") if (value := arguments.get(f"--expect-{name}")) is not None
    }
    if arguments.has("--expect-timeout") and not expect:
        raise invalid(
            "--expect-timeout needs something to expect", "Add --expect-text, --expect-gone or --expect-app."
        )
    return expect | number_param(call, "--expect-timeout", "timeoutMs") if expect else {}


def word_or_flag(arguments: ParsedArguments, flag: str, command: str, wanted: str) -> str:
    """The argument, or the flag that replaces it; not both, not neither."""
    given = arguments.get(flag)
    if given is not None and arguments.words:
        raise invalid(f"{command} takes {wanted} once: as an argument or with {flag}", _once_hint(command, flag))
    value = given if given is not None else (arguments.words or ("",))[0]
    if not value or (is_blank(value) and command != "type"):
        raise missing_argument(f"{command} needs {wanted}", f"Run 'clawperator {command} --help' for an example.")
    return value


def _once_hint(command: str, flag: str) -> str:
    if command == "type":  # --text selects an element in every other command
        return "Here --text is the text to type. Select the field with --id, --text-contains, --desc or --role."
    return f"Leave {flag} out."


def missing_argument(message: str, hint: str) -> ClawError:
    return ClawError("MISSING_ARGUMENT", message, hint=hint, operation="argparse")
