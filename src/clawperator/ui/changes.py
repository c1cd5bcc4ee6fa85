"""What changed between two outlines: added, changed and removed lines.

The earlier outline is known by the references and checksums of its lines, so that no content of it has to be kept.
"""

from zlib import crc32

from msgspec import Struct

from clawperator.ui.outline import Outline
from clawperator.ui.outline_text import quote, render_element


class EarlierLine(Struct, frozen=True, array_like=True):
    """A line of an earlier outline: its reference, the checksum of its text without spaces, its role and label."""

    ref: str
    checksum: int
    role: str
    label: str


def earlier_lines(outline: Outline) -> list[EarlierLine]:
    """What has to be kept of an outline in order to compare a later one with it."""
    return [
        EarlierLine(one.ref, _checksum(render_element(one)), one.role, one.label[:80]) for one in outline.elements
    ]


def changed_lines(before: list[EarlierLine], after: Outline) -> list[str]:
    """``+`` for each added line, ``~`` for each changed one, then ``-`` for each removed one."""
    known = {line.ref: line for line in before}
    lines = []
    for element in after.elements:
        line = render_element(element)
        earlier = known.pop(element.ref, None)
        if earlier is None:
            lines.append(f"+{line}")
        elif earlier.checksum != _checksum(line):
            lines.append(f"~{line}")
    return lines + [f"-{_removed(line)}" for line in known.values()]


def has_other_order(before: list[EarlierLine], after: Outline) -> bool:
    """Whether the lines that both have are in another order."""
    common = {line.ref for line in before}.intersection(element.ref for element in after.elements)
    order = [line.ref for line in before if line.ref in common]
    return order != [element.ref for element in after.elements if element.ref in common]


def _removed(line: EarlierLine) -> str:
    words = [line.ref, *([] if line.role == "text" else [line.role]), *([quote(line.label)] if line.label else [])]
    return " ".join(words)


def _checksum(line: str) -> int:
    return crc32(line.strip().encode("utf-8", "replace"))
