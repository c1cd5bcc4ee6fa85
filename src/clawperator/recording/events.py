"""One line of a recording: the header, and the five kinds of event.

A line is decoded in one pass into a flat ``Event`` whose optional fields are unset, because a phone writes
``type`` last and a tagged union would read every snapshot twice. ``FIELDS`` says which fields each kind
has; ``missing`` checks them. The snapshot stays undecoded JSON: it is most of the file, and most uses
only ask whether it is there.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from operator import attrgetter
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from clawperator.contract.errors import ClawError
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES, RECORDING_SCHEMA_VERSION
from clawperator.contract.text import trim, whole

# Numbers that fit 64 bits; int | float keeps an integer an integer.
_RANGE = Meta(ge=-(2**63), le=2**63 - 1)
_FLOAT_RANGE = Meta(ge=-9.2e18, le=9.2e18)
Number = Annotated[int, _RANGE] | Annotated[float, _FLOAT_RANGE]

NULL = Raw(b"null")
_QUOTE = ord('"')
_NULL = ord("n")


class _Session(Struct, frozen=True):
    sessionId: str
    startedAt: Number
    operatorPackage: str


class Header(Struct, frozen=True):
    """The first line."""

    type: Literal["recording_header"]
    schemaVersion: Literal[1]
    sessionId: str
    startedAt: Number
    operatorPackage: str


class Bounds(Struct, frozen=True):
    left: Number
    top: Number
    right: Number
    bottom: Number


class EventFields(Struct):
    """The fields an event may have. Which ones it must have depends on its type."""

    ts: Number
    seq: Number
    type: str
    packageName: str | UnsetType = UNSET
    className: str | None = None
    title: str | None = None
    resourceId: str | UnsetType | None = UNSET
    text: str | UnsetType | None = UNSET
    contentDesc: str | UnsetType | None = UNSET
    bounds: Bounds | UnsetType = UNSET
    scrollX: Number | UnsetType = UNSET
    scrollY: Number | UnsetType = UNSET
    maxScrollX: Number | UnsetType = UNSET
    maxScrollY: Number | UnsetType = UNSET
    key: str | UnsetType = UNSET


class Event(EventFields):
    """An event as it stands in the file."""

    snapshot: Raw = NULL


FIELDS: Mapping[str, tuple[str, ...]] = {
    "window_change": ("packageName", "className", "title"),
    "click": ("packageName", "resourceId", "text", "contentDesc", "bounds"),
    "scroll": ("packageName", "resourceId", "scrollX", "scrollY", "maxScrollX", "maxScrollY"),
    "press_key": ("key",),
    "text_change": ("packageName", "resourceId", "text"),
}


def _getter(names: tuple[str, ...]) -> Callable[[EventFields], Any]:
    # Two names at least, so that the answer is always a tuple.
    return attrgetter(*names, "seq")


VALUES: Mapping[str, Callable[[EventFields], Any]] = {kind: _getter(names) for kind, names in FIELDS.items()}
_LINE = msgspec.json.Decoder(Event)


def missing(event: EventFields) -> str | None:
    """What is wrong with the event for its type, or None."""
    values = VALUES.get(event.type)
    if values is None:
        return f'unknown event type "{event.type}"'
    if UNSET in values(event):
        absent = [name for name in FIELDS[event.type] if getattr(event, name) is UNSET]
        return f"{event.type} event without {', '.join(absent)}"
    if event.type == "text_change" and event.text is None:
        return "text_change event whose text is not a string"
    if event.type == "press_key" and event.key != "back":
        return f'press_key event with the unsupported key "{event.key}"'
    return None


def has_snapshot(event: Event) -> bool:
    """Whether a snapshot was taken; an empty one counts, as it is no reason for a warning."""
    return memoryview(event.snapshot)[0] == _QUOTE


class BadLine(ValueError):  # noqa: N818 - it names the line, and becomes an error with a code further up
    """Why a line is no event. ``malformed`` when it is not even JSON."""

    def __init__(self, reason: str, *, malformed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.malformed = malformed


def decode_event(line: bytes) -> Event:
    """The event on a line, or ``BadLine``.

    Of a key that stands twice the last one counts. Members nobody asks for may be anything.
    """
    if len(line) > MAX_RECORDING_LINE_BYTES:
        raise BadLine(f"longer than {MAX_RECORDING_LINE_BYTES} bytes", malformed=True)
    try:
        if not line.isascii():
            line.decode()
        event = _LINE.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        event = _decode_leniently(line)
    if problem := missing(event):
        raise BadLine(problem)
    if memoryview(event.snapshot)[0] not in (_QUOTE, _NULL):
        raise BadLine("snapshot is not a string")
    if type(event.ts) is float or type(event.seq) is float:
        event.ts, event.seq = whole(event.ts), whole(event.seq)
    return event


def _decode_leniently(line: bytes) -> Event:
    """Decode again without the members that this type of event does not have, whatever they hold."""
    with _telling_why(line):
        line.decode()
        msgspec.json.decode(line, type=Raw)  # is it JSON at all, to its end?
        members = msgspec.json.decode(line, type=dict[str, Raw])
        kind = msgspec.json.decode(members.get("type", NULL), type=str)
        wanted = ("ts", "seq", "type", "snapshot", *FIELDS.get(kind, ()))
        kept = b",".join(b'"%b":%b' % (k.encode(), bytes(members[k])) for k in wanted if k in members)
        return _LINE.decode(b"{%b}" % kept)


def decode_header(line: bytes, source: str) -> Header:
    """The header on a line, or ``BadLine``; of another version, ``RECORDING_SCHEMA_VERSION_UNSUPPORTED``."""
    with _telling_why(line):
        text = trim(line.decode())
        msgspec.json.decode(text, type=Raw)
        members = msgspec.json.decode(text, type=dict[str, Raw])
        kind = msgspec.json.decode(members.get("type", NULL))
        if kind != "recording_header":
            raise BadLine("not a recording header")
        version = whole(msgspec.json.decode(members.get("schemaVersion", NULL), type=Number))
        if version != RECORDING_SCHEMA_VERSION:  # asked first: a newer header may have other fields
            raise ClawError(
                "RECORDING_SCHEMA_VERSION_UNSUPPORTED",
                f"Unsupported recording schema version: {version}",
                operation="parse",
                target=source,
            )
        of = msgspec.json.decode(text, type=_Session)
        return Header("recording_header", 1, of.sessionId, whole(of.startedAt), of.operatorPackage)


@contextmanager
def _telling_why(line: bytes) -> Iterator[None]:
    """Whatever the decoder says of a line, as ``BadLine``."""
    try:
        yield
    except UnicodeDecodeError:
        raise BadLine("not valid UTF-8", malformed=True) from None
    except msgspec.ValidationError as e:
        raise BadLine(str(e).replace("`", "")) from None
    except msgspec.DecodeError as e:
        reason = "half of a surrogate pair" if _holds_half_a_pair(line) else f"not valid JSON: {e}"
        raise BadLine(reason, malformed=True) from None
    except RecursionError:
        raise BadLine("nested too deeply", malformed=True) from None


def _holds_half_a_pair(line: bytes) -> bool:
    """Whether an escaped half of a surrogate pair is all that is wrong; other decoders let it pass."""
    import json

    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def trim_line(line: bytes) -> bytes:
    """The line without white space around it, as the contract understands white space."""
    line = line.strip()
    if line.isascii():
        return line
    try:
        return trim(line.decode()).encode()
    except UnicodeDecodeError:
        return line


def whole_bounds(bounds: Bounds) -> Bounds:
    """The bounds as the reference prints them."""
    return Bounds(whole(bounds.left), whole(bounds.top), whole(bounds.right), whole(bounds.bottom))
