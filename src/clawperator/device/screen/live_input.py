"""What a user does on a device in a live view: touches, keys and text.

On a simulated phone it is the user's own touch, so an active recording gets its events. On another device it is
``input``.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

from clawperator._base.deadline import Deadline
from clawperator.contract.action_params import KeyName
from clawperator.contract.execution import new_command_id
from clawperator.device.adb.client import Device
from clawperator.device.run.lease import lease
from clawperator.errors import ClawError
from clawperator.phone.process.launch import control_phone
from clawperator.ui.node import Node

Point = tuple[int, int]

# The beginning of the command ids of live views.
_PREFIX = "live-"
# How long a touch waits for a device that another command uses, or that a live view looks at.
_LEASE_SECONDS = 0.5
_OWN_LOOK_SECONDS = 20.0
_INPUT_SECONDS = 20.0


class LiveInput(Protocol):
    """What a user can do. A touch with an end moves there; one that ``holds`` is a long press before it moves."""

    def touch(self, at: Point, to: Point | None, milliseconds: int, *, holds: bool) -> None: ...
    def press(self, key: KeyName, /) -> None: ...
    def type_text(self, text: str, /) -> None: ...


def user_input(device: Device) -> LiveInput:
    return SimulatedInput(device.serial) if device.endpoint.simulated else AdbInput(device)


class SimulatedInput:
    def __init__(self, serial: str) -> None:
        self._serial = serial

    def touch(self, at: Point, to: Point | None, milliseconds: int, *, holds: bool) -> None:
        control_phone(self._serial, "touch", at=at, to=to, milliseconds=milliseconds, holds=holds)

    def press(self, key: KeyName, /) -> None:
        control_phone(self._serial, "press", key=key)

    def type_text(self, text: str, /) -> None:
        control_phone(self._serial, "type", text=text)


class AdbInput:
    """``input`` of a device. It is not known whether what it sends has an effect."""

    def __init__(self, device: Device) -> None:
        from clawperator.device.backends.adb import AdbDriver

        self._serial = device.serial
        self._driver = AdbDriver(device, seconds=_INPUT_SECONDS)

    def touch(self, at: Point, to: Point | None, milliseconds: int, *, holds: bool) -> None:
        if to is None:
            accepted = self._driver.tap(*at, milliseconds)
        else:
            accepted = (self._driver.drag if holds else self._driver.swipe)(at, to, milliseconds)
        self._require(accepted, "touch")

    def press(self, key: KeyName, /) -> None:
        self._require(self._driver.key(key), "key")

    def type_text(self, text: str, /) -> None:
        """Type at the cursor. ``TEXT_NOT_ACCEPTED`` for characters that ``input`` has no keys for."""
        self._driver.type_keys(Node({}), text)

    def _require(self, accepted: bool, what: str) -> None:  # noqa: FBT001 - the answer of the driver
        if not accepted:
            raise ClawError(
                "GESTURE_FAILED",
                f"{self._serial} did not accept the {what}",
                hint="Touch inside the screen of the device.",
                target=self._serial,
            )


@contextmanager
def live_lease(serial: str, action: str) -> Iterator[None]:
    """Hold the device for what a user does. ``EXECUTION_CONFLICT_IN_FLIGHT`` while another command uses it.

    A look of this process is waited for.
    """
    deadline = Deadline(_OWN_LOOK_SECONDS)
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(lease(serial, new_command_id(_PREFIX), _LEASE_SECONDS, action=action))
                break
            except ClawError as e:
                if not is_live_view(e) or deadline.is_over:
                    raise
        yield


def as_live(execution: Mapping[str, Any]) -> dict[str, Any]:
    """The execution with a command id by which a live view knows it as its own."""
    return {**execution, "commandId": new_command_id(_PREFIX)}


def is_live_view(conflict: ClawError) -> bool:
    """Whether a live view of this process is what uses the device."""
    details = conflict.details or {}
    return details.get("pid") == os.getpid() and str(details.get("commandId", "")).startswith(_PREFIX)
