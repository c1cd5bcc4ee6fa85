"""Hints for invalid fields of a document: the values that the field takes."""

import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

_SCHEMA = "Run 'clawperator schema execution' for the fields of an execution."
# Fields whose rules a type cannot express.
_BY_NAME: Mapping[str, str] = {
    "applicationId": "Give a package name. Run 'clawperator packages list' for the installed ones.",
    "expectedPackage": "Give a package name. Run 'clawperator packages list' for the installed ones.",
    "sessionId": "Use letters, digits, '-' and '_', for example demo-1.",
    "uri": "Give a URI such as https://example.com, at most 2048 characters.",
    "validatorPattern": "Write a regular expression such as [0-9]+%, with a backslash before special characters.",
    "textMatches": "Write a regular expression, with a backslash before special characters.",
    "contentDescMatches": "Write a regular expression, with a backslash before special characters.",
    "ref": "Use a reference of 'clawperator snapshot --view outline' alone, such as e12.",
    "clickType": "Use a matcher to focus a node, or leave clickType out.",
    "actions": 'Give 1 to 50 actions, such as {"id": "a1", "type": "snapshot_ui"}.',
    "id": "Give each action an id of its own, 1 to 128 characters long.",
    "expectedFormat": 'Set expectedFormat to "android-ui-automator".',
}


def flat_types(type_: Any) -> Iterator[Any]:
    """The types of a union, without annotations."""
    if get_origin(type_) is Annotated:
        yield from flat_types(get_args(type_)[0])
    elif get_origin(type_) in {Union, types.UnionType}:
        for arg in get_args(type_):
            yield from flat_types(arg)
    else:
        yield type_


def field_hint(shape: type[Struct], path: str, params: type[Struct] | None, action: str) -> str:
    """A hint for the field at ``path`` of a ``shape``. ``params`` are those of ``action``, if there is one."""
    names = path.split(".") if path else []
    if params is None or names[2:3] != ["params"]:
        return _hint(shape, [name for name in names if not name.isdecimal()]) or _SCHEMA
    schema = f"Run 'clawperator schema action.{action}' for its params."
    return _hint(params, names[3:]) or schema


def _hint(shape: Any, names: list[str]) -> str:
    """The hint for the field that ``names`` lead to; empty when there is none."""
    kind = shape
    for name in names:
        kind = next((below for option in flat_types(kind) for below in _below(option, name)), None)
        if kind is None:
            return ""
    if names and names[-1] in _BY_NAME:
        return _BY_NAME[names[-1]]
    return _values(names[-1], kind) if names else ""


def _below(kind: Any, name: str) -> list[Any]:
    """The type of a field or of the items of a list."""
    if get_origin(kind) in (list, tuple):
        return [get_args(kind)[0]] if name.isdecimal() else _below(get_args(kind)[0], name)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return [field.type for field in msgspec.structs.fields(kind) if field.encode_name == name]
    return []


def _values(name: str, type_: Any) -> str:
    """The values of a type, as a hint."""
    kinds = list(flat_types(type_))
    words = [str(arg) for kind in kinds if get_origin(kind) is Literal for arg in get_args(kind)]
    if words:
        return f"Set {name} to one of: {', '.join(words)}." if len(words) > 1 else f'Set {name} to "{words[0]}".'
    meta = _meta(type_)
    if bool in kinds:
        return f"Set {name} to true or false."
    if int in kinds or float in kinds:
        return _number(name, "a whole number" if float not in kinds else "a number", meta)
    if any(isinstance(kind, type) and issubclass(kind, Struct) for kind in kinds):
        return _example(name, next(k for k in kinds if isinstance(k, type) and issubclass(k, Struct)))
    if str in kinds:
        longest = next((m.max_length for m in meta if m.max_length is not None), None)
        return f"Give {name} as text" + (f" of 1 to {longest} characters." if longest else ".")
    return ""


def _number(name: str, noun: str, meta: list[Meta]) -> str:
    low = next((m.ge for m in meta if m.ge is not None), None)
    above = next((m.gt for m in meta if m.gt is not None), None)
    high = next((m.le for m in meta if m.le is not None), None)
    least = f" from {low:g}" if low is not None else f" above {above:g}" if above is not None else ""
    most = "" if high is None else f" to {high:g}" if low is not None else f" and at most {high:g}"
    return f"Set {name} to {noun}{least}{most or (' up' if low is not None else '')}."


def _example(name: str, kind: type[Struct]) -> str:
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    if "textEquals" in names:
        return f'Give a selector with at least one field, such as "{name}": {{"textEquals": "Display"}}.'
    return f"Give {name} as an object with the fields {', '.join(names)}."


def _meta(type_: Any) -> list[Meta]:
    """The annotations of a type and of the types in its union."""
    if get_origin(type_) is Annotated:
        base, *notes = get_args(type_)
        return [*(note for note in notes if isinstance(note, Meta)), *_meta(base)]
    if get_origin(type_) in (list, Literal):
        return []
    return [meta for arg in get_args(type_) for meta in _meta(arg)]
