"""Looking at a device and using it as a user does: a simulated phone, and the same phone behind an adb server."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.contract import KEY_CODES, StepResult
from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.lease import lease
from clawperator.device.live_input import as_live, is_live_view, live_lease, user_input
from clawperator.device.live_view import CapturedSource, LiveLook, LiveSource, SimulatedSource, png_size
from clawperator.device.secrets import note_recordings
from clawperator.errors import ClawError
from clawperator.phone.process.server import HOST, PhoneServer
from clawperator.ui import parse_hierarchy
from tests.device.phone_servers import running_phone_server
from tests.support.hanging import HANG_SECONDS

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
    assert plain.look(first.picture_id) == LiveLook(picture_id=first.picture_id)
    note_recordings("claw-1", [StepResult("a1", "stop_recording", True, {"sessionId": "demo"})])
    assert plain.look(first.picture_id).data


def test_a_capture_leaves_the_device_to_others_for_twice_its_time(phone: PhoneServer) -> None:
    captured = source(phone, "adb")
    captured.look("")
    assert captured.seconds >= 0.5


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
