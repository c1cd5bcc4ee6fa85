"""Images of results for models that take them: screenshots, and images of MCP tools.

A large image is scaled down. One that Pillow cannot read is sent as it is, up to the limit of the services, and a
larger one is only named.
"""

import os
import struct
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from typing import Any

from msgspec import Struct

from clawperator._base.files import open_regular
from clawperator.agent.ports import ToolResult

MOST_BYTES = 3_500_000  # services accept 5 MB in base64
_LONGEST_EDGE = 1_568  # services scale larger images down themselves, after charging for the upload
_MOST_IMAGES = 4
_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_PNG = b"\x89PNG\r\n\x1a\n"


class ResultImage(Struct, frozen=True):
    """An image of a result: its media type, its data in base64, and a note about it."""

    media_type: str
    data: str
    note: str = ""


def result_images(result: ToolResult) -> tuple[ResultImage, ...]:
    """The images of a result: its screenshots, and the image blocks of an MCP result."""
    paths = [piece.path for piece in result.evidence if piece.kind == "screenshot" and piece.path is not None]
    found = [image for image in (*map(_read, paths), *_blocks(result.result)) if image is not None]
    return tuple(found[:_MOST_IMAGES])


def _read(path: str) -> ResultImage | None:
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > 10 * MOST_BYTES:
                return None
            return _image("image/png", file.read(10 * MOST_BYTES + 1))
    except OSError:
        return None


def _blocks(document: Any) -> list[ResultImage | None]:
    content = document.get("content") if isinstance(document, dict) else None
    blocks = content if isinstance(content, list) else []
    return [_block(block) for block in blocks if isinstance(block, dict) and block.get("type") == "image"]


def _block(block: dict[str, Any]) -> ResultImage | None:
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
    is_large = len(data) > MOST_BYTES or (size is not None and max(size) > _LONGEST_EDGE)
    scaled = _scaled(data) if is_large else None
    if scaled is not None:
        return scaled
    if len(data) > MOST_BYTES or not data:
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
    if out.tell() > MOST_BYTES:
        return None
    note = f"image of {shown[0]}x{shown[1]} pixels; the original has {width}x{height}, which coordinates refer to"
    return ResultImage("image/png", b64encode(out.getvalue()).decode(), note)
