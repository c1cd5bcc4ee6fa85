"""Hints in the language of every entry point.

A hint names the next call as a command line: "Run 'clawperator snapshot' to see the screen." Command lines show it
as it is. Other entry points read the line with the rows of the commands, and write the call in their own words.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import UNSET, Struct

from clawperator.contract.commands import GLOBALS, find_by_path
from clawperator.contract.fields import ParamField, read_field
from clawperator.errors import ClawError
from clawperator.operations.model import Operation, find_operation

_RUN = re.compile(r"\b([Rr])un '(?=(?:clawperator|claw)\b)")
# Longer ones are kept as they are: devices and skills write hints, too.
_LONGEST_HINT, _LONGEST_LINE = 2_000, 500
# Flags of the caller, by the field that requests have for them; empty for one that only command lines choose.
_CALLER = {"--device": "deviceId", "--operator-package": "operatorPackage"}
_CALLER |= dict.fromkeys(("--backend", "--timeout", "--json"), "")


class Next(Struct, frozen=True):
    """The call that a hint suggests.

    It calls an ``operation``, or an ``action``, with these parameters, as JSON has them. One with neither can only
    be typed: its ``line`` is a command of claw, asks for help, or has a flag that no other entry point has.
    ``caller`` holds the device and the Operator package that the line names, ``schemes`` the URI schemes that it
    allows.
    """

    line: str
    operation: Operation | None = None
    action: str = ""
    params: Mapping[str, Any] = {}
    caller: Mapping[str, str] = {}
    schemes: tuple[str, ...] = ()


Render = Callable[[Next], str]


def translate(hint: str, render: Render) -> str:
    """The hint with each command line that it says to run as ``render`` writes the call: "call snapshot_ui"."""
    parts, place = [], 0
    for start, end, is_first, call in _find(hint):
        text = render(call)
        parts += [hint[place:start], text[:1].upper() + text[1:] if is_first else text]
        place = end
    return "".join((*parts, hint[place:]))


def find_calls(hint: str) -> list[Next]:
    """The calls that a hint says to make."""
    return [call for _, _, _, call in _find(hint)]


def ask_user(call: Next) -> str:
    """What a client that cannot make the call itself is to do."""
    if call.schemes:
        name = call.schemes[-1]
        at_start = f"start the server with --allow-scheme {name}"
        return f"ask the user to {at_start}, or to add {name} to allow_schemes in clawperator.toml,"
    return f"ask the user to run '{call.line}'"


def _find(hint: str) -> Iterator[tuple[int, int, bool, Next]]:
    """Where each command line begins, with its verb, and ends; whether the verb is capitalised; and the call."""
    place = 0
    while len(hint) <= _LONGEST_HINT and (found := _RUN.search(hint, place)):
        rest = hint[found.end() :][:_LONGEST_LINE]
        # A line may quote its words, too: the first quote after which none is open ends it.
        line = next((rest[:at] for at, c in enumerate(rest) if c == "'" and _words(rest[:at])), "")
        place = found.end() + len(line) + 1
        if line:
            yield found.start(), place, found[1] == "R", read_call(line)


def _words(line: str) -> list[str]:
    try:
        return [] if line.endswith(" ") else shlex.split(line)
    except ValueError:
        return []


def read_call(line: str) -> Next:
    """The call that a command line makes."""
    program, *words = _words(line)
    command = find_by_path(words[:2]) if program == "clawperator" and words else None
    if command is None or command.family:
        return Next(line)
    top = find_by_path(words[:1])
    assert top is not None
    name = f"{top.name} {command.name}" if top.family else command.name
    del words[: len(name.split())]
    flags = {name: flag for flag in (*command.flags, *GLOBALS) for name in (flag.name, *flag.aliases)}
    given: dict[str, list[str]] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            rest += words
            break
        spelled, mark, value = word.partition("=")
        flag = flags.get(spelled)
        if flag is None:
            rest.append(word)
            continue
        given.setdefault(flag.name, []).extend([value] if mark else words[: flag.values])
        del words[: 0 if mark else flag.values]
    caller = {field: "".join(given.pop(flag)) for flag, field in _CALLER.items() if flag in given}
    caller.pop("", None)
    schemes = tuple(given.pop("--allow-scheme", ()) if command.is_action else ())
    call = _action_call(name, given, rest) if command.is_action else _operation_call(name, given, rest, caller)
    # What is left has no field that other entry points know.
    return Next(line, schemes=schemes) if given or rest or schemes else Next(line, *call, caller)


Call = tuple[Operation | None, str, dict[str, Any]]
_NONE: Call = (None, "", {})


def _operation_call(name: str, given: dict[str, list[str]], rest: list[str], caller: dict[str, str]) -> Call:
    operation = find_operation(name)
    params = {}
    for field in operation.fields:
        value = _value(field, given, rest) if operation.is_cli_only or not field.use.cli_only else UNSET
        if value is UNSET and field.use.names_device:
            value = caller.pop("deviceId", UNSET)
        if value is not UNSET:
            params[field.name] = value
        elif field.required:
            return _NONE
    return operation, "", params


def _action_call(name: str, given: dict[str, list[str]], rest: list[str]) -> Call:
    from clawperator.contract.actions import ACTIONS
    from clawperator.contract.selectors import NodeSelector, selector_fields
    from clawperator.operations.actions import ACTION_COMMANDS

    row = ACTION_COMMANDS[name]
    params = {}
    for field in row.fields:
        if field.use.spread == "" and field.type is NodeSelector:
            inner = (one for one in selector_fields() if one.type is str and one.flag not in row.own_flags)
            value: Any = {one.name: _value(one, given, rest) for one in inner if one.flag in given} or UNSET
        else:
            value = _value(field, given, rest)
        if value is not UNSET:
            params[field.name] = value
    if not row.action or any(params.keys().isdisjoint(group) for group in row.needs):
        return _NONE
    try:
        action, own = row.execution(params)
    except ClawError:
        return _NONE
    own = {name: value for name, value in own.items() if value is not False}  # which is the default
    return _NONE if own.keys() - ACTIONS[action].params.__struct_fields__ else (None, action, own)


def _value(field: ParamField, given: dict[str, list[str]], rest: list[str]) -> Any:
    """The value of a field on the line, which is taken out of it; ``UNSET`` when it is not given."""
    if field.use.switches:
        return next((value for flag, value, _ in field.use.switches if given.pop(flag, None) is not None), UNSET)
    if isinstance(field.type, type) and issubclass(field.type, Struct):
        return UNSET  # no hint has one
    return read_field(field, given.pop(field.flag, None) if field.has_flag else None, rest)


# Python

# The methods of phones, and functions, that calls in hints have, and the keywords of parameters with another name.
_METHODS = {
    "snapshot_ui": "read_outline",
    "take_screenshot": "screenshot",
    "press_key": "press",
    "recording pull": "pull_recording",
    "phone start": "clawperator.start_phone",
    **{name: name for name in ("open_app", "open_uri", "close_app", "start_recording", "stop_recording")},
}
_KEYWORDS = {
    "applicationId": "package",
    "expectedPackage": "package",
    "distanceRatio": "distance",
    "validatorPattern": "pattern",
    "toMatcher": "to",
    "clickType": "focus",
    "enter_text text": "value",
    "wait_for_text_change text": "old",
    "sleep durationMs": "seconds",
}


def python_error(error: ClawError, document: Any = None) -> ClawError:
    """The error of a method with its keywords, and with methods in place of commands."""
    if document is not None and error.code == "EXECUTION_VALIDATION_FAILED":
        from clawperator.contract.execution import validate

        try:
            validate(document, _python_keywords(document["actions"][0]["type"]))
        except ClawError as spelled:
            error = spelled
    hint = python_hint(error.hint)
    return error if hint == error.hint else error.with_(hint=hint)


def _python_keywords(action: str) -> Any:
    from clawperator.api.selectors import KEYWORDS
    from clawperator.contract.issues import Spelling

    class Keywords(Spelling):
        """The keywords of the method of an action."""

        def name(self, path: str) -> str:
            first, *below = path.split(".")
            if below and below[0] in KEYWORDS:
                return KEYWORDS[below[0]]
            if first in ("matcher", "labelMatcher", "expectedNode"):
                return ""
            return _KEYWORDS.get(f"{action} {first}") or python_keyword(first)

        def example(self, path: str) -> str:
            name = self.name(path)
            return f'{name}={{"text": "Display"}}' if name else 'text="Display"'

    return Keywords()


def python_keyword(name: str) -> str:
    """The keyword of a parameter. Times are in seconds."""
    spelled = "".join(f"_{c.lower()}" if c.isupper() else c for c in name)
    return _KEYWORDS.get(name) or spelled.removesuffix("_ms")


def python_hint(hint: str) -> str:
    """The hint with the methods of a phone in place of commands. Those without one are to be run in a shell."""
    return translate(hint, _python_call)


def _python_call(call: Next) -> str:
    if call.schemes:
        return f"pass allow_schemes={list(call.schemes)!r} to connect()"
    method = _METHODS.get(call.action or (call.operation.name if call.operation else ""))
    params = {name: value for name, value in call.params.items() if (name, value) != ("view", "outline")}
    if method is None or "view" in params:
        return f"run '{call.line}' in a shell"
    name = method if "." in method else f"phone.{method}"
    return f"call {name}({', '.join(f'{python_keyword(k)}={v!r}' for k, v in params.items())})"
