"""Touches, keys and text of a user in a live view, and the lease that they take."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import adb
from clawperator.device.screen import live_view
from clawperator.device.screen.live_view import (
    AdbInput,
    SimulatedInput,
    as_live,
    is_live_view,
    live_lease,
    user_input,
)
from clawperator.errors import ClawError


class Driver:
    """Keeps what was done. Nothing outside of the screen is accepted."""

    def __init__(self, device: Device, *, seconds: float) -> None:
        self.done: list[Any] = [(device.serial, seconds)]

    def tap(self, x: int, y: int, milliseconds: int) -> bool:
        self.done.append(("tap", x, y, milliseconds))
        return x < 1_000

    def swipe(self, *gesture: Any) -> bool:
        self.done.append(("swipe", *gesture))
        return True

    def drag(self, *gesture: Any) -> bool:
        self.done.append(("drag", *gesture))
        return False

    def key(self, name: str) -> bool:
        self.done.append(("key", name))
        return name == "home"

    def type_keys(self, node: Any, text: str) -> None:
        self.done.append(("type", node.attributes, text))


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []

    def make(device: Device, *, seconds: float) -> Driver:
        one = Driver(device, seconds=seconds)
        made[:] = [one]
        return one

    monkeypatch.setattr(adb, "AdbDriver", make)
    return made


def plugged() -> AdbInput:
    made = user_input(Device("pixel", Endpoint("127.0.0.1", 1)))
    assert isinstance(made, AdbInput)
    return made


def test_what_a_user_does_is_an_input_of_the_device(driver: list[Any]) -> None:
    user = plugged()
    user.touch((10, 20), None, 100, holds=False)
    user.touch((10, 20), None, 700, holds=True)
    user.touch((10, 20), (30, 40), 300, holds=False)
    user.press("home")
    user.type_text("a b")
    assert driver[0].done == [
        ("pixel", 20),
        ("tap", 10, 20, 100),
        ("tap", 10, 20, 700),
        ("swipe", (10, 20), (30, 40), 300),
        ("key", "home"),
        ("type", {}, "a b"),
    ]


@pytest.mark.usefixtures("driver")
def test_what_the_device_does_not_accept_is_an_error() -> None:
    user = plugged()
    refused: list[tuple[Callable[[], None], str]] = [
        (lambda: user.touch((2_000, 20), None, 100, holds=False), "touch"),
        (lambda: user.touch((10, 20), (30, 40), 300, holds=True), "touch"),
        (lambda: user.press("back"), "key"),
    ]
    for act, what in refused:
        with pytest.raises(ClawError) as error:
            act()
        assert (error.value.code, error.value.target) == ("GESTURE_FAILED", "pixel")
        assert error.value.message == f"pixel did not accept the {what}"
        assert error.value.hint == "Touch inside the screen of the device."


def test_what_a_user_does_on_a_simulated_phone_is_a_request_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(live_view, "control_phone", lambda *words, **named: asked.append((*words, named)))
    user = user_input(Device("claw-9", Endpoint("127.0.0.1", 1, simulated=True)))
    assert isinstance(user, SimulatedInput)
    user.touch((1, 2), (3, 4), 50, holds=True)
    user.press("back")
    user.type_text("x")
    assert asked == [
        ("claw-9", "touch", {"at": (1, 2), "to": (3, 4), "milliseconds": 50, "holds": True}),
        ("claw-9", "press", {"key": "back"}),
        ("claw-9", "type", {"text": "x"}),
    ]


# The lease


class Leases:
    """Refuses a lease for some seconds, each attempt after the seconds that it waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, refused_for: float, **details: Any) -> None:
        self.now = 10.0
        self.end = self.now + refused_for
        self.details = details
        self.attempts: list[tuple[str, float, str]] = []
        self.held: list[str] = []
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(live_view, "lease", self.lease)

    @contextmanager
    def lease(self, serial: str, command_id: str, seconds: float, *, action: str) -> Iterator[None]:
        assert command_id.startswith("live-")
        self.attempts.append((serial, seconds, action))
        assert len(self.attempts) < 1_000, "it waits for ever"
        if self.now < self.end:
            self.now += seconds
            raise ClawError("EXECUTION_CONFLICT_IN_FLIGHT", "busy", details=self.details)
        self.held.append(serial)
        yield
        self.held.remove(serial)


def own_look() -> dict[str, Any]:
    return {"pid": os.getpid(), "commandId": as_live({})["commandId"]}


def test_a_touch_holds_the_device_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(monkeypatch, 0)
    with live_lease("pixel", "touch"):
        assert leases.held == ["pixel"]
    assert leases.held == []
    assert leases.attempts == [("pixel", 0.5, "touch")]


def test_a_look_of_this_process_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(monkeypatch, 3, **own_look())
    with live_lease("pixel", "touch"):
        assert leases.held == ["pixel"]
    assert len(leases.attempts) == 7


def test_a_look_that_does_not_end_is_awaited_for_twenty_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(monkeypatch, 1_000, **own_look())
    with pytest.raises(ClawError, match="busy"), live_lease("pixel", "touch"):
        pass
    assert leases.now == 10 + 20


@pytest.mark.parametrize(
    "details",
    [
        {},
        {"commandId": "click-1"},
        {"commandId": "live-1", "pid": 1},
        {"commandId": "alive-1"},
    ],
)
def test_another_command_is_not_awaited(monkeypatch: pytest.MonkeyPatch, details: dict[str, Any]) -> None:
    leases = Leases(monkeypatch, 1_000, **{"pid": os.getpid(), **details})
    with pytest.raises(ClawError, match="busy") as error, live_lease("pixel", "touch"):
        pass
    assert len(leases.attempts) == 1
    assert is_live_view(error.value) is False


def test_an_error_without_details_is_no_live_view() -> None:
    assert not is_live_view(ClawError("NO_DEVICES", "none"))


def test_an_execution_of_a_live_view_keeps_the_rest() -> None:
    made = as_live({"commandId": "x", "timeoutMs": 5})
    assert made == {"commandId": made["commandId"], "timeoutMs": 5}
    assert made["commandId"].startswith("live-")
