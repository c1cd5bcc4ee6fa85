"""The files of the page: HTML, style and scripts as they are in the package, with a strict policy for browsers."""

import os
from functools import cache

from msgspec import Struct
from starlette.responses import Response

from clawperator import report
from clawperator.errors import ClawError

ASSET_FOLDER = "/page/"
ASSET_PATH = "/page/{name}"
_FOLDER = os.path.join(os.path.dirname(__file__), "assets")
_PAGE = "index.html"
# The colours, and the script that draws screens, are those of reports.
_REPORTS = os.path.join(os.path.dirname(report.__file__), "assets")
_OF_REPORTS = ("colours.css", "screen.js")
MEDIA_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
# Nothing from elsewhere, nothing inline, and no text that becomes markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


class FileAnswer(Struct, frozen=True):
    """An answer of a route that is not JSON."""

    data: bytes
    media_type: str
    headers: dict[str, str] = {}


def page_response() -> Response:
    return Response(_read(_PAGE), media_type="text/html", headers={"Content-Security-Policy": POLICY})


def asset_response(name: str) -> Response:
    """A style, a script or a picture of the page. ``ROUTE_NOT_FOUND`` for any other name."""
    if name not in _names():
        raise ClawError("ROUTE_NOT_FOUND", f"the page has no file {name[:80]!r}", operation="serve")
    kind = MEDIA_TYPES[os.path.splitext(name)[1]]
    return Response(_read(name), media_type=kind, headers={"Content-Security-Policy": "default-src 'none'"})


@cache
def _names() -> frozenset[str]:
    own = (name for name in os.listdir(_FOLDER) if os.path.splitext(name)[1] in MEDIA_TYPES)
    return frozenset((*own, *_OF_REPORTS))


@cache
def _read(name: str) -> bytes:
    folder = _REPORTS if name in _OF_REPORTS else _FOLDER
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()
