"""Selectors from the flags of a command."""

from typing import Any

from clawperator._base.text import is_blank, read_number
from clawperator._base.typed import decode
from clawperator.cli.command_line import Call
from clawperator.cli.parsing import ParsedArguments, invalid
from clawperator.commands.selectors import RELATION_FLAGS, STATES, TEXT_FLAGS
from clawperator.errors import ClawError

Selector = dict[str, Any]


def element(call: Call, *, without: tuple[str, ...] = ()) -> Selector | None:
    """The selector of the element, or None. ``without`` names flags that have another meaning.

    A command whose argument may be a reference takes it instead of flags.
    """
    arguments = call.arguments
    given = _selector(arguments, "--", without)
    if arguments.command is None or arguments.command.usage != "[<ref>]" or not arguments.words:
        return given
    if given is not None:
        raise invalid(
            f"{call.name} takes a reference or selector flags, not both", f"Run 'clawperator {call.name} e12'."
        )
    return {"ref": arguments.words[0]}


def container(arguments: ParsedArguments) -> Selector | None:
    return _selector(arguments, "--container-", ())


def required(selector: Selector | None, command: str) -> Selector:
    if selector is None:
        raise ClawError(
            "MISSING_SELECTOR",
            f"{command} needs a selector",
            hint="Add --text with the label, --ref with a reference of the outline, or another selector flag.",
            operation="argparse",
        )
    return selector


def _selector(arguments: ParsedArguments, prefix: str, without: tuple[str, ...]) -> Selector | None:
    fields: Selector = {}
    for name, field in TEXT_FLAGS.items():
        value = arguments.get(prefix + name) if f"--{name}" not in without else None
        if value is not None:
            if is_blank(value):
                raise invalid(f"{prefix}{name} must not be blank", f"Give a value, or leave {prefix}{name} out.")
            fields[field] = value
    if prefix == "--":
        fields |= _host_fields(arguments, without)
    json = arguments.get(prefix + "selector")
    if json is None:
        return fields or None
    if fields:
        raise invalid(
            f"{prefix}selector cannot be combined with other selector flags",
            f"Put all fields into the JSON of {prefix}selector, or leave it out.",
        )
    return selector_json(json, prefix + "selector")


def _host_fields(arguments: ParsedArguments, without: tuple[str, ...]) -> Selector:
    fields: Selector = {}
    if (ref := arguments.get("--ref")) is not None:
        fields["ref"] = ref
    for state in arguments.all("--state"):
        of_state, wanted = STATES[state]
        fields[of_state] = wanted
    for name, field in RELATION_FLAGS.items():
        if (value := arguments.get(f"--{name}")) is not None:
            fields[field] = _nested(value, f"--{name}")
    if (any_of := arguments.all("--any-of")) and "--any-of" not in without:
        fields["anyOf"] = [one for value in any_of for one in _alternatives(value)]
    if (index := arguments.get("--index")) is not None:
        fields["index"] = read_number(index)
        if not isinstance(fields["index"], int) or fields["index"] < 0:
            raise invalid(
                f"--index must be a whole number from 0 up, not {index!r}", "Add --index 0 for the first."
            )
    if arguments.has("--unique"):
        fields["unique"] = True
    return fields


def _nested(value: str, flag: str) -> Selector:
    """A label, or the JSON of a selector."""
    if value.lstrip().startswith("{"):
        return selector_json(value, flag)
    if is_blank(value):
        raise invalid(f"{flag} must not be blank", f"Give a label, or leave {flag} out.")
    return {"textEquals": value}


def _alternatives(value: str) -> list[Any]:
    is_list = value.lstrip().startswith("[")
    return selectors_json(value, "--any-of") if is_list else [_nested(value, "--any-of")]


def selector_json(text: str, flag: str) -> Selector:
    hint = f'Write {flag} \'{{"textEquals":"Wi-Fi"}}\'.'
    value = _json(text, flag, hint)
    if not isinstance(value, dict):
        raise invalid(f"{flag} must be a JSON object", hint)
    return value


def selectors_json(text: str, flag: str) -> list[Any]:
    hint = f'Write {flag} \'[{{"textEquals":"Wi-Fi"}},{{"textEquals":"Internet"}}]\'.'
    value = _json(text, flag, hint)
    if not isinstance(value, list):
        raise invalid(f"{flag} must be a JSON list", hint)
    return value


def _json(text: str, flag: str, hint: str) -> Any:
    if is_blank(text):
        raise invalid(f"{flag} must not be blank", hint)
    try:
        return decode(text)
    except ValueError as e:
        raise invalid(f"{flag} is not valid JSON: {e}", hint) from None
