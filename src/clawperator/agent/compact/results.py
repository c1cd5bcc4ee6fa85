"""Results as models get them: what was done, the reason if it was not, and what the call was made for.

The fields that repeat in every document, such as ids of the execution, are left out.

A screen is an outline, or the lines that changed since the last one, in a marked block. Text of apps is inside
quotes in an outline, and a line cannot contain a line end, so no app can end the block that marks it as data.

Models that take images get screenshots, and images of MCP tools. A large image is scaled down. One that Pillow
cannot read is sent as it is, up to the limit of the services, and a larger one is only named.
"""

import os
import struct
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct

from clawperator._base.files import open_regular
from clawperator._base.text import encodable, printable
from clawperator.agent.ports import ScreenView, ToolCall, ToolResult

LONGEST_RESULT = 20_000
# Fields of a step that say what it found or changed.
_FOUND = ("text", "value", "label", "matches", "path", "effect", "screen_message", "message", "error", "nearest")
_LISTED = ("matches", "candidates", "nearest")
_DATA, _DATA_END = "<data>", "</data>"
_FOUND_BLOCK, _FOUND_END = "<found untrusted>", "</found>"
_LONGEST_FIELD = 2_000
# Ids, and the trees that a replay keeps for its report.
_LEFT_OUT = frozenset(
    ("deviceId", "commandId", "terminalSource", "isCanonicalTerminal", "observedScreen", "recordedScreen")
)
REPLACED = "[screen replaced by a later one]"
MOST_IMAGE_BYTES = 3_500_000  # services accept 5 MB in base64
_LONGEST_EDGE = 1_568  # services scale larger images down themselves, after charging for the upload
_MOST_IMAGES = 4
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PNG = b"\x89PNG\r\n\x1a\n"


class ResultImage(Struct, frozen=True):
    """An image of a result: its media type, its data in base64, and a note about it."""

    media_type: str
    data: str
    note: str = ""


class ShownScreen(Struct, frozen=True):
    """A screen for a model. ``is_whole`` is False when only its changes are shown."""

    text: str
    is_whole: bool


class CompactResult(Struct, frozen=True):
    """The result of a call for a model: its text, what it found in apps, the screen after it, and its images.

    ``found`` is a block that marks its text as data, or empty.
    """

    text: str
    is_error: bool = False
    found: str = ""
    screen: ShownScreen | None = None
    images: tuple[ResultImage, ...] = ()


class ResultRenderer:
    """Renders results for one conversation: it remembers the screen that was shown last.

    Hints that name a command to run are left out, unless the client may have a command line.
    """

    def __init__(self, *, with_images: bool = False, with_commands: bool = False) -> None:
        self.last_screen = ""  # the id of its snapshot
        self._with_images = with_images
        self._with_commands = with_commands

    def render(self, call: ToolCall, result: ToolResult, *, is_mcp: bool = False) -> CompactResult:
        """The result of a call. Results of MCP tools are marked as data."""
        images = result_images(result) if self._with_images else ()
        notes = [f"[{image.note}]" for image in images if image.note]
        own = mcp_text(result) if is_mcp else result_text(result, with_commands=self._with_commands)
        text = "\n".join([own, *notes])
        found = "" if is_mcp else found_text(call, result)
        shown = None
        if result.screen is not None:
            self.last_screen = result.screen.id
            shown = show_screen(result.screen)
        return CompactResult(text, not result.handled, found, shown, images)


def mcp_text(result: ToolResult) -> str:
    """The result of an MCP tool, in a block that marks it as data. Its document contains message and error."""
    if not isinstance(result.result, dict):
        return result_text(result)
    from clawperator.agent.mcp.tools import model_text

    text = _block(_DATA, limited(model_text(result.result)), _DATA_END)
    return f"{'' if result.handled else 'Not done: '}{text}"


def _block(begin: str, text: str, end: str) -> str:
    """The text in a block that it cannot end."""
    return "\n".join((begin, text.replace(end, end.replace("/", "\\/")), end))


def result_text(result: ToolResult, *, with_commands: bool = False) -> str:
    """The result of a call of the agent's own tools, without what it found in apps."""
    lines = [result.message]
    if not result.handled:
        lines = [f"Not done: {result.message}"]
        if result.error is not None:
            hint = result.error.hint or ""
            is_shown = (with_commands or "Run '" not in hint) and not _near_matches(result)
            lines += [f"code: {result.error.code}", *([hint] if hint and is_shown else [])]
    document = result.result
    if document is not None and result.handled and not _has_steps(document):
        own = document
        if isinstance(document, Mapping):
            own = {name: value for name, value in document.items() if name not in _LEFT_OUT}
        lines.append(compact_json(own))
    return limited("\n".join(lines))


def found_text(call: ToolCall, result: ToolResult) -> str:
    """What the steps of a call found, and the elements most like one that was not found, as a marked block."""
    document = result.result
    if not _has_steps(document):
        return ""
    lines = _steps(document) if call.name == "run_execution" else _found(document)
    return _block(_FOUND_BLOCK, limited("\n".join(lines)), _FOUND_END) if lines else ""


