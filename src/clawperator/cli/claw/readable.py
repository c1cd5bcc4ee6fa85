"""Results as text: the message of a call and, for a read-only call, its result without JSON."""

from collections.abc import Mapping
from typing import Any

from clawperator._base.text import printable
from clawperator.cli.text.layout import Terminal
from clawperator.cli.text.values import document_blocks, is_empty, words

_MOST_LINES = 400


def readable(message: str, result: Any) -> str:
    """The text of a read-only call: the ``text`` of its result, or the message and the result."""
    if isinstance(result, Mapping) and isinstance(result.get("text"), str):
        return str(result["text"])
    lines = _screen(result)
    if lines is None:
        shown = _substance(result)
        lines = [] if is_empty(shown) else Terminal().render(document_blocks(shown)).split("\n")
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
        number, what = len(members[listed]), printable(words(listed))
        count = f"1 {what.removesuffix('s')}" if number == 1 else f"{number or 'no'} {what}"
        return f"not ok: {count}" if members.get("ok") is False else count
    if len(members) == 1:
        ((name, value),) = members.items()
        if isinstance(value, str | int | float):
            return printable(f"{words(name)} {value}")
    return f"{title} succeeded"


def last_turn(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The last turn of a document; empty when it has none."""
    last = (document.get("turns") or [document.get("turn")])[-1]
    return last if isinstance(last, Mapping) else {}


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
    from clawperator.agent.tools.builtin import screen_lines
    from clawperator.contract.action_params import is_snapshot

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
        if isinstance(nested[0], list):
            return [_without_objects(row) for row in nested[0]]
        return nested[0] if len(shown) == 1 else result
    return result if nested or len(shown) > 1 else None


def _without_objects(row: Any) -> Any:
    """A row without its members that are objects, which would make its table too wide."""
    if not isinstance(row, Mapping):
        return row
    return {name: value for name, value in row.items() if not isinstance(value, Mapping)}
