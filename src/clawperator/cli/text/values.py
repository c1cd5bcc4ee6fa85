"""Any document as text: names as words, values on one line, lists of objects as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawperator.cli.text.layout import Block, Fields, Line, Painted, Part, Table, state

# Members whose value is a state or a verdict.
_STATES = ("status", "state", "outcome", "effect", "relation", "actualStatus")
_DEEPEST = 6
_SECOND_MS = 1000


def words(name: str) -> str:
    """A member's name as words: ``operatorPackage`` is "operator package"."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return spaced.replace("_", " ").strip()


def scalar(value: Any) -> str:
    """A value on one line: yes and no, whole numbers, nested members as ``name=value``."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_quoted(inner)}" for name, inner in flattened(value))
    if isinstance(value, list | tuple):
        return ", ".join(scalar(member) for member in value)
    return str(value)


def flattened(members: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The members of an object and of the objects in it: ``matcher.textEquals``. Empty ones are left out."""
    for name, value in members.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        elif not is_empty(value):
            yield prefix + name, value


def _quoted(value: Any) -> str:
    text = scalar(value)
    return f'"{text}"' if " " in text or not text else text


def is_empty(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, Mapping | list) and not value)


def seconds(milliseconds: float) -> str:
    """A duration: ``84 ms``, ``1.2 s``."""
    if milliseconds < _SECOND_MS:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / _SECOND_MS:.1f}".removesuffix(".0") + " s"


def warning_lines(texts: Any) -> Iterator[Line]:
    """The warnings of a document; none when it has no such list."""
    for text in texts if isinstance(texts, list | tuple) else ():
        yield (Painted("warning: ", "yellow"), str(text))


def facts(*pairs: tuple[str, Any]) -> Fields:
    """Names and values below a line."""
    return Fields([(name, value if isinstance(value, Painted) else scalar(value)) for name, value in pairs], 2)


def table(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], empty: str = "", indent: int = 0
) -> Table | str:
    """A member of each row below each heading, or the text ``empty`` when there are no rows."""
    if empty and not rows:
        return empty
    return Table(
        tuple(columns), [[_value(name, row.get(name)) for name in columns.values()] for row in rows], indent
    )


def document_blocks(value: Any, indent: int = 0) -> Iterator[Block]:
    """A document without a renderer of its own: its plain members, then each list and object below its name."""
    if not isinstance(value, Mapping):
        yield from _list_blocks(value, indent) if isinstance(value, list) else [" " * indent + scalar(value)]
        return
    shown = {name: member for name, member in value.items() if not is_empty(member)}
    plain = {name: member for name, member in shown.items() if not _is_nested(member)}
    if plain:
        yield Fields([(words(name), _value(name, member)) for name, member in plain.items()], indent)
    for name, member in shown.items():
        if name in plain:
            continue
        yield f"{' ' * indent}{words(name)}:"
        if indent // 2 >= _DEEPEST:
            yield " " * (indent + 2) + scalar(member)
        else:
            yield from document_blocks(member, indent + 2)


def _is_nested(member: Any) -> bool:
    if isinstance(member, list):
        return any(isinstance(row, Mapping | list) for row in member)
    return isinstance(member, Mapping)


def _list_blocks(rows: Sequence[Any], indent: int) -> Iterator[Block]:
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        yield from (" " * indent + scalar(row) for row in rows)
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    headings = tuple(words(name).upper() for name in names)
    yield Table(headings, [[_value(name, row.get(name)) for name in names] for row in rows], indent)


def _value(name: str, value: Any) -> Part:
    text = scalar(value)
    return state(text) if name in _STATES else text
