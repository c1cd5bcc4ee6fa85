"""The lines of a recording: the header, and the five types of event.

The fields of an event type are a ``...Facts`` Struct; a recording adds the raw snapshot, an export adds derived
fields. The snapshot stays undecoded JSON here: it is most of the file, and most readers only need to know whether
it is there.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta, Raw, Struct

from clawperator._base.text import trim, whole
from clawperator.contract.limits import MAX_RECORDING_LINE_BYTES, RECORDING_SCHEMA_VERSION
from clawperator.errors import ClawError, ClawperatorException

# Numbers that fit 64 bits; int | float keeps an integer an integer.
_RANGE = Meta(ge=-(2**63), le=2**63 - 1)
_FLOAT_RANGE = Meta(ge=-9.2e18, le=9.2e18)
Number = Annotated[int, _RANGE] | Annotated[float, _FLOAT_RANGE]

NULL = Raw(b"null")
_QUOTE = ord('"')


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


class EventBounds(Struct, frozen=True, gc=False):
    left: Number
    top: Number
    right: Number
    bottom: Number


class EventFacts(Struct, kw_only=True, gc=False):
    """The fields of every event."""

    kind: ClassVar[str]

    ts: Number
    seq: Number


class WindowChangeFacts(EventFacts, kw_only=True, gc=False):
    kind = "window_change"

    packageName: str
    className: str | None = None
    title: str | None = None


class ClickFacts(EventFacts, kw_only=True, gc=False):
    kind = "click"

    packageName: str
    resourceId: str | None
    text: str | None
    contentDesc: str | None
    bounds: EventBounds


class ScrollFacts(EventFacts, kw_only=True, gc=False):
    kind = "scroll"

    packageName: str
    resourceId: str | None
    scrollX: Number
    scrollY: Number
    maxScrollX: Number
    maxScrollY: Number


class PressKeyFacts(EventFacts, kw_only=True, gc=False):
    kind = "press_key"

    key: Literal["back"]


class TextChangeFacts(EventFacts, kw_only=True, gc=False):
    kind = "text_change"

    packageName: str
    resourceId: str | None
    text: str


class WindowChange(WindowChangeFacts, tag_field="type", tag="window_change", kw_only=True, gc=False):
    snapshot: Raw = NULL


class Click(ClickFacts, tag_field="type", tag="click", kw_only=True, gc=False):
    snapshot: Raw = NULL


class Scroll(ScrollFacts, tag_field="type", tag="scroll", kw_only=True, gc=False):
    snapshot: Raw = NULL


class PressKey(PressKeyFacts, tag_field="type", tag="press_key", kw_only=True, gc=False):
    snapshot: Raw = NULL


class TextChange(TextChangeFacts, tag_field="type", tag="text_change", kw_only=True, gc=False):
    snapshot: Raw = NULL


Event = WindowChange | Click | Scroll | PressKey | TextChange

FACTS: tuple[type[EventFacts], ...] = (WindowChangeFacts, ClickFacts, ScrollFacts, PressKeyFacts, TextChangeFacts)
_KINDS = frozenset(facts.kind for facts in FACTS)


def own_fields(facts: type[EventFacts]) -> tuple[str, ...]:
    """The fields of an event type beyond those of every event, in the order of the documents."""
    return tuple(f.name for f in msgspec.structs.fields(facts) if f.name not in ("ts", "seq"))


def has_snapshot(event: Event) -> bool:
    """Whether a snapshot was taken. An empty one counts and gives no warning."""
    return not _is_null(event.snapshot)


def _is_null(snapshot: Raw) -> bool:
    return len(snapshot) == len(b"null") and bytes(snapshot) == b"null"


class InvalidLineError(ClawperatorException, ValueError):
    """Why a line is not an event. ``malformed``: it is not even JSON."""

    def __init__(self, reason: str, *, malformed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.malformed = malformed


_decode_any: Callable[[bytes], Event] = msgspec.json.Decoder(Event).decode
_TYPE_KEY = b'"type":"'


def _decoders_by_tail() -> Mapping[bytes, Callable[[bytes], Event]]:
    """The decoder for each line end that contains the event type.

    A phone writes ``type`` last, after the snapshot. Without this the decoder would read every line twice, once to
    find its type.
    """
    tails: dict[bytes, Callable[[bytes], Any]] = {}
    for event in (WindowChange, Click, Scroll, PressKey, TextChange):
        decode = msgspec.json.Decoder(event).decode
        for end in (b"\n", b"\r\n", b""):
            tails[_TYPE_KEY + event.kind.encode() + b'"}' + end] = decode
    return tails


_DECODERS = _decoders_by_tail()
_LONGEST_TAIL = max(map(len, _DECODERS))
_MIN_TAIL_LOOKUP = 2_000  # reading a shorter line twice is faster than looking at its end


def decode_event(line: bytes) -> Event:
    """The event on a line, or ``InvalidLineError``. Of a repeated key the last one counts."""
    if len(line) > MAX_RECORDING_LINE_BYTES:
        raise InvalidLineError(f"longer than {MAX_RECORDING_LINE_BYTES} bytes", malformed=True)
    try:
        if not line.isascii():
            line.decode()
        decode = _decode_any
        if len(line) > _MIN_TAIL_LOOKUP:
            decode = _DECODERS.get(line[line.rfind(_TYPE_KEY, -_LONGEST_TAIL) :], _decode_any)
        event = decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        with _invalid_line_errors(line):
            line.decode()
            msgspec.json.decode(line, type=Raw)  # is it JSON at all, to its end?
            event = _decode_any(line)
    if not _is_null(event.snapshot) and memoryview(event.snapshot)[0] != _QUOTE:
        raise InvalidLineError("snapshot is not a string")
    if type(event.ts) is float or type(event.seq) is float:
        event.ts, event.seq = whole(event.ts), whole(event.seq)
    return event


@contextmanager
def _invalid_line_errors(line: bytes) -> Iterator[None]:
    """Raise the decoder's errors as ``InvalidLineError``."""
    try:
        yield
    except UnicodeDecodeError:
        raise InvalidLineError("not valid UTF-8", malformed=True) from None
    except msgspec.ValidationError as e:
        text = str(e).replace("`", "")
        if text.startswith("Invalid value '") and text.endswith("$.type"):
            kind = text.split("'")[1]
            text = f"unknown event type '{kind}'" if kind not in _KINDS else "two different values of type"
        raise InvalidLineError(text) from None
    except msgspec.DecodeError as e:
        reason = "unpaired surrogate" if _has_unpaired_surrogate(line) else f"not valid JSON: {e}"
        raise InvalidLineError(reason, malformed=True) from None
    except RecursionError:
        raise InvalidLineError("nested too deeply", malformed=True) from None


