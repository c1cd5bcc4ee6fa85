"""What a tool of an MCP server returned, in words: a line for people, and the whole of it for a model.

A result is a list of blocks, often with the same once more as one JSON document. A model is told everything that
can be read, once; of pictures, sounds and other bytes it is told that they are there.
"""

from contextlib import suppress
from typing import Any

import msgspec

from clawperator._text import encodable, printable
from clawperator.agent.lenient_json import read_json

_LONGEST_LINE = 300
_LONGEST_DOCUMENT = 1_000_000
_BYTES_OF_A_KILOBYTE = 1_000


def headline(tool: str, result: dict[str, Any]) -> str:
    """One line: the first of the text, or all of it where a line tells nothing: of an error, of a document."""
    text = "\n".join(text for text in map(_text, _blocks(result)) if text).strip()
    if not text and result.get("structuredContent") is not None:
        text = _compact(result["structuredContent"])
    if not text:
        told = ", ".join(filter(None, map(_shown, _blocks(result))))
        return cut(f"{printable(tool)} returned {told}" if told else f"{printable(tool)} returned no text")
    if result.get("isError") is True or text.startswith(("{", "[")):
        return cut(printable(" ".join(text.split())))
    return cut(printable(text.split("\n", 1)[0].strip()))


def cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"


def model_text(result: dict[str, Any]) -> str:
    """All that can be read of a result."""
    lines: list[str] = []
    texts: list[Any] = []
    for block in _blocks(result):
        if block.get("type") != "text":
            lines.append(f"[{_shown(block)}]")
        text = _text(block)
        if text is not None:
            texts.append(_read(text))
            lines.append(_plain(texts[-1]))
    structured = result.get("structuredContent")
    if structured is not None and not _is_told(structured, texts):
        lines.append(_compact(structured))
    return "\n".join(lines) or "(nothing)"


def _blocks(result: dict[str, Any]) -> list[dict[str, Any]]:
    content = result.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(block: dict[str, Any]) -> str | None:
    """The text of a block, or of the resource it holds."""
    holder = block.get("resource") if block.get("type") == "resource" else block
    text = holder.get("text") if isinstance(holder, dict) and block.get("type") in ("text", "resource") else None
    return text if isinstance(text, str) else None


def _shown(block: dict[str, Any]) -> str:
    """What a block is that is not a text."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        return _told("an image" if kind == "image" else "a sound", block.get("mimeType"), _size(block.get("data")))
    if kind == "resource":
        held = block.get("resource")
        held = held if isinstance(held, dict) else {}
        return _told("a resource", held.get("uri"), held.get("mimeType"), _size(held.get("blob")))
    if kind == "resource_link":
        return _told("a link", block.get("name"), block.get("uri"), block.get("description"))
    return "" if kind == "text" else _told("something", kind)


def _told(what: str, *facts: Any) -> str:
    known = [cut(printable(" ".join(fact.split()))) for fact in facts if isinstance(fact, str) and fact.strip()]
    return f"{what} ({', '.join(known)})" if known else what


def _size(data: Any) -> str:
    """How much there is, of what is written in base 64."""
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{max(size // _BYTES_OF_A_KILOBYTE, 1)} kB" if size else ""


def _read(text: str) -> Any:
    """The object or list that a text is written for, or the text itself."""
    if len(text) <= _LONGEST_DOCUMENT and text.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            return read_json(text)
    return text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _compact(value)


def _is_told(structured: Any, texts: list[Any]) -> bool:
    """Whether the texts tell a document already. Servers wrap what is no object: ``{"result": "..."}``."""
    values = list(structured.values()) if isinstance(structured, dict) else []
    wrapped = values[0] if len(values) == 1 else structured
    items = wrapped if isinstance(wrapped, list) else [wrapped]
    return structured in texts or wrapped in texts or list(map(_plain, items)) == list(map(_plain, texts))


def _compact(value: Any) -> str:
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        return str(encodable(repr(value)))
