"""The fields of requests and answers. Validation and the OpenAPI description derive from these types.

A request has the parameters of its path, then those of its query (GET and DELETE) or body (POST). Fields that are
not named here are refused: a misspelt ``deviceId`` must not act on another device.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from clawperator.contract.action_params import PACKAGE_NAME, SESSION_ID, KeyName
from clawperator.contract.limits import MAX_ID_LENGTH
from clawperator.contract.results import ResultEnvelope
from clawperator.device.adb.client import MAX_SERIAL_BYTES
from clawperator.serve.page.watched_screens import MAX_WAIT_MS, LiveState

DeviceId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=MAX_SERIAL_BYTES,
        pattern=r"^[^\u0000-\u001f\u007f-\u009f]+$",
        description="device serial (default: the only device)",
    ),
]
OperatorPackage = Annotated[
    str,
    Meta(min_length=1, max_length=255, pattern=f"^{PACKAGE_NAME.pattern}$", description="package of the Operator"),
]
FilePath = Annotated[
    str, Meta(min_length=1, max_length=4_096, description="a path inside the folder of the server")
]
SessionId = Annotated[str, Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=f"^{SESSION_ID.pattern}$")]
Pixel = Annotated[int, Meta(ge=0, le=100_000)]


# Requests


class NoFields(Struct, frozen=True, forbid_unknown_fields=True):
    """A request without fields."""


class OnDevice(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The device and its Operator."""

    deviceId: DeviceId | UnsetType = UNSET
    operatorPackage: OperatorPackage | UnsetType = UNSET


class ExecuteRequest(OnDevice, frozen=True, kw_only=True):
    execution: Any


class LiveRequest(OnDevice, frozen=True, kw_only=True):
    since: Annotated[str, Meta(max_length=64, description="stateId of the last answer")] = ""
    waitMs: Annotated[
        int, Meta(ge=0, le=MAX_WAIT_MS, description="how long to wait for a change since that answer, in ms")
    ] = 0


class PictureRequest(OnDevice, frozen=True, kw_only=True):
    pictureId: Annotated[str, Meta(max_length=64, description="has no effect: it makes URLs differ")] = ""


class ElementRequest(OnDevice, frozen=True, kw_only=True):
    screenId: Annotated[str, Meta(min_length=1, max_length=64, description="screen that has the node")]
    node: Annotated[int, Meta(ge=0, le=1_000_000, description="index of the node in that screen")]


class TouchRequest(OnDevice, frozen=True, kw_only=True):
    """A touch in pixels of the device. A swipe and a drag have an end."""

    kind: Literal["tap", "long_press", "swipe", "drag"]
    x: Pixel
    y: Pixel
    toX: Pixel | UnsetType = UNSET
    toY: Pixel | UnsetType = UNSET
    durationMs: Annotated[int, Meta(ge=1, le=10_000)] | UnsetType = UNSET


class KeyRequest(OnDevice, frozen=True, kw_only=True):
    key: KeyName


class CloseRequest(OnDevice, frozen=True, kw_only=True):
    applicationId: Annotated[str, Meta(min_length=1, max_length=255, pattern=f"^{PACKAGE_NAME.pattern}$")]


class TextRequest(OnDevice, frozen=True, kw_only=True):
    text: Annotated[str, Meta(min_length=1, max_length=500, description="goes into the field with the focus")]


class EventsRequest(OnDevice, frozen=True, kw_only=True):
    sessionId: SessionId
    since: Annotated[int, Meta(ge=0, le=1_000_000, description="how many events are known")] = 0


class ReplayRequest(OnDevice, frozen=True, kw_only=True):
    input: Annotated[FilePath, Meta(description="a recording, or its export")]
    keepApps: Annotated[bool, Meta(description="leave the apps open that are closed before the first step")] = (
        False
    )
    allowCoordinates: bool = False


class OpenReportRequest(Struct, frozen=True, forbid_unknown_fields=True):
    path: FilePath


class FileNameRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=64)]


class SchemaRequest(Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=128)]


class SessionRequest(Struct, frozen=True, forbid_unknown_fields=True):
    token: Annotated[str, Meta(min_length=1, max_length=512)]


# Answers, without the ``ok`` that every one begins with


class Nothing(Struct, frozen=True):
    """An answer without fields."""


class Health(Struct, frozen=True):
    version: str


class RanExecution(Struct, frozen=True):
    envelope: ResultEnvelope
    deviceId: str
    backend: str
    operatorPackage: str | UnsetType = UNSET
    terminalSource: Literal["clawperator_result"] = "clawperator_result"


class ShownNode(Struct, frozen=True):
    """A node of a screen. ``parent`` is the index of its parent, or -1."""

    parent: int
    className: str
    role: str
    text: str
    description: str
    resourceId: str
    bounds: tuple[int, int, int, int]
    states: list[str]
    visible: bool


class OutlineLine(Struct, frozen=True):
    """A line of the outline. ``node`` is the index of its node."""

    line: str
    depth: int
    ref: str
    node: int


# The parts of a screen, which are encoded once for all readers.
_SCREEN: Mapping[str, Any] = {
    "nodes": list[ShownNode],
    "cutNodes": int,
    "outline": list[OutlineLine],
    "notices": list[str],
    "drawing": Annotated[Any, Meta(description="what the page draws; its form may change")],
}
LiveAnswer = msgspec.defstruct(
    "LiveAnswer",
    [
        (own.name, _SCREEN[own.name] | UnsetType, UNSET) if own.name in _SCREEN else (own.name, own.type)
        for own in msgspec.structs.fields(LiveState)
    ],
    namespace={"__doc__": LiveState.__doc__},
    frozen=True,
)


class RankedSelector(Struct, frozen=True):
    selector: dict[str, Any]
    flags: str


class ElementAnswer(Struct, frozen=True):
    """An element of a screen. ``touch`` is where it is touched; None when others cover it, as ``covered`` says."""

    touch: tuple[int, int] | None
    covered: str
    node: int
    screenId: str
    ref: str
    role: str
    label: str
    attributes: dict[str, str]
    selectors: list[RankedSelector]


class DoneAnswer(Struct, frozen=True):
    """What was done, as a command line and as an action of an execution."""

    deviceId: str
    command: str
    action: dict[str, Any]


class EventsAnswer(Struct, frozen=True):
    """Events of a recording, without snapshots. ``next`` is the ``since`` of the next request."""

    sessionId: str
    events: list[dict[str, Any]]
    next: int
    leftOut: int


class ReplayAnswer(Struct, frozen=True):
    """The result of a replay, which is also in a file. Further fields are those of ``recording replay``."""

    outputFile: str
    result: dict[str, Any]


class SchemaName(Struct, frozen=True):
    name: str
    description: str


class SchemaList(Struct, frozen=True):
    schemas: list[SchemaName]


class OneSchema(Struct, frozen=True):
    schema: dict[str, Any]
