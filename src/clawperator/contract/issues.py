"""Every issue of an invalid document, with its path, and the one error that reports them.

The decoder stops at the first violation. Then the same Structs are walked field by field, so that the error lists
all issues at once, each with an exact path.
"""

import math
import re
import types
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NoReturn, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, Struct

from clawperator._base.text import is_encodable, nearest
from clawperator._base.typed import convert
from clawperator.contract.action_params import Params
from clawperator.contract.actions import ACTION_ALIASES, ACTIONS, PARAM_ALIASES
from clawperator.contract.selectors import NAMED, Problem, problems_below
from clawperator.errors import ClawError

_SCHEMA = "Run 'clawperator schema execution' for the fields of an execution."
# Fields whose rules a type cannot express.
_BY_NAME: Mapping[str, str] = {
    "applicationId": "Give a package name. Run 'clawperator packages list' for the installed ones.",
    "app": "Give a package name. Run 'clawperator packages list' for the installed ones.",
    "expectedPackage": "Give a package name. Run 'clawperator packages list' for the installed ones.",
    "sessionId": "Use letters, digits, '-' and '_', for example demo-1.",
    "uri": "Give a URI such as https://example.com, at most 2048 characters.",
    "validatorPattern": "Write a regular expression such as [0-9]+%, with a backslash before special characters.",
    "textMatches": "Write a regular expression, with a backslash before special characters.",
    "contentDescMatches": "Write a regular expression, with a backslash before special characters.",
    "ref": "Give a reference alone, such as e12: run 'clawperator snapshot --view outline' for them.",
    "actions": 'Give 1 to 50 actions, such as {"id": "a1", "type": "snapshot_ui"}.',
    "id": "Give each action an id of its own, 1 to 128 characters long.",
    "expectedFormat": 'Set expectedFormat to "android-ui-automator".',
}


# A longer list of words is in the hint only.
_MOST_LISTED = 12
_MOST_QUOTED = 64
_PARAMS = re.compile(r"actions\.[0-9]+\.params\.?")


class Spelling:
    """How an entry point writes the parameters of an action, here JSON. A path begins below ``params``."""

    def name(self, path: str) -> str:
        """The parameter at a path; empty for one that has no name of its own, such as a selector."""
        return path.rpartition(".")[2]

    def place(self, path: str) -> str:
        """What the message of an issue at a path begins with. In JSON it is the whole path."""
        return self.name(path)

    def example(self, path: str) -> str:
        """A selector at a path."""
        return f'"{self.name(path)}": {{"textEquals": "Display"}}'


JSON = Spelling()


class Issue(Struct, frozen=True):
    """A name in braces in a text, ``{matcher}``, is the path of a parameter, ``{+matcher}`` an example of it."""

    path: str
    message: str
    keys: tuple[str, ...] = ()
    hint: str | None = None
    within: int | None = None  # the index of its action, when the path does not hold it
    semantic: bool = False  # the JSON type is right: a missing value, a number out of range, an unknown keyword


def issue_of(problem: Problem) -> Issue:
    """The issue of a rule that is broken."""
    path, message, *hint = problem
    return Issue(path, message, hint="".join(hint) or None)


