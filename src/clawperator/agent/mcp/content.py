"""Results of MCP tools as text: a headline for users, and the full text for models.

A result is a list of content blocks, often repeated as one JSON document. Models get all text once; images, audio
and other binary data are only named.
"""

from contextlib import suppress
from typing import Any

import msgspec

from clawperator._base.text import encodable, printable
from clawperator.agent.lenient_json import read_json

_LONGEST_LINE = 300
_LONGEST_DOCUMENT = 1_000_000
_KILOBYTE = 1_000


def headline(tool: str, result: dict[str, Any]) -> str:
    """One line: the first line of the text, or for an error or a JSON document all of it."""
    text = "\n".join(text for text in map(_text, _blocks(result)) if text).strip()
    if not text and result.get("structuredContent") is not None:
        text = _compact(result["structuredContent"])
    if not text:
        summary = ", ".join(filter(None, map(_describe, _blocks(result))))
        return cut(f"{printable(tool)} returned {summary}" if summary else f"{printable(tool)} returned no text")
    if result.get("isError") is True or text.startswith(("{", "[")):
        return cut(printable(" ".join(text.split())))
    return cut(printable(text.split("\n", 1)[0].strip()))


def cut(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "…"


def model_text(result: dict[str, Any]) -> str:
    """The full text of a result."""
    lines: list[str] = []
    texts: list[Any] = []
    for block in _blocks(result):
        if block.get("type") != "text":
            lines.append(f"[{_describe(block)}]")
        text = _text(block)
        if text is not None:
            texts.append(_read(text))
            lines.append(_plain(texts[-1]))
    structured = result.get("structuredContent")
    if structured is not None and not _is_repeated(structured, texts):
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


def _describe(block: dict[str, Any]) -> str:
    """The kind and properties of a block without text."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        return _label("an image" if kind == "image" else "audio", block.get("mimeType"), _size(block.get("data")))
    if kind == "resource":
        held = block.get("resource")
        held = held if isinstance(held, dict) else {}
        return _label("a resource", held.get("uri"), held.get("mimeType"), _size(held.get("blob")))
    if kind == "resource_link":
        return _label("a link", block.get("name"), block.get("uri"), block.get("description"))
    return "" if kind == "text" else _label("content", kind)


def _label(kind: str, *facts: Any) -> str:
    known = [cut(printable(" ".join(fact.split()))) for fact in facts if isinstance(fact, str) and fact.strip()]
    return f"{kind} ({', '.join(known)})" if known else kind


def _size(data: Any) -> str:
    """The size of base64 data."""
    size = len(data) * 3 // 4 if isinstance(data, str) else 0
    return f"{max(size // _KILOBYTE, 1)} kB" if size else ""


def _read(text: str) -> Any:
    """The object or list that a text encodes, or the text itself."""
    if len(text) <= _LONGEST_DOCUMENT and text.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            return read_json(text)
    return text


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else _compact(value)


def _is_repeated(structured: Any, texts: list[Any]) -> bool:
    """Whether the texts repeat the document. Servers wrap other values as ``{"result": ...}``."""
    values = list(structured.values()) if isinstance(structured, dict) else []
    wrapped = values[0] if len(values) == 1 else structured
    items = wrapped if isinstance(wrapped, list) else [wrapped]
    return structured in texts or wrapped in texts or list(map(_plain, items)) == list(map(_plain, texts))


def _compact(value: Any) -> str:
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):
        return str(encodable(repr(value)))
