"""Looking at a device and using it as a user does: a simulated phone, and the same phone behind an adb server."""

import base64
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.contract.action_params import KEY_CODES
from clawperator.contract.results import ResultEnvelope, StepResult, snapshot_id
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import adb
from clawperator.device.run.lease import lease
from clawperator.device.run.secrets import note_recordings
from clawperator.device.screen import live_view
from clawperator.device.screen.live_view import (
    AdbInput,
    CapturedSource,
    LiveLook,
    LiveSource,
    SimulatedInput,
    SimulatedSource,
    as_live,
    is_live_view,
    live_lease,
    png_size,
    user_input,
)
from clawperator.errors import ClawError
from clawperator.phone.process.server import HOST, PhoneServer
from clawperator.policy.gate import ApprovedPlan
from clawperator.ui.parse import parse_hierarchy
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS

if TYPE_CHECKING:
    from clawperator.contract.execution import Plan

KINDS = ["simulated", "adb"]


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PhoneServer]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_phone_server() as server:
        server.phone.launch("com.android.settings")
        yield server


def device(phone: PhoneServer, kind: str) -> Device:
    return Device("claw-1", Endpoint(HOST, phone.server_port, simulated=kind == "simulated"))


def source(phone: PhoneServer, kind: str) -> LiveSource:
    if kind == "simulated":
        return SimulatedSource("claw-1")
    return CapturedSource(device(phone, kind), package=None, backend="auto", stop=lambda: False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_look_is_the_snapshot_of_the_command_line(phone: PhoneServer, kind: str) -> None:
    look = source(phone, kind).look("")
    assert look.data["foreground_package"] == "com.android.settings"
    assert look.data["snapshot_id"].startswith("s")
    assert parse_hierarchy(look.data["text"]).nodes
    assert (look.width, look.height) == (1080, 2400)


def test_both_have_the_same_snapshot_id(phone: PhoneServer) -> None:
    ids = [source(phone, kind).look("").data["snapshot_id"] for kind in KINDS]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("kind", KINDS)
def test_the_picture_has_the_size_of_the_display(phone: PhoneServer, kind: str) -> None:
    phone.phone.set_fault("rotation", 1)
    look = source(phone, kind).look("")
    assert png_size(source(phone, kind).picture()) == (look.width, look.height) == (2400, 1080)


def test_no_capture_suspends_the_service_that_records(phone: PhoneServer) -> None:
    plain = CapturedSource(device(phone, "adb"), package=None, backend="adb", stop=lambda: False)
    first = plain.look("")
    assert first.data
    started = StepResult("a1", "start_recording", True, {"sessionId": "demo"})
    note_recordings("claw-1", [started])
    assert plain.look(first.picture_id) == LiveLook(picture_id=first.picture_id, can_record=False)
    note_recordings("claw-1", [StepResult("a1", "stop_recording", True, {"sessionId": "demo"})])
    assert plain.look(first.picture_id).data


@pytest.mark.parametrize("kind", KINDS)
def test_a_user_touches_types_and_presses(phone: PhoneServer, kind: str) -> None:
    user, live = user_input(device(phone, kind)), phone.phone
    before = live.windows.xml()
    user.touch((540, 1600), (540, 900), 300, holds=False)
    assert live.windows.xml() != before
    search = next(one for one in parse_hierarchy(before).nodes if one.content_desc == "Search settings")
    live.launch("com.android.settings")
    user.touch((540, 900), (540, 1600), 300, holds=False)
    user.touch(search.bounds.centre, None, 100, holds=False)
    user.type_text("a b")
    assert 'text="a b"' in live.windows.xml()
    user.press("delete")
    assert 'text="a "' in live.windows.xml()
    user.press("home")
    assert live.foreground() != "com.android.settings"


def test_every_key_is_pressed(phone: PhoneServer) -> None:
    for key in KEY_CODES:
        user_input(device(phone, "simulated")).press(key)


def test_a_touch_outside_the_screen_is_refused_by_adb(phone: PhoneServer) -> None:
    with pytest.raises(ClawError) as error:
        user_input(device(phone, "adb")).touch((9_000, 10), None, 100, holds=False)
    assert error.value.code == "GESTURE_FAILED"


def test_a_user_waits_for_a_look_and_not_for_another_command(phone: PhoneServer) -> None:  # noqa: ARG001 - its home
    with lease("claw-1", "skill-1", 0), pytest.raises(ClawError) as error, live_lease("claw-1", "touch"):
        pass
    assert error.value.code == "EXECUTION_CONFLICT_IN_FLIGHT"
    assert not is_live_view(error.value)
    own = str(as_live({"commandId": "x"})["commandId"])
    looking, touched = threading.Event(), threading.Event()

    def touch() -> None:
        looking.wait(HANG_SECONDS)
        with live_lease("claw-1", "touch"):
            touched.set()

    thread = threading.Thread(target=touch)
    thread.start()
    with lease("claw-1", own, 0):
        looking.set()
        assert not touched.wait(0.7)  # longer than a touch waits for others
    thread.join(HANG_SECONDS)
    assert touched.is_set()


# With doubles of the device

PHONE = {"id": "p2", "xml": "<hierarchy/>", "package": "com.example", "overlay": "com.bubble"}
PHONE_STATE: dict[str, Any] = {"width": 300, "height": 600, "awake": False, "recording": "demo"}


class PhoneDouble:
    """Answers control requests, and keeps them."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str, dict[str, Any]]] = []

    def control_phone(self, serial: str, request: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((serial, request, arguments))
        return self.answer


@pytest.mark.parametrize(
    ("answer", "look"),
    [
        (
            {**PHONE, **PHONE_STATE},
            LiveLook(
                picture_id="p2",
                data={
                    "text": "<hierarchy/>",
                    "snapshot_id": snapshot_id("<hierarchy/>"),
                    "foreground_package": "com.example",
                    "overlay_package": "com.bubble",
                },
                width=300,
                height=600,
                is_awake=False,
                recording="demo",
            ),
        ),
        (
            {**PHONE, **PHONE_STATE, "package": None, "overlay": "", "awake": True, "recording": None},
            LiveLook(
                picture_id="p2",
                data={"text": "<hierarchy/>", "snapshot_id": snapshot_id("<hierarchy/>")},
                width=300,
                height=600,
                is_awake=True,
                recording=None,
            ),
        ),
        (
            {"id": "p1", "recording": "demo"},
            LiveLook(picture_id="p1", data={}, width=0, height=0, is_awake=True, recording="demo"),
        ),
    ],
)
def test_a_look_at_a_simulated_phone_is_what_it_answers(
    monkeypatch: pytest.MonkeyPatch, answer: dict[str, Any], look: LiveLook
) -> None:
    double = PhoneDouble(answer)
    monkeypatch.setattr(live_view, "control_phone", double.control_phone)
    simulated: LiveSource = SimulatedSource("claw-9")
    assert simulated.look("p1") == look
    assert double.asked == [("claw-9", "look", {"since": "p1"})]
    assert (simulated.is_simulated, simulated.seconds) == (True, 0.2)


def test_the_picture_of_a_simulated_phone_is_what_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    double = PhoneDouble({"png": base64.b64encode(b"a picture").decode()})
    monkeypatch.setattr(live_view, "control_phone", double.control_phone)
    assert SimulatedSource("claw-9").picture() == b"a picture"
    assert double.asked == [("claw-9", "screenshot", {})]


class CapturedDouble:
    """A device whose looks take some seconds, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 50.0
        self.takes = 0.0
        self.rotation = "0"
        self.backend = "operator"
        self.pictures = 0
        self.asked: dict[str, Any] = {}
        self.plan: Plan | None = None
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(live_view, "run_plan", self.run_plan)
        monkeypatch.setattr(live_view, "capture_png", self.capture_png)

    def run_plan(self, approved: ApprovedPlan, _: Device, **options: Any) -> Any:
        plan = approved.plan
        self.plan, self.asked = plan, options
        self.now += self.takes
        data = {"text": f'<hierarchy rotation="{self.rotation}"/>', "snapshot_id": "s1"}
        step = StepResult("a1", "snapshot_ui", True, data)
        return SimpleNamespace(envelope=ResultEnvelope("c", "t", "success", [step], None), backend=self.backend)

    def capture_png(self, _: Device, *, seconds: float) -> bytes:
        assert seconds == 15
        self.pictures += 1
        return b"?" * 16 + (100).to_bytes(4) + (200 + self.pictures).to_bytes(4) + b"!" * 8


def never() -> bool:
    return False


@pytest.fixture
def double(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CapturedDouble:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    return CapturedDouble(monkeypatch)


def captured_source() -> CapturedSource:
    plugged = Device("claw-9", Endpoint(HOST, 1))
    return CapturedSource(plugged, package="com.operator", backend="operator", stop=never)


def test_a_capture_yields_to_others_and_has_a_time_limit(double: CapturedDouble) -> None:
    captured: LiveSource = captured_source()
    look = captured.look("")
    assert look == LiveLook(
        picture_id="1", data={"text": '<hierarchy rotation="0"/>', "snapshot_id": "s1"}, width=100, height=201
    )
    assert not captured.is_simulated
    assert 0 < double.asked.pop("timeout_ms") <= 60_000
    assert double.asked == {
        "package": "com.operator",
        "backend": "operator",
        "lease_seconds": 0.05,
        "stop": never,
    }
    assert double.plan is not None
    assert double.plan.execution.commandId.startswith("live-")
    assert captured.look("1").picture_id == "2"


@pytest.mark.parametrize(("takes", "pause"), [(0.0, 0.5), (0.25, 0.5), (0.5, 1.0), (4.0, 8.0)])
def test_a_capture_leaves_the_device_to_others_for_twice_its_time(
    double: CapturedDouble, takes: float, pause: float
) -> None:
    captured = captured_source()
    assert captured.seconds == 0.5
    double.takes = takes
    captured.look("")
    assert captured.seconds == pause


def test_the_size_is_read_again_after_a_rotation(double: CapturedDouble) -> None:
    captured = captured_source()
    sizes = []
    for rotation in ("0", "0", "1", "1", "0"):
        double.rotation = rotation
        look = captured.look("")
        sizes.append((look.width, look.height))
    assert sizes == [(100, 201), (100, 201), (100, 202), (100, 202), (100, 203)]


@pytest.mark.parametrize(("backend", "looks"), [("operator", True), ("adb", False)])
def test_a_capture_by_the_operator_does_not_disturb_a_recording(
    double: CapturedDouble, backend: str, *, looks: bool
) -> None:
    double.backend = backend
    captured = captured_source()
    note_recordings("claw-9", [StepResult("a1", "start_recording", True, {"sessionId": "demo"})])
    assert captured.look("").data
    assert bool(captured.look("1").data) == looks


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


def test_a_look_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    leases = Leases(monkeypatch, 1_000, **own_look())
    with pytest.raises(ClawError, match="busy"), live_lease("pixel", "touch"):
        pass
    assert 10 < leases.now <= 10 + 60


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
