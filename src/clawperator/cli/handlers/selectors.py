"""Selector flags as a NodeMatcher document."""

from typing import Any

import msgspec

from clawperator._text import is_blank
from clawperator.cli.parsing import ParsedArguments, invalid
from clawperator.errors import ClawError

_FIELDS = {
    "text": "textEquals",
    "text-contains": "textContains",
    "id": "resourceId",
    "desc": "contentDescEquals",
    "desc-contains": "contentDescContains",
    "role": "role",
}


def element(arguments: ParsedArguments, *, without: tuple[str, ...] = ()) -> dict[str, Any] | None:
    """The selector of the element, or None. ``without`` names flags that have another meaning."""
    return _matcher(arguments, "--", without)


def container(arguments: ParsedArguments) -> dict[str, Any] | None:
    return _matcher(arguments, "--container-", ())


def required(matcher: dict[str, Any] | None, command: str) -> dict[str, Any]:
    if matcher is None:
        raise ClawError(
            "MISSING_SELECTOR",
            f"{command} needs a selector",
            hint="Add one of --text, --text-contains, --id, --desc, --desc-contains, --role or --selector.",
            operation="argparse",
        )
    return matcher


def _matcher(arguments: ParsedArguments, prefix: str, without: tuple[str, ...]) -> dict[str, Any] | None:
    simple = {
        field: value
        for name, field in _FIELDS.items()
        if f"--{name}" not in without and (value := arguments.get(prefix + name)) is not None
    }
    json = arguments.get(prefix + "selector")
    if json is not None:
        if simple:
            raise invalid(f"{prefix}selector cannot be combined with other selector flags")
        return _from_json(json, prefix + "selector")
    for field, value in simple.items():
        if is_blank(value):
            flag = next(name for name, other in _FIELDS.items() if other == field)
            raise invalid(f"{prefix}{flag} must not be blank")
    return simple or None


def _from_json(text: str, flag: str) -> dict[str, Any]:
    hint = f'Write {flag} \'{{"textEquals":"Wi-Fi"}}\'.'
    if is_blank(text):
        raise invalid(f"{flag} must not be blank", hint)
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as e:
        raise invalid(f"{flag} is not valid JSON: {e}", hint) from None
    if not isinstance(value, dict):
        raise invalid(f"{flag} must be a JSON object", hint)
    return value
