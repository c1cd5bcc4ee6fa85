"""The live screen over HTTP: looks, long polling, elements, touches, keys, text and events of a recording."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from clawperator.device.run.lease import lease
from clawperator.phone.process.server import PhoneServer
from clawperator.serve.page import watched_screens
from tests.device.phone_servers import running_phone_server
from tests.serve.page.live_states import centre, has_label, look, node, shown
from tests.support.hanging import HANG_SECONDS
from tests.support.http_client import Client, Reply, RunningServer, running_server


def wait_for_readers(running: RunningServer, count: int) -> None:
    end = time.monotonic() + HANG_SECONDS
    screens = running.server.app.services.screens
    while (live := screens.find("claw-1")) is None or len(live.readers) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def tap(client: Client, state: Any, text: str) -> Reply:
    return client.post("/touch", {"kind": "tap", **centre(node(state, text))})


def test_the_screen_has_nodes_an_outline_and_no_problem(client: Client) -> None:
    state = shown(client)
    assert (state["deviceId"], state["simulated"], state["package"]) == ("claw-1", True, "com.android.settings")
    assert (state["width"], state["height"], state["busy"], state["error"]) == (1080, 2400, None, None)
    display = node(state, "Display")
    assert state["nodes"][display["parent"]]["visible"]
    line = next(one for one in state["outline"] if '"Display"' in one["line"])
    assert line["ref"].startswith("e")
    assert state["nodes"][line["node"]]["states"][0] == "clickable"


def test_references_are_those_of_the_command_line(client: Client) -> None:
    state = shown(client)
    line = next(one for one in state["outline"] if '"Display"' in one["line"])
    execution = {
        "commandId": "c1",
        "taskId": "c1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 10_000,
        "actions": [{"id": "a1", "type": "click", "params": {"matcher": {"ref": line["ref"]}}}],
    }
    envelope = client.post("/execute", {"execution": execution}).document["envelope"]
    assert envelope["status"] == "success", envelope


def test_a_reader_waits_for_the_next_change(client: Client, phone: PhoneServer) -> None:
    state = shown(client)
    same = look(client, since=state["stateId"], waitMs=1)
    assert same["stateId"] == state["stateId"]
    assert "nodes" not in same
    found: list[Any] = []
    reader = threading.Thread(target=lambda: found.append(look(client, since=state["stateId"], waitMs=20_000)))
    reader.start()
    phone.phone.go_home()
    reader.join(HANG_SECONDS)
    assert found[0]["package"] != state["package"]


def test_a_touch_is_answered_as_a_command_and_as_an_action_and_shows_at_once(client: Client) -> None:
    state = shown(client)
    done = tap(client, state, "Display").document
    assert done["command"] == "clawperator click --text Display --device claw-1"
    assert done["action"] == {"id": "a1", "type": "click", "params": {"matcher": {"textEquals": "Display"}}}
    shown(client, lambda now: any(one["text"] == "Dark theme" for one in now["nodes"]))


def test_a_touch_without_an_element_has_its_point(client: Client) -> None:
    point = {"x": 540, "y": 2_390}
    done = client.post("/touch", {"kind": "tap", **point}).document
    assert done["command"] == "clawperator click --coordinate 540 2390 --device claw-1"
    long = client.post("/touch", {"kind": "long_press", **point}).document
    assert long["action"]["params"] == {"coordinate": point, "clickType": "long_click", "durationMs": 800}


def test_a_command_of_the_console_does_the_same(client: Client, phone: PhoneServer, folder: Path) -> None:
    done = tap(client, shown(client), "Display").document
    there = phone.phone.windows.xml()
    phone.phone.go_back()
    argv = done["command"].split()
    ran = subprocess.run([sys.executable, "-P", "-m", *argv], cwd=folder, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert phone.phone.windows.xml() == there


def test_swipes_and_drags_have_an_end(client: Client) -> None:
    state = shown(client)
    swipe = {"kind": "swipe", "x": 540, "y": 1_600, "toX": 540, "toY": 800}
    done = client.post("/touch", swipe).document
    assert done["command"] == "clawperator swipe --from 540 1600 --to 540 800 --duration 300 --device claw-1"
    shown(client, lambda now: now["screenId"] != state["screenId"])
    for wrong in (
        {**swipe, "kind": "tap"},
        {"kind": "drag", "x": 1, "y": 1},
        {"kind": "drag", "x": 1, "y": 1, "toX": 2},
    ):
        assert client.post("/touch", wrong).code == "INVALID_BODY"


def test_text_goes_into_the_focused_field_and_is_shown_as_one_command(client: Client) -> None:
    tap(client, shown(client), "Search settings")
    shown(client, lambda now: any("focused" in one["states"] for one in now["nodes"]))
    client.post("/type", {"text": "dis"})
    done = client.post("/type", {"text": "p"}).document
    assert done["action"]["params"]["text"] == "disp"
    assert done["command"].startswith("clawperator type disp --id ")
    assert "textEquals" not in json.dumps(done["action"])
    client.post("/press", {"key": "delete"})
    state = shown(client, lambda now: any(one["text"] == "dis" for one in now["nodes"]))
    assert node(state, "dis")["role"] == "textfield"


def test_a_password_is_in_no_answer(client: Client, phone: PhoneServer) -> None:
    phone.phone.launch("com.clawperator.notes")
    state = shown(client, lambda now: now["package"] == "com.clawperator.notes")
    tap(client, state, "Account")
    state = shown(client, lambda now: any(one["resourceId"].endswith("id/password") for one in now["nodes"]))
    field = next(one for one in state["nodes"] if one["resourceId"].endswith("id/password"))
    client.post("/touch", {"kind": "tap", **centre(field)})
    done = client.post("/type", {"text": "hunter2"})
    assert done.document["action"]["params"] == {
        "matcher": {"shortId": "password"},
        "textFrom": {"env": "PASSWORD"},
    }
    assert done.document["command"] == "clawperator type --secret PASSWORD --id password --device claw-1"
    state = shown(client, lambda now: any("•" in one["text"] for one in now["nodes"]))
    at = next(at for at, one in enumerate(state["nodes"]) if one["resourceId"].endswith("id/password"))
    element = client.get(f"/screen/element?screenId={state['screenId']}&node={at}")
    assert b"hunter2" not in done.body + json.dumps(state).encode() + element.body


@pytest.mark.parametrize(
    ("route", "body", "code"),
    [
        ("/touch", {"kind": "tap", "x": 99_999, "y": 1}, "GESTURE_FAILED"),
        ("/touch", {"kind": "swipe", "x": 1, "y": 1, "toX": 1, "toY": 99_999}, "GESTURE_FAILED"),
        ("/type", {"text": "x"}, "NODE_NOT_FOUND"),
        ("/close", {"applicationId": "com.example.missing"}, "APP_NOT_FOUND"),
    ],
)
def test_what_cannot_be_done_is_an_error(
    client: Client, phone: PhoneServer, route: str, body: dict[str, Any], code: str
) -> None:
    before = phone.phone.windows.changes
    assert client.post(route, body).code == code
    assert phone.phone.windows.changes == before


def test_keys(client: Client, phone: PhoneServer) -> None:
    assert client.post("/press", {"key": "back"}).document["command"] == "clawperator back --device claw-1"
    assert phone.phone.foreground() != "com.android.settings"
    pressed = client.post("/press", {"key": "recents"}).document
    assert (pressed["command"], pressed["action"]["params"]) == (
        "clawperator press recents --device claw-1",
        {"key": "recents"},
    )


def test_an_app_is_closed_and_opens_at_its_first_page(client: Client, phone: PhoneServer) -> None:
    tap(client, shown(client), "Display")
    shown(client, has_label("Dark theme"))
    closed = client.post("/close", {"applicationId": "com.android.settings"}).document
    assert closed["command"] == "clawperator close com.android.settings --device claw-1"
    assert closed["action"]["params"] == {"applicationId": "com.android.settings"}
    assert phone.phone.foreground() != "com.android.settings"
    phone.phone.launch("com.android.settings")
    shown(client, has_label("Network & internet"))
    assert client.post("/close", {"applicationId": "; reboot"}).status == 400


def test_a_denied_close_app_denies_the_route(folder: Path, phone: PhoneServer) -> None:
    with running_server(folder, deny_tools=("close_app",)) as running:
        denied = running.client.post("/close", {"applicationId": "com.android.settings"})
        assert (denied.status, denied.code) == (403, "PERMISSION_DENIED")
    assert phone.phone.foreground() == "com.android.settings"


def test_a_simulated_phone_is_reset_where_the_server_may(folder: Path, phone: PhoneServer) -> None:
    with running_server(folder, mode="full") as running:
        state = shown(running.client)
        assert state["canReset"] is True
        tap(running.client, state, "Display")
        answer = running.client.post("/phones/claw-1/reset")
        assert answer.document == {"ok": True, "serial": "claw-1", "state": "running", "reset": True}
        assert phone.phone.foreground() != "com.android.settings"
        shown(running.client, has_label("Clock"))
    with running_server(folder) as running:
        assert shown(running.client)["canReset"] is False
        assert running.client.post("/phones/claw-1/reset").code == "PERMISSION_DENIED"


def test_an_element_has_its_attributes_and_ranked_selectors(client: Client) -> None:
    state = shown(client)
    at = state["nodes"].index(node(state, "Display"))
    element = client.get(f"/screen/element?screenId={state['screenId']}&node={at}").document
    assert element["attributes"]["text"] == "Display"
    left, top, right, bottom = state["nodes"][at]["bounds"]
    assert (element["touch"], element["covered"]) == ([(left + right) // 2, (top + bottom) // 2], "")
    assert element["label"] == "Display"
    assert element["selectors"][0] == {"selector": {"textEquals": "Display"}, "flags": "--text Display"}
    for query in (f"screenId=s0&node={at}", f"screenId={state['screenId']}&node=99999"):
        missing = client.get(f"/screen/element?{query}")
        assert (missing.status, missing.code) == (404, "NODE_NOT_FOUND")
    assert client.get("/screen/element?screenId=s0&node=x").code == "INVALID_QUERY"


def test_a_change_right_after_a_picture_is_in_the_next_one(
    client: Client, phone: PhoneServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched_screens, "_PICTURE_SECONDS", HANG_SECONDS)
    first = shown(client)
    before = client.get("/screen/picture").body
    phone.phone.go_home()
    shown(client, lambda now: now["pictureId"] != first["pictureId"])
    assert client.get("/screen/picture").body != before


def test_the_picture_is_the_phones(client: Client, phone: PhoneServer) -> None:
    shown(client)
    reply = client.get("/screen/picture?deviceId=claw-1&pictureId=7")
    assert (reply.status, reply.headers["content-type"]) == (200, "image/png")
    assert reply.body == phone.phone.screenshot()


def test_what_is_used_by_another_command_can_be_looked_at_but_not_touched(client: Client) -> None:
    state = shown(client)
    with lease("claw-1", "skill-7", 0, action="click"):
        busy = shown(client, lambda now: now["busy"])
        assert busy["busy"]["commandId"] == "skill-7"
        assert busy["nodes"]
        reply = tap(client, state, "Display")
        assert (reply.status, reply.code) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
        assert reply.document["deviceId"] == "claw-1"
    assert shown(client, lambda now: not now["busy"])["screenId"] == state["screenId"]


def test_looks_take_no_lease_and_no_capture(client: Client, phone: PhoneServer) -> None:
    shown(client)
    with lease("claw-1", "long", 0):
        phone.phone.go_home()
        shown(client, lambda now: now["package"] != "com.android.settings")
    phone.phone.set_fault("operator_killed", "on")
    phone.phone.launch("com.android.settings")
    shown(client, lambda now: now["package"] == "com.android.settings")


def test_a_phone_that_stops_is_a_problem_until_it_is_back(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_server(folder) as running:
        client = running.client
        with running_phone_server():
            state = shown(client, deviceId="claw-1")
            found: list[Reply] = []
            query = urlencode({"deviceId": "claw-1", "since": state["stateId"], "waitMs": 20_000})
            reader = threading.Thread(target=lambda: found.append(client.get(f"/screen?{query}")))
            reader.start()
            wait_for_readers(running, 1)
        reader.join(HANG_SECONDS)
        assert found[0].document["error"]["code"] in ("PHONE_NOT_RUNNING", "PHONE_NOT_ANSWERING")
        assert client.get("/screen?deviceId=claw-1").code in ("DEVICE_NOT_FOUND", "ADB_NOT_FOUND")
        with running_phone_server():
            assert shown(client, lambda now: now["error"] is None, deviceId="claw-1")["nodes"]


def test_the_number_of_readers_and_of_devices_is_limited(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    state = shown(client)
    monkeypatch.setattr(watched_screens, "_MAX_READERS", 0)
    full = client.get(f"/screen?since={state['stateId']}&waitMs=9000")
    assert (full.status, full.code) == (503, "SERVER_BUSY")
    monkeypatch.setattr(watched_screens, "_MAX_DEVICES", 1)
    with running_phone_server("claw-2"):
        assert client.get("/screen?deviceId=claw-2").code == "SERVER_BUSY"
        assert client.get("/screen?deviceId=claw-1").status == 200


def test_waiting_readers_take_no_worker_and_end_with_the_server(folder: Path, phone: PhoneServer) -> None:  # noqa: ARG001 - the phone that it finds
    with running_server(folder) as running:
        client = running.client
        state = shown(client)
        replies: list[Reply] = []
        query = f"/screen?since={state['stateId']}&waitMs=25000"
        readers = [threading.Thread(target=lambda: replies.append(client.get(query))) for _ in range(20)]
        for reader in readers:
            reader.start()
        wait_for_readers(running, len(readers))
        assert running.server.app.services.workers.is_idle
    for reader in readers:
        reader.join(HANG_SECONDS)
    assert [reply.document["stateId"] for reply in replies] == [state["stateId"]] * len(readers)


def test_the_thread_ends_when_nobody_looks(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_screens, "_IDLE_SECONDS", 0.0)
    look(client)
    end = time.monotonic() + HANG_SECONDS
    while any(thread.name == "live-claw-1" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.01)
    monkeypatch.undo()


def test_events_of_a_recording_grow_and_have_no_snapshots(client: Client) -> None:
    client.post("/recordings/start", {"sessionId": "demo"})
    state = shown(client, lambda now: now["recording"])
    assert state["recording"] == "demo"
    first = client.get("/recordings/events?sessionId=demo").document
    tap(client, state, "Display")
    more = client.get(f"/recordings/events?sessionId=demo&since={first['next']}").document
    click = next(event for event in more["events"] if event["type"] == "click")
    assert (click["text"], "snapshot" in click) == ("Display", False)
    assert more["next"] == first["next"] + len(more["events"])
    everything = client.get("/recordings/events?sessionId=demo").document
    assert everything["events"] == first["events"] + more["events"]
    client.post("/recordings/stop")
    assert shown(client, lambda now: now["recording"] is None)
    missing = client.get("/recordings/events?sessionId=none")
    assert (missing.status, missing.code) == (404, "RECORDING_SESSION_NOT_FOUND")


def test_events_of_a_recording_do_not_show_a_declared_secret(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/recordings/start", {"sessionId": "demo"})
    tap(client, shown(client, lambda now: now["recording"]), "Display")
    monkeypatch.setenv("SHOP_PASSWORD", "isplay")
    (tmp_path / "home" / "clawperator.toml").write_text('secrets = ["SHOP_PASSWORD"]\n')
    events = client.get("/recordings/events?sessionId=demo").document["events"]
    assert "D••••" in [event.get("text") for event in events]
    assert "isplay" not in str(events)


def test_a_rule_about_a_label_denies_the_touch_of_it(folder: Path, phone: PhoneServer) -> None:
    before = phone.phone.windows.xml()
    with running_server(folder, deny_tools=("click(Display)",)) as running:
        state = shown(running.client)
        denied = tap(running.client, state, "Display")
        assert (denied.status, denied.code) == (403, "PERMISSION_DENIED")
        assert phone.phone.windows.xml() == before
        assert tap(running.client, state, "Apps").status == 200


def test_another_device_is_used_by_executions(
    folder: Path, phone: PhoneServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same phone, listed by an adb server: not simulated as far as the host knows."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "another home"))
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(phone.server_port))
    with running_server(folder) as running:
        client = running.client
        state = shown(client)
        assert (state["simulated"], state["width"], state["height"]) == (False, 1080, 2400)
        assert client.get("/screen/picture").body == phone.phone.screenshot()
        done = tap(client, state, "Display")
        assert done.document["command"] == "clawperator click --text Display --device claw-1"
        shown(client, lambda now: any(one["text"] == "Dark theme" for one in now["nodes"]))
        assert client.post("/press", {"key": "back"}).status == 200
        state = shown(client, lambda now: any(one["description"] == "Search settings" for one in now["nodes"]))
        tap(client, state, "Search settings")
        shown(client, lambda now: any("focused" in one["states"] for one in now["nodes"]))
        typed = client.post("/type", {"text": "abc"})
        assert typed.document["action"]["params"]["append"] is True
        shown(client, lambda now: any(one["text"] == "abc" for one in now["nodes"]))
        with lease("claw-1", "other", 0):
            shown(client, lambda now: now["busy"])
            assert client.post("/press", {"key": "home"}).status == 423