def struct_issues(shape: type[Struct], value: Mapping[str, Any], path: str) -> list[Issue]:
    """The issues of ``value`` as a ``shape``: fields in order, unknown keys last."""
    issues: list[Issue] = []
    fields = msgspec.structs.fields(shape)
    for field in fields:
        below = f"{path}.{field.encode_name}".lstrip(".")
        if field.encode_name not in value:
            if field.default is NODEFAULT and field.default_factory is NODEFAULT:
                issues.append(Issue(below, "is missing", semantic=True))
            continue
        issues += _value_issues(field.type, value[field.encode_name], below)
    names = {field.encode_name for field in fields}
    if unknown := tuple(key for key in value if key not in names):
        near = nearest(unknown[0], names, max(2, len(unknown[0]) // 3))
        hint = f'Did you mean "{near}"?' if near else None
        issues.append(Issue(path, "unknown key: " + ", ".join(unknown), keys=unknown, hint=hint))
    return issues


def _value_issues(type_: Any, value: Any, path: str) -> list[Issue]:
    kinds = list(flat_types(type_))
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Struct) and isinstance(value, dict):
            return struct_issues(kind, value, path)
        if get_origin(kind) is list and isinstance(value, list):
            (item,) = get_args(kind)
            found = [issue for i, v in enumerate(value) for issue in _value_issues(item, v, f"{path}.{i}")]
            if found:
                return found
    try:
        convert(value, type_)
    except (msgspec.ValidationError, RecursionError) as e:
        words = [str(arg) for kind in kinds if get_origin(kind) is Literal for arg in get_args(kind)]
        number = "a number or " if int in kinds or float in kinds else "one of "
        message = f"expected {number}{', '.join(words)}" if words else _plain(e)
        text = value if isinstance(value, str) else ""
        near = nearest(text.casefold(), words, max(1, len(text) // 3))
        if text and len(words) > _MOST_LISTED:
            message = f"unknown value {text[:_MOST_QUOTED]!r}"
        is_number = type(value) in (int, float) and (int in kinds or float in kinds)
        is_semantic = is_number or (bool(words) and isinstance(value, str))
        return [Issue(path, message, hint=f"Did you mean {near}?" if near else None, semantic=is_semantic)]
    return []


def _plain(error: Exception) -> str:
    """The decoder's message in JSON's terms: numbers, not floats."""
    text = str(error).split(" - at `", maxsplit=1)[0].replace("`", "").replace("float", "number")
    text = text.replace("str of length >= 1", "a text that is not empty")
    return text[:1].lower() + text[1:].removesuffix(".0")


def refuse(issues: list[Issue], document: Any, shape: type[Struct], spelling: Spelling | None = None) -> NoReturn:
    """Raise the first issue, with all of them in ``details.reason``."""
    spelling = spelling or JSON
    first = issues[0]
    reason = [{"path": i.path, "message": _spelled(i.message, spelling)} for i in issues]
    details: dict[str, Any] = {"path": first.path, "reason": msgspec.json.encode(reason).decode()}
    action = _raw_action(document, first)
    for name, key in (("actionId", "id"), ("actionType", "type")):
        if isinstance(action.get(key), str):
            details[name] = action[key]
    if first.keys:
        details["invalidKeys"] = list(first.keys)
    hint = _spelled(first.hint or field_hint(shape, first.path, details.get("actionType", "")), spelling)
    if first.hint:
        details["hint"] = hint
    inner = _PARAMS.match(first.path)
    place = first.path if inner is None or spelling is JSON else spelling.place(first.path[inner.end() :])
    raise ClawError(
        "EXECUTION_VALIDATION_FAILED",
        f"{place}: {reason[0]['message']}".removeprefix(": "),
        hint=hint,
        details=details,
        operation="validate",
        target=first.path,
    ) from None


def _spelled(text: str, spelling: Spelling) -> str:
    """A text with the names of its parameters."""

    def name(found: re.Match[str]) -> str:
        path = _PARAMS.sub("", found[2])
        return spelling.example(path) if found[1] else spelling.name(path) or "a selector"

    return re.sub(NAMED, name, text)


def _raw_action(document: Any, issue: Issue) -> Mapping[str, Any]:
    """The action of an issue, as the caller wrote it."""
    parts = issue.path.split(".")
    index = issue.within
    if index is None and parts[0] == "actions" and len(parts) > 1:
        index = int(parts[1])
    if index is None or not isinstance(document, dict):
        return {}
    action = document["actions"][index]  # the issue was found in it
    return action if isinstance(action, dict) else {}


def explain(
    shape: type[Struct], wire: Any, document: Any, cause: Exception, spelling: Spelling | None
) -> NoReturn:
    """Raise with every issue of an execution that did not convert to ``shape``.

    Structure comes first, in the order of the document's fields: values of another type and unknown keys. Then
    what is missing in params or out of range, and the rules over several params, in the order of the actions.
    """
    if not isinstance(wire, dict):
        refuse([Issue("", "an execution must be a JSON object")], document, shape)
    if isinstance(cause, RecursionError):
        refuse([Issue("", "the execution is nested too deeply")], document, shape)
    if unreadable := list(_text_issues(wire, "")):
        refuse(unreadable, document, shape)
    structure, semantic = struct_issues(shape, wire, ""), list[Issue]()
    for i, action in enumerate(wire["actions"] if isinstance(wire.get("actions"), list) else ()):
        if not isinstance(action, dict) or not isinstance(action.get("type"), str):
            continue
        row = ACTIONS.get(action["type"])
        if row is None:
            structure.append(_unsupported(i, action["type"]))
        elif isinstance(given := action.get("params", {}), dict):
            of_types, of_values = _param_issues(row.params, given, f"actions.{i}.params")
            written = _raw_action(document, Issue("", "", within=i)).get("params")
            written = written if isinstance(written, dict) else {}
            structure += (_with_owner(issue, written, row.name) for issue in of_types)
            semantic += of_values
    structure.sort(key=lambda issue: _position(shape, issue))
    refuse(structure + semantic or [Issue("", f"invalid execution: {cause}")], document, shape, spelling)


def _param_issues(shape: type[Params], given: Mapping[str, Any], path: str) -> tuple[list[Issue], list[Issue]]:
    """The issues of an action's params: first those of their structure."""
    found = struct_issues(shape, given, path)
    # The members of a param that is an object belong to the structure.
    semantic = [issue for issue in found if issue.semantic and issue.path.count(".") == path.count(".") + 1]
    structure = [issue for issue in found if issue not in semantic]
    if not structure and not any(issue.path.removeprefix(f"{path}.") in given for issue in semantic):
        fields = msgspec.structs.fields(shape)
        values = {field.name: convert(given[field.name], field.type) for field in fields if field.name in given}
        missing = {field.name: UNSET for field in fields if field.required and field.name not in given}
        rules = list(map(issue_of, problems_below(path, shape(**values, **missing).problems())))
        semantic = sorted(semantic + rules, key=lambda issue: issue.path != path)
    return structure, semantic


def _position(shape: type[Struct], issue: Issue) -> tuple[int, float, bool]:
    """The place of an issue in the document. Unknown keys are behind the fields of their object."""
    name, *below = issue.path.split(".")
    fields = shape.__struct_fields__
    place = fields.index(name) if name in fields else len(fields)
    return place, int(below[0]) if below else math.inf, bool(issue.keys) and len(below) == 1


def _text_issues(value: Any, path: str) -> Iterator[Issue]:
    """Keys and texts that no JSON document can have: not a string, or not valid Unicode."""
    if isinstance(value, dict):
        for key, below in value.items():
            if isinstance(key, str) and is_encodable(key):
                yield from _text_issues(below, f"{path}.{key}".lstrip("."))
            else:
                yield Issue(path, f"invalid key {key!r}: a key must be valid Unicode text")
    elif isinstance(value, list):
        for i, below in enumerate(value):
            yield from _text_issues(below, f"{path}.{i}".lstrip("."))
    elif isinstance(value, str) and not is_encodable(value):
        yield Issue(path, "the text is not valid Unicode")


def _unsupported(index: int, name: str) -> Issue:
    near = nearest(name, [*ACTIONS, *ACTION_ALIASES], max(2, len(name) // 3))
    hint = f'Did you mean "{ACTION_ALIASES.get(near, near)}"?' if near else "Types: " + ", ".join(ACTIONS)
    return Issue("actions", f'action {index} has the unsupported type "{name}"', hint=hint, within=index)


def _with_owner(issue: Issue, params: Mapping[str, Any], action: str) -> Issue:
    """Name unknown keys as the caller wrote them; add the actions that take the first, or the nearest name."""
    if not issue.keys or not issue.path.endswith(".params"):
        return issue
    written = {PARAM_ALIASES.get(key, key): key for key in params}
    keys = tuple(written.get(key, key) for key in issue.keys)
    issue = msgspec.structs.replace(issue, keys=keys, message="unknown key: " + ", ".join(keys))
    key = keys[0]
    known = ACTIONS[action].params.__struct_fields__
    if key in ACTIONS[action].removed_params:
        return _with_hint(issue, ACTIONS[action].removed_params[key])
    if key == "target":
        instead = "matcher" if "matcher" in known else "container"
        return _with_hint(issue, f"The parameter target was removed: use {instead}.")
    meant = PARAM_ALIASES.get(key, key)
    takers = [name for name, row in ACTIONS.items() if meant in row.params.__struct_fields__]
    if takers:
        return _with_hint(issue, f"{key} is a parameter of {', '.join(takers)}.")
    near = nearest(key, known, max(2, len(key) // 3))
    return _with_hint(issue, f'Did you mean "{near}"?' if near else f"{action} takes: {', '.join(known)}.")


def _with_hint(issue: Issue, hint: str) -> Issue:
    return msgspec.structs.replace(issue, hint=hint)


def flat_types(type_: Any) -> Iterator[Any]:
    """The types of a union, without annotations."""
    if get_origin(type_) is Annotated:
        yield from flat_types(get_args(type_)[0])
    elif get_origin(type_) in {Union, types.UnionType}:
        for arg in get_args(type_):
            yield from flat_types(arg)
    else:
        yield type_


def field_hint(shape: type[Struct], path: str, action: str) -> str:
    """A hint for the field at ``path`` of a ``shape``, or of the params of an ``action``."""
    names = path.split(".") if path else []
    name = ACTION_ALIASES.get(action, action)
    if name not in ACTIONS or names[2:3] != ["params"]:
        return type_hint(shape, path, [name for name in names if not name.isdecimal()]) or _SCHEMA
    schema = f"Run 'clawperator schema action.{name}' for its params."
    return type_hint(ACTIONS[name].params, path, names[3:]) or schema


def type_hint(shape: Any, path: str, names: list[str]) -> str:
    """The hint for the field at a path, which ``names`` lead to in a ``shape``; empty when there is none."""
    kind = shape
    for name in names:
        kind = next((below for option in flat_types(kind) for below in _below(option, name)), None)
        if kind is None:
            return ""
    if names and names[-1] in _BY_NAME:
        return _BY_NAME[names[-1]]
    return _values(path, kind) if names else ""


def value_hint(shape: type[Struct], name: str, spelled: str) -> str:
    """The hint for a field of a ``shape`` that an entry point spells so; empty when there is none."""
    return type_hint(shape, name, [name]).replace(f"{{{name}}}", spelled)


def _below(kind: Any, name: str) -> list[Any]:
    """The type of a field or of the items of a list."""
    if get_origin(kind) in (list, tuple):
        return [get_args(kind)[0]] if name.isdecimal() else _below(get_args(kind)[0], name)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return [field.type for field in msgspec.structs.fields(kind) if field.encode_name == name]
    return []


def _values(path: str, type_: Any) -> str:
    """The values of a type, as a hint about the field at a path."""
    kinds, name = list(flat_types(type_)), f"{{{path}}}"
    words = [str(arg) for kind in kinds if get_origin(kind) is Literal for arg in get_args(kind)]
    if words and (int in kinds or float in kinds):
        return f"{_number(name, 'a whole number', _meta(type_)).removesuffix('.')}, or to {' or '.join(words)}."
    if words:
        return f"Set {name} to one of: {', '.join(words)}." if len(words) > 1 else f'Set {name} to "{words[0]}".'
    meta = _meta(type_)
    if bool in kinds:
        return f"Set {name} to true or false."
    if int in kinds or float in kinds:
        return _number(name, "a whole number" if float not in kinds else "a number", meta)
    if any(isinstance(kind, type) and issubclass(kind, Struct) for kind in kinds):
        return _example(path, next(k for k in kinds if isinstance(k, type) and issubclass(k, Struct)))
    if str in kinds:
        longest = next((m.max_length for m in meta if m.max_length is not None), None)
        return f"Give {name} as text" + (f" of 1 to {longest} characters." if longest else ".")
    return ""


def _number(name: str, noun: str, meta: list[Meta]) -> str:
    low = next((m.ge for m in meta if m.ge is not None), None)
    above = next((m.gt for m in meta if m.gt is not None), None)
    high = next((m.le for m in meta if m.le is not None), None)
    least = f" from {low:.12g}" if low is not None else f" above {above:.12g}" if above is not None else ""
    most = "" if high is None else f" to {high:.12g}" if low is not None else f" and at most {high:.12g}"
    return f"Set {name} to {noun}{least}{most or (' up' if low is not None else '')}."


def _example(path: str, kind: type[Struct]) -> str:
    names = [field.encode_name for field in msgspec.structs.fields(kind)]
    if "textEquals" in names:
        return f"Give a selector with at least one field, such as {{+{path}}}."
    return f"Give {{{path}}} as an object with the fields {', '.join(names)}."


def _meta(type_: Any) -> list[Meta]:
    """The annotations of a type and of the types in its union."""
    if get_origin(type_) is Annotated:
        base, *notes = get_args(type_)
        return [*(note for note in notes if isinstance(note, Meta)), *_meta(base)]
    if get_origin(type_) in (list, Literal):
        return []
    return [meta for arg in get_args(type_) for meta in _meta(arg)]
