"""The HTML of a report: one file with its style, its script and its data, which needs nothing else.

The policy of the page allows this script, this style and pictures in the file itself, and nothing else. The data
are JSON in an element that no browser runs, and the script writes texts only as text.
"""

import base64
import hashlib
from html import escape
from importlib.resources import files

import msgspec

from clawperator.report.page_data import PageData

_STYLES = ("colours.css", "report.css")
_SCRIPTS = ("screen.js", "report.js")
# In JSON only strings contain these characters. Escaped, no text can end the element that holds the data.
_ESCAPES = {
    b"<": b"\\u003c",
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",
    "\u2029".encode(): b"\\u2029",
}


def render_page(data: PageData) -> bytes:
    """The report as one HTML file."""
    style = "\n" + "\n".join(map(_asset, _STYLES))
    script = "\n" + "\n".join(map(_asset, _SCRIPTS))
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    parts = {
        "POLICY": policy,
        "TITLE": escape(f"{data.title} · {data.kind} · Clawperator"),
        "STYLE": style,
        "DATA": _embedded(data),
        "SCRIPT": script,
    }
    # Split at the places once: no text that is put in is looked at again.
    page, *rest = _asset("report.html").split("{{")
    for piece in rest:
        name, _, text = piece.partition("}}")
        page += parts[name] + text
    return page.encode()


def _embedded(data: PageData) -> str:
    text = msgspec.json.encode(data)
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text.decode()


def _source(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text("utf-8")
