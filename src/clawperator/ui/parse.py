"""Parse the XML of a hierarchy dump into a tree.

The XML has text of apps and is not trusted: no document type, no custom entities, and limits on bytes, nodes and
depth.
"""

import re
import sys
from pyexpat import ErrorString, ExpatError, ParserCreate, errors

from clawperator._base.text import printable
from clawperator.contract.limits import MAX_HIERARCHY_BYTES, MAX_HIERARCHY_DEPTH, MAX_HIERARCHY_NODES
from clawperator.errors import ClawError
from clawperator.ui.node import Hierarchy, Node

_SHORTEST_NODE = len("<node/>")
_CUT_OFF = frozenset(
    errors.codes[message]
    for message in (
        errors.XML_ERROR_NO_ELEMENTS,
        errors.XML_ERROR_UNCLOSED_TOKEN,
        errors.XML_ERROR_PARTIAL_CHAR,
        errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
)
_AFTER_THE_END = errors.codes[errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT]
# A line break that may be in a value: not one before an element, because no value contains a "<".
_BREAK = re.compile(rb"\n(?! *<)")
# A return that is not part of a line break; an old adb shell writes two before the line feed.
_RETURN = re.compile(rb"(?<!\r)\r++(?!\n)")
_VALUE = re.compile(rb"""(=\s*)("[^"]*"|'[^']*')""")
_REFERENCE = re.compile(r"&#(?:([0-9]{1,7})|x([0-9A-Fa-f]{1,6}));")
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document can contain, not even as a reference."""

_AGAIN = "Run 'clawperator snapshot' again, and keep the whole output from '<hierarchy' to '</hierarchy>'."


def parse_hierarchy(data: bytes | str) -> Hierarchy:
    """The tree of a UI Automator dump, as ``uiautomator dump`` or the Operator writes it, or of an Appium source.

    ``HIERARCHY_INVALID`` when it is anything but one whole ``<hierarchy>`` of ``<node>`` elements or classes;
    ``details.reason`` is one of ``size``, ``nodes``, ``depth``, ``encoding``, ``dtd``, ``root``, ``element``,
    ``truncated``, ``trailing`` and ``syntax``.

    Real dumps are not always valid XML, so some errors are repaired. Unescaped line breaks and tabs in a value are
    kept, although XML would make them spaces. A character that XML cannot contain becomes U+FFFD, and a pair of
    surrogates becomes one character. Text between nodes is ignored, and so is text after the end, such as
    the ``UI hierchary dumped to: /dev/tty`` that a dump to a terminal adds.
    """
    if len(data) > MAX_HIERARCHY_BYTES:
        raise _too_large()
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if len(raw) > MAX_HIERARCHY_BYTES:
        raise _too_large()
    raw = raw.lstrip()
    # Other encodings would escape the count of nodes below.
    if b"\0" in raw[:4]:
        raise _invalid("encoding", "the hierarchy is not UTF-8 text")
    if len(raw) > MAX_HIERARCHY_NODES * _SHORTEST_NODE and raw.count(b"<node") > MAX_HIERARCHY_NODES:
        raise _too_many()
    end = raw.rfind(b"</hierarchy>") + 1
    # A test for a byte is much cheaper than a regular expression.
    if b"\t" in raw or _BREAK.search(raw, 0, end) or (b"\r" in raw and _RETURN.search(raw, 0, end)):
        raw = _keep_breaks(raw)
    try:
        return _read(raw)
    except ExpatError as e:
        repaired = _repair(raw)
        if repaired == raw:
            raise _explain(e) from None
    try:
        return _read(repaired)
    except ExpatError as e:
        raise _explain(e) from None


def _read(raw: bytes) -> Hierarchy:
    """The tree, or an ``ExpatError``. The handlers run for every node: they are written for speed."""
    top = Node({})
    nodes: list[Node] = []
    add = nodes.append
    # The last node of each depth; the root is at 0. End tags are only counted, which needs no Python function: the
    # depth is the number of started minus ended nodes.
    path = [top] * (MAX_HIERARCHY_DEPTH + 1)
    ends: list[str] = []

    def start_root(name: str, attributes: dict[str, str]) -> None:
        if name != "hierarchy":
            raise _invalid("root", f"the document is a <{printable(name[:40])}>, not a <hierarchy>")
        top.attributes = attributes
        parser.StartElementHandler = start

    def start(name: str, attributes: dict[str, str]) -> None:
        if name != "node":
            _accept_class(name, attributes, len(nodes))
        depth = len(nodes) - len(ends)
        parent = path[depth]
        node = Node(attributes, parent)
        parent.children.append(node)
        add(node)
        try:
            path[depth + 1] = node
        except IndexError:
            raise _invalid("depth", f"the hierarchy is deeper than {MAX_HIERARCHY_DEPTH} nodes") from None

    parser = ParserCreate("utf-8")
    parser.StartElementHandler = start_root
    parser.EndElementHandler = ends.append
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(raw, True)
    except ExpatError as e:
        if e.code != _AFTER_THE_END or b"<" in raw[parser.ErrorByteIndex :]:
            raise
    roots = top.children
    for root in roots:
        root.parent = None
    return Hierarchy(top.attributes, roots, nodes)


def _accept_class(name: str, attributes: dict[str, str], count: int) -> None:
    """Accept an element of Appium's page source, which is named by its class, with the attributes of a node."""
    if "." not in name and attributes.get("class") != name:
        raise _invalid("element", f"the hierarchy has a <{printable(name[:40])}>; only nodes are allowed")
    if count >= MAX_HIERARCHY_NODES:
        raise _too_many()
    attributes.setdefault("class", name)
    if "displayed" in attributes:
        attributes.setdefault("visible-to-user", attributes["displayed"])


def _refuse_doctype(*_: object) -> None:
    raise _invalid("dtd", "the hierarchy declares a document type")


def _keep_breaks(raw: bytes) -> bytes:
    """The document with character references for line breaks and tabs in values, which XML keeps."""
    elements = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"<")
    for i, element in enumerate(elements):
        inside = element.rstrip()
        if b"\n" in inside or b"\t" in inside:
            elements[i] = _VALUE.sub(_refer, element)
    return b"<".join(elements)