def _has_steps(document: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(document, Mapping) and ("envelope" in document or "stepResults" in document)


def _near_matches(result: ToolResult) -> bool:
    """Whether the hint of an error quotes labels of an app."""
    return _has_steps(result.result) and any(
        "nearest" in step.get("data", {}) for step in _step_results(result.result)
    )


def _steps(document: Mapping[str, Any]) -> list[str]:
    """One line for each step of a plan."""
    lines = []
    for step in _step_results(document):
        data = step.get("data", {})
        facts = {name: _short(data[name]) for name in _FOUND if data.get(name)}
        if "snapshot_id" in data:
            facts.pop("text", None)
        done = "done" if step.get("success") else "failed"
        lines.append(
            f"{step.get('id')} {step.get('actionType')}: {done} {compact_json(facts) if facts else ''}".rstrip()
        )
    return lines


def _found(document: Mapping[str, Any]) -> list[str]:
    """What a single step found, where its message holds only a part of it."""
    lines = []
    for step in _step_results(document):
        data = step.get("data", {})
        data = {**data, **named_matches(data)}
        lines += [f"{name}: {_short(data[name])}" for name in _LISTED if data.get(name)]
        if data.get("all") == "true" and isinstance(data.get("text"), str):
            lines.append(_short(data["text"]))
    return lines


def named_matches(data: Mapping[str, Any]) -> dict[str, str]:
    """The matches of a query, each reference with the snapshot that it was seen in. Empty where there are none."""
    try:
        matches, snapshot = msgspec.json.decode(data["matches"]), data["snapshot_id"]
        named = [{**one, "ref": f"{one['ref']}@{snapshot}"} if one.get("ref") else one for one in matches]
    except (KeyError, TypeError, AttributeError, ValueError):
        return {}
    return {"matches": msgspec.json.encode(named).decode()}


def _step_results(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    envelope = document.get("envelope", document)
    steps = envelope.get("stepResults") if isinstance(envelope, Mapping) else None
    return [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []


def _short(text: Any) -> str:
    shown = printable(" ".join(str(text).split()))
    return shown if len(shown) <= _LONGEST_FIELD else f"{shown[:_LONGEST_FIELD]}…"


def limited(text: str) -> str:
    """The text up to the longest result, cut at a line end where there is one."""
    if len(text) <= LONGEST_RESULT:
        return text
    kept = text[:LONGEST_RESULT]
    kept = kept[: kept.rfind("\n")] if "\n" in kept[LONGEST_RESULT // 2 :] else kept
    return f"{kept}\n[cut off: {len(text) - len(kept)} more characters are not shown]"


def compact_json(value: Any) -> str:
    try:
        return msgspec.json.encode(encodable(value), enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError):  # no tool result may end the turn
        return str(encodable(repr(value)))


def show_screen(screen: ScreenView) -> ShownScreen:
    kind = "screen" if screen.is_whole else "changes"
    name = " ".join((kind, *(word for word in (screen.id, screen.package) if word), "untrusted"))
    return ShownScreen(f"<{name}>\n{screen.text}\n</{kind}>", screen.is_whole)


def result_images(result: ToolResult) -> tuple[ResultImage, ...]:
    """The images of a result: its screenshots, and the image blocks of an MCP result."""
    paths = [piece.path for piece in result.evidence if piece.kind == "screenshot" and piece.path is not None]
    found = [image for image in (*map(_read_image, paths), *_image_blocks(result.result)) if image is not None]
    return tuple(found[:_MOST_IMAGES])


def _read_image(path: str) -> ResultImage | None:
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > 10 * MOST_IMAGE_BYTES:
                return None
            return _image("image/png", file.read(10 * MOST_IMAGE_BYTES + 1))
    except OSError:
        return None


def _image_blocks(document: Any) -> list[ResultImage | None]:
    content = document.get("content") if isinstance(document, dict) else None
    blocks = content if isinstance(content, list) else []
    return [_image_block(block) for block in blocks if isinstance(block, dict) and block.get("type") == "image"]


def _image_block(block: dict[str, Any]) -> ResultImage | None:
    media_type, data = block.get("mimeType"), block.get("data")
    if media_type not in _MEDIA_TYPES or not isinstance(data, str):
        return None
    try:
        return _image(str(media_type), b64decode(data, validate=True))
    except (Base64Error, ValueError):
        return None


def _image(media_type: str, data: bytes) -> ResultImage | None:
    """The image, scaled down if it is large. None for one that is too large to send."""
    size = _png_size(data)
    is_large = len(data) > MOST_IMAGE_BYTES or (size is not None and max(size) > _LONGEST_EDGE)
    scaled = _scaled(data) if is_large else None
    if scaled is not None:
        return scaled
    if len(data) > MOST_IMAGE_BYTES or not data:
        return None
    return ResultImage(media_type, b64encode(data).decode())


def _png_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(_PNG) or len(data) < 24:
        return None
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _scaled(data: bytes) -> ResultImage | None:
    """The image with a longest edge that services keep. None when Pillow cannot read it."""
    import io

    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)) as image:
            width, height = image.size
            image.thumbnail((_LONGEST_EDGE, _LONGEST_EDGE))
            out = io.BytesIO()
            image.convert("RGB").save(out, "PNG", optimize=False)
            shown = image.size
    except (OSError, ValueError, Image.DecompressionBombError):
        return None
    if out.tell() > MOST_IMAGE_BYTES:
        return None
    note = f"image of {shown[0]}x{shown[1]} pixels; the original has {width}x{height}, which coordinates refer to"
    return ResultImage("image/png", b64encode(out.getvalue()).decode(), note)
