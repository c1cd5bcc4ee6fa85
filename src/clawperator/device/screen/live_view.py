"""A device as a user sees it: its screen now, as a tree and as a picture.

A simulated phone is asked over its control channel, which needs no lease and disturbs nothing. Every other device
is captured by an execution, which holds the lease while it looks.
"""

import base64
import struct
import time
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from clawperator.commands.model import BackendName
from clawperator.contract.execution import single_action, validate
from clawperator.contract.wire import snapshot_id
from clawperator.device.adb.client import Device
from clawperator.device.adb.screencap import capture_png
from clawperator.device.run.run import run_plan
from clawperator.device.run.secrets import active_recording
from clawperator.device.screen.live_input import as_live
from clawperator.device.screen.watch import captured_data
from clawperator.phone.process.launch import control_phone

_LOOK_SECONDS = 20.0
_LEASE_SECONDS = 0.05
_PICTURE_SECONDS = 15.0
_PNG_SIZE = struct.Struct(">II")


class LiveLook(Struct, frozen=True, kw_only=True):
    """A look at a screen. ``data`` is that of a snapshot step, empty when the screen is the one of the last look.

    ``picture_id`` is another one whenever a picture may show something else. Plain adb ``can_record`` nothing.
    """

    picture_id: str
    data: dict[str, str] = {}
    width: int = 0
    height: int = 0
    is_awake: bool = True
    recording: str | None = None
    can_record: bool = True


class LiveSource(Protocol):
    """Where the looks at a device come from. ``seconds`` is the pause between two of them."""

    @property
    def is_simulated(self) -> bool: ...
    @property
    def seconds(self) -> float: ...
    def look(self, since: str, /) -> LiveLook:
        """The screen now. ``since`` is the picture id of the last look, or empty."""
        ...

    def picture(self) -> bytes:
        """The screen now as PNG."""
        ...


class SimulatedSource:
    """A simulated phone. It has no accessibility service to suspend and no lease to wait for."""

    is_simulated = True
    seconds = 0.2

    def __init__(self, serial: str, *, can_record: bool = True) -> None:
        self._serial = serial
        self._can_record = can_record

    def look(self, since: str, /) -> LiveLook:
        found = control_phone(self._serial, "look", since=since)
        if "xml" not in found:
            return LiveLook(picture_id=found["id"], recording=found["recording"], can_record=self._can_record)
        data = {"text": found["xml"], "snapshot_id": snapshot_id(found["xml"])}
        optional = {"foreground_package": found["package"], "overlay_package": found["overlay"]}
        return LiveLook(
            picture_id=found["id"],
            data=data | {name: value for name, value in optional.items() if value},
            width=found["width"],
            height=found["height"],
            is_awake=found["awake"],
            recording=found["recording"],
            can_record=self._can_record,
        )

    def picture(self) -> bytes:
        return base64.b64decode(control_phone(self._serial, "screenshot")["png"])


class CapturedSource:
    """Any other device. ``seconds`` leaves it to other commands for at least twice the time of a look."""

    is_simulated = False

    def __init__(
        self, device: Device, *, package: str | None, backend: BackendName, stop: Callable[[], bool]
    ) -> None:
        self.seconds = 0.5
        self._device = device
        self._package = package
        self._backend: BackendName = backend
        self._stop = stop
        self._size: tuple[str, int, int] | None = None
        self._count = 0
        self._ran_by = ""

    def look(self, since: str, /) -> LiveLook:
        """A capture. There is none while ``uiautomator`` would suspend the service that records."""
        if self._ran_by == "adb" and active_recording(self._device.serial) is not None:
            return LiveLook(picture_id=since, can_record=False)
        began = time.monotonic()
        plan = validate(as_live(single_action("snapshot_ui")))
        result = run_plan(
            plan,
            self._device,
            package=self._package,
            backend=self._backend,
            timeout_ms=_LOOK_SECONDS * 1000,
            lease_seconds=_LEASE_SECONDS,
            stop=self._stop,
        )
        self._ran_by = result.backend
        data = captured_data(result.envelope, self._device.serial)
        width, height = self._display_size(data["text"])
        self.seconds = max(0.5, 2 * (time.monotonic() - began))
        self._count += 1
        can_record = self._ran_by != "adb"
        return LiveLook(picture_id=str(self._count), data=data, width=width, height=height, can_record=can_record)

    def _display_size(self, xml: str) -> tuple[int, int]:
        """The size of the display. A rotation changes it, so it is read again for another one."""
        rotation = xml.partition('rotation="')[2][:1]
        if self._size is None or self._size[0] != rotation:
            self._size = (rotation, *png_size(self.picture()))
        return self._size[1:]

    def picture(self) -> bytes:
        return capture_png(self._device, seconds=_PICTURE_SECONDS)


def png_size(png: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG."""
    width, height = _PNG_SIZE.unpack(png[16:24])
    return width, height
