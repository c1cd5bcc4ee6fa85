"""Results as text: the message of a call and, for a read-only call, its result without JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from clawperator._base.text import printable
from clawperator.cli.text.values import is_empty, scalar, words

_MOST_LINES = 400
# Members of a row that name it, and those that describe it.
_NAMES = ("id", "serial", "name", "label")
_DESCRIPTIONS = ("summary", "message", "description", "responsibility")
_STATES = ("role", "status", "state")


def readable(message: str, result: Any) -> str:
    """The text of a read-only call: the ``text`` of its result, or the message and the result."""
    if isinstance(result, Mapping) and isinstance(result.get("text"), str):
        return str(result["text"])
    screen = _screen(result)
    lines = list(_lines(_substance(result), "")) if screen is None else screen
    if len(lines) > _MOST_LINES:
        more = f"… {len(lines) - _MOST_LINES} more lines; add '--output-format json' for all"
        lines = [*lines[:_MOST_LINES], more]
    return "\n".join([message, *lines])


def summary_of(document: Any, title: str) -> str:
    """A sentence about the result of a command: its own, or the number of what it lists."""
    members = document if isinstance(document, Mapping) else {}
    for name in ("message", "summary", "text"):
        if isinstance(members.get(name), str):
            return str(members[name])
    listed = _listed(members)
    if listed is not None:
        rows = members[listed]
        count = (
            f"1 {_words(listed).removesuffix('s')}" if len(rows) == 1 else f"{len(rows) or 'no'} {_words(listed)}"
        )
        return f"not ok: {count}" if members.get("ok") is False else count
    if len(members) == 1:
        ((name, value),) = members.items()
        if isinstance(value, str | int | float):
            return f"{_words(name)} {printable(str(value))}"
    return f"{title} succeeded"


def _listed(members: Mapping[str, Any]) -> str | None:
    """The member that a command lists: its only list, or the first one of objects."""
    lists = [name for name, value in members.items() if isinstance(value, list) and name != "warnings"]
    if len(lists) == 1:
        return lists[0]
    return next((name for name in lists if members[name] and isinstance(members[name][0], Mapping)), None)


def _screen(result: Any) -> list[str] | None:
    """The lines of an execution's last snapshot; none of another execution; None for any other result."""
    if not isinstance(result, Mapping) or not isinstance(envelope := result.get("envelope"), Mapping):
        return None
    from clawperator.agent.tools.phones import screen_lines
    from clawperator.contract.action_types import is_snapshot

    snapshots = [
        step for step in envelope.get("stepResults", ()) if is_snapshot(step["actionType"]) and step["success"]
    ]
    return screen_lines(snapshots[-1]) if snapshots else []


def _substance(result: Any) -> Any:
    """The only list of a result: the message has the other facts. A single fact is the message itself."""
    if not isinstance(result, Mapping):
        return result
    shown = [value for value in result.values() if not is_empty(value)]
    nested = [value for value in shown if isinstance(value, Mapping | list)]
    if len(nested) == 1:
        return nested[0] if isinstance(nested[0], list) or len(shown) == 1 else result
    return result if nested or len(shown) > 1 else None


def _lines(value: Any, indent: str) -> Iterator[str]:
    """The members of an object and the rows of a list, one on each line. Empty ones are left out."""
    if isinstance(value, Mapping):
        for name, member in value.items():
            if is_empty(member):
                continue
            if isinstance(member, Mapping | list):
                yield f"{indent}{_words(name)}:"
                yield from _lines(member, f"{indent}  ")
            else:
                yield f"{indent}{_words(name)}: {_scalar(member)}"
    elif isinstance(value, list):
        for row in value:
            yield f"{indent}- {_row(row)}"
    elif not is_empty(value):
        yield f"{indent}{_scalar(value)}"


def _row(row: Any) -> str:
    """A row of a list: its name, its description, and its state or other members in parentheses."""
    if isinstance(row, list):
        return ", ".join(_row(member) for member in row)
    if not isinstance(row, Mapping):
        return _scalar(row)
    plain = {name: value for name, value in row.items() if not isinstance(value, Mapping | list)}
    named = next((name for name in _NAMES if isinstance(plain.get(name), str)), next(iter(plain), None))
    if named is None:
        return ", ".join(_words(name) for name in row)
    if named == "label":
        return _label(row)
    described = next((name for name in _DESCRIPTIONS if isinstance(plain.get(name), str)), None)
    text = _scalar(plain[named]) if described is None else f"{_scalar(plain[named])}: {_scalar(plain[described])}"
    if described is not None:
        more = [_scalar(plain[name]) for name in _STATES if name in plain]
    else:
        rest = (name for name in plain if name != named and not is_empty(plain[name]))
        more = [
            _scalar(plain[name]) if name in _STATES else f"{_words(name)} {_scalar(plain[name])}" for name in rest
        ]
    return f"{text} ({', '.join(more)})" if more else text


def _label(row: Mapping[str, Any]) -> str:
    """A label of the screen, with its value, and its role and states in parentheses."""
    value = row.get("value")
    states = row.get("states")
    facts = [row.get("role"), *(states if isinstance(states, list) and states else [row.get("state")])]
    text = f"{_scalar(row['label'])}: {_scalar(value)}" if value else _scalar(row["label"])
    shown = ", ".join(_scalar(fact) for fact in facts if fact)
    return f"{text} ({shown})" if shown else text


def _scalar(value: Any) -> str:
    return printable(scalar(value))


def _words(name: str) -> str:
    return printable(words(name))


def describe_parameters(schema: Mapping[str, Any]) -> list[str]:
    """The parameters of a tool, one on each line: name, type, whether it is required, and its meaning.

    Parameters of an object are listed below it. The schema may come from an MCP server, so nothing in it is
    taken for granted.
    """
    definitions = schema.get("$defs")
    lines = list(_parameters(schema, definitions if isinstance(definitions, Mapping) else {}, "  ", 2))
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"  … {len(lines) - _MOST_LINES} more"]
    return lines


def _parameters(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], indent: str, depth: int
) -> Iterator[str]:
    members, required = schema.get("properties"), schema.get("required")
    if not isinstance(members, Mapping) or not depth:
        return
    needed = required if isinstance(required, list) else []
    for name, member in members.items():
        own = _resolved(member, definitions)
        facts = _type(own) + (", required" if name in needed else "")
        about = own.get("description")
        meaning = f": {printable(about)[:200]}" if isinstance(about, str) else ""
        yield f"{indent}{printable(str(name))} ({facts}){meaning}"
        items = own.get("items")
        inner = _resolved(items, definitions) if isinstance(items, Mapping) else own
        yield from _parameters(inner, definitions, f"{indent}  ", depth - 1)


def _resolved(member: Any, definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """A parameter's schema with the definition it refers to; its own description takes precedence."""
    own = member if isinstance(member, Mapping) else {}
    reference = own.get("$ref")
    found = definitions.get(reference.rpartition("/")[2]) if isinstance(reference, str) else None
    return {**found, **own} if isinstance(found, Mapping) else own


def _type(schema: Mapping[str, Any]) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return "one of " + ", ".join(_scalar(choice) for choice in choices)
    kinds = schema.get("type")
    options = schema.get("anyOf")
    if kinds is None and isinstance(options, list):
        return (
            " or ".join(dict.fromkeys(_type(option) for option in options if isinstance(option, Mapping))) or "any"
        )
    if isinstance(kinds, list):
        return " or ".join(_scalar(kind) for kind in kinds)
    return _scalar(kinds) if isinstance(kinds, str) else "any"
