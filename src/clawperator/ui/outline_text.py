"""Outlines as text and as objects, with a limit on their size; and the lines that changed between two.

The earlier outline is known by the references and checksums of its lines, so that no content of it has to be kept.
"""

import re
from typing import Any
from zlib import crc32

from msgspec import Struct

from clawperator._base.text import printable
from clawperator.ui.outline import MAX_SHOWN, Outline, OutlineElement

BYTES_PER_TOKEN = 4
_MAX_NAME = 256
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def render_outline(outline: Outline, max_tokens: int | None = None) -> str:
    """One line per element, then the notices. With ``max_tokens``, whole lines are cut at the end."""
    return "\n".join(cut_lines([render_element(one) for one in outline.elements], outline.notices, max_tokens))


def cut_lines(lines: list[str], notices: list[str], max_tokens: int | None) -> list[str]:
    """The lines that fit, and the notices; one more notice when lines were cut."""
    ending = [f"! {notice}" for notice in notices]
    if max_tokens is None:
        return lines + ending
    sizes = [len(line.encode()) + 1 for line in lines]
    fixed = sum(len(line.encode()) + 1 for line in ending)
    most = max_tokens * BYTES_PER_TOKEN
    if sum(sizes) + fixed <= most:
        return lines + ending
    needed = -(-(sum(sizes) + fixed) // BYTES_PER_TOKEN)
    kept = len(lines)
    used = sum(sizes) + fixed
    while kept:
        kept -= 1
        used -= sizes[kept]
        notice = cut_notice(len(lines) - kept, len(lines), needed)
        if used + len(notice) + 3 <= most:
            break
    return [*lines[:kept], *ending, f"! {cut_notice(len(lines) - kept, len(lines), needed)}"]


def cut_notice(cut: int, total: int, needed: int) -> str:
    return f"{cut} of {total} lines cut; all: clawperator snapshot --view outline --max-tokens {needed}"


def render_element(element: OutlineElement) -> str:
    """The line of an element."""
    words = [element.ref] if element.ref else []
    texts = element.texts
    if not texts:
        words.append(element.role + element_hint(element))
        if element.position:
            words.append(element.position)
    else:
        if element.role != "text":
            words.append(element.role)
        words += [quote(text if len(text) <= MAX_SHOWN else shorten(text)) for text in texts]
    if element.content:
        words.append("= " + quote(shorten(element.content)))
    words += element.states
    return " " * element.depth + " ".join(words)


def element_hint(element: OutlineElement) -> str:
    """`` #id`` of an element without a label, else `` .Class``; nothing where the role says as much."""
    if element.short_id:
        return (
            f" #{element.short_id}"
            if _NAME.fullmatch(element.short_id)
            else f" #{quote(element.short_id[:_MAX_NAME])}"
        )
    name = element.node.class_name.rpartition(".")[2]
    if element.role in _TELLING_ROLES or not name:
        return ""
    return f" .{name}" if _NAME.fullmatch(name) else f" .{quote(name[:_MAX_NAME])}"


def outline_objects(outline: Outline, max_tokens: int | None = None) -> dict[str, Any]:
    """The outline as ``elements`` and ``notices``. With ``max_tokens``, elements are cut at the end."""
    import msgspec

    objects = [element_object(one) for one in outline.elements]
    notices = list(outline.notices)
    if max_tokens is not None:
        most = max_tokens * BYTES_PER_TOKEN
        sizes = [len(msgspec.json.encode(one)) + 1 for one in objects]
        fixed = len(msgspec.json.encode({"elements": [], "notices": notices}))
        if sum(sizes) + fixed > most:
            needed = -(-(sum(sizes) + fixed) // BYTES_PER_TOKEN)
            kept, used = len(objects), sum(sizes) + fixed
            notice = ""
            while kept:
                kept -= 1
                used -= sizes[kept]
                notice = cut_notice(len(objects) - kept, len(objects), needed).replace("outline", "json")
                if used + len(notice) + 3 <= most:
                    break
            objects, notices = objects[:kept], [*notices, notice]
    return {"elements": objects, "notices": notices}


def element_object(element: OutlineElement) -> dict[str, Any]:
    """An element as an object of the ``json`` view. ``id`` only where there is no label."""
    bounds = element.node.bounds.normalised()
    made = {
        "ref": element.ref,
        "role": element.role,
        "label": printable(shorten(element.label)),
        "value": "\n".join(
            printable(shorten(text))
            for text in (element.texts[1:] if element.content is None else [element.content])
        ),
        "states": list(element.states),
        "bounds": [bounds.left, bounds.top, bounds.right, bounds.bottom],
        "depth": element.depth,
    }
    if not element.texts and element.short_id:
        made["id"] = printable(element.short_id[:_MAX_NAME])
    return made


def shorten(text: str) -> str:
    """Text of an app, cut where it is too long to be shown."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def quote(text: str) -> str:
    """App text in double quotes on one line: quotes, backslashes, control and bidi characters are escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{printable(escaped)}"'


_TELLING_ROLES = frozenset(
    ("textfield", "webview", "slider", "progress", "surface", "radio", "dropdown", "switch", "checkbox", "image")
)


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