def _refer(value: re.Match[bytes]) -> bytes:
    return value[1] + value[2].replace(b"\n", b"&#10;").replace(b"\t", b"&#9;")


def _repair(raw: bytes) -> bytes:
    """The document without characters that XML cannot contain."""
    try:
        text = raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as e:
        if e.end == len(raw):
            raise _truncated() from None
        raise _invalid("encoding", "the hierarchy is not UTF-8 text") from None
    text = _REFERENCE.sub(_resolve, text)
    # Passing through UTF-16 joins surrogate pairs and replaces lone surrogates.
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return NOT_XML.sub("\ufffd", text).encode()


def _resolve(reference: re.Match[str]) -> str:
    """A reference to a character that XML cannot hold, as that character; any other as it is written."""
    decimal, hexadecimal = reference.groups()
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number > sys.maxunicode:
        return "\ufffd"
    character = chr(number)
    return character if NOT_XML.match(character) else reference[0]


def _explain(error: ExpatError) -> ClawError:
    if error.code in _CUT_OFF:
        return _truncated()
    if error.code == _AFTER_THE_END:
        return _invalid("trailing", "more XML follows the hierarchy", error)
    return _invalid("syntax", f"the hierarchy is not XML: {ErrorString(error.code)}", error)


def _too_large() -> ClawError:
    return _invalid("size", f"the hierarchy is larger than {MAX_HIERARCHY_BYTES} bytes")


def _too_many() -> ClawError:
    return _invalid("nodes", f"the hierarchy has more than {MAX_HIERARCHY_NODES} nodes")


def _truncated() -> ClawError:
    return _invalid("truncated", "the hierarchy ends before its closing </hierarchy>")


def _invalid(reason: str, message: str, at: ExpatError | None = None) -> ClawError:
    details: dict[str, str | int] = {"reason": reason}
    if at is not None:
        details |= {"line": at.lineno, "column": at.offset}
    return ClawError("HIERARCHY_INVALID", message, hint=_AGAIN, details=details)