def _has_unpaired_surrogate(line: bytes) -> bool:
    """Whether an escaped unpaired surrogate is all that is wrong; other decoders accept it."""
    import json

    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def decode_header(line: bytes, source: str) -> Header:
    """The header on a line. ``InvalidLineError``; ``RECORDING_SCHEMA_VERSION_UNSUPPORTED`` for another version."""
    with _invalid_line_errors(line):
        text = trim(line.decode())
        msgspec.json.decode(text, type=Raw)
        members = msgspec.json.decode(text, type=dict[str, Raw])
        kind = msgspec.json.decode(members.get("type", NULL))
        if kind != "recording_header":
            raise InvalidLineError("not a recording header")
        version = whole(msgspec.json.decode(members.get("schemaVersion", NULL), type=Number))
        if version != RECORDING_SCHEMA_VERSION:  # checked first: a newer header may have other fields
            message = f"Unsupported recording schema version: {version}"
            raise ClawError("RECORDING_SCHEMA_VERSION_UNSUPPORTED", message, operation="parse", target=source)
        of = msgspec.json.decode(text, type=_Session)
        return Header("recording_header", 1, of.sessionId, whole(of.startedAt), of.operatorPackage)


def trim_line(line: bytes) -> bytes:
    """The line without the white space around it, as the contract defines white space."""
    line = line.strip()
    if line.isascii():
        return line
    try:
        return trim(line.decode()).encode()
    except UnicodeDecodeError:
        return line


def whole_bounds(bounds: EventBounds) -> EventBounds:
    """The bounds with whole numbers as integers, as the reference prints them."""
    if float not in (type(bounds.left), type(bounds.top), type(bounds.right), type(bounds.bottom)):
        return bounds
    return EventBounds(whole(bounds.left), whole(bounds.top), whole(bounds.right), whole(bounds.bottom))
