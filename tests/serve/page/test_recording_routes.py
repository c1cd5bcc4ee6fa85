"""What the page does with recordings: replays and reports, in the folder of the server."""

from pathlib import Path
from urllib.parse import quote

import pytest

from clawperator.phone.process.server import PhoneServer
from tests.device.phone_servers import running_phone_server
from tests.recording.samples import click, window, write
from tests.serve.page.live_states import shown
from tests.serve.page.test_live_routes import tap
from tests.support.http_client import Client


def record(client: Client, phone: PhoneServer) -> None:
    """A recording demo.ndjson in the folder: Settings is opened, then Display."""
    phone.phone.go_home()
    client.post("/recordings/start", {"sessionId": "demo"})
    tap(client, shown(client, lambda now: now["package"] != "com.android.settings"), "Settings")
    tap(client, shown(client, lambda now: now["package"] == "com.android.settings"), "Display")
    assert client.post("/recordings/stop").document["envelope"]["status"] == "success"
    assert client.post("/recordings/pull", {"sessionId": "demo"}).status == 200


def test_a_recording_of_touches_is_replayed_on_another_phone(
    client: Client, phone: PhoneServer, folder: Path
) -> None:
    record(client, phone)
    with running_phone_server("claw-2") as other:
        body = {"input": "recordings/demo.ndjson", "deviceId": "claw-2"}
        answer = client.post("/recordings/replay", body).document
        assert answer["result"]["ok"], answer
        assert other.phone.foreground() == "com.android.settings"
    saved = folder / "recordings" / "demo.replay.json"
    assert answer["outputFile"] == str(saved)
    report = client.post("/recordings/report", {"input": "recordings/demo.replay.json"}).document
    assert report["outputFile"] == f"{saved}.report.html"


def test_a_replay_that_stops_has_a_result(client: Client, phone: PhoneServer) -> None:
    record(client, phone)
    phone.phone.set_fault("accessibility_off", "on")
    answer = client.post("/recordings/replay", {"input": "recordings/demo.ndjson"})
    assert answer.document["result"]["ok"] is False
    assert answer.document["result"]["error"]["code"] == "SERVICE_UNAVAILABLE"


def test_a_report_is_opened_without_the_rights_of_the_page(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(0), click(1)])
    made = client.post("/recordings/report", {"input": "demo.ndjson"}).document
    assert made["outputFile"] == str(folder / "demo.ndjson.report.html")
    reply = client.get(f"/recordings/report?path={quote('demo.ndjson.report.html')}")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    policy = reply.headers["content-security-policy"]
    assert "sandbox allow-scripts;" in policy
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy  # as default-src: nothing
    assert reply.body == (folder / "demo.ndjson.report.html").read_bytes()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("demo.html", 400, "INVALID_PATH"),
        ("missing.report.html", 404, "REPORT_FAILED"),
        ("../outside.report.html", 403, "PERMISSION_DENIED"),
        ("link.report.html", 403, "PERMISSION_DENIED"),
    ],
)
def test_nothing_else_is_opened(client: Client, folder: Path, path: str, status: int, code: str) -> None:
    (folder.parent / "outside.report.html").write_text("secret")
    (folder / "demo.html").write_text("<script>")
    (folder / "link.report.html").symlink_to(folder.parent / "outside.report.html")
    reply = client.get(f"/recordings/report?path={quote(path, safe='')}")
    assert (reply.status, reply.code) == (status, code)


def test_a_recording_that_is_named_like_a_report_is_not_opened(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(0), click(1)])
    body = {"input": "demo.ndjson", "out": "demo.report.html"}
    assert client.post("/recordings/repair", body).status == 200
    reply = client.get("/recordings/report?path=demo.report.html")
    assert (reply.status, reply.code) == (400, "INVALID_PATH")


def test_files_stay_in_the_folder(client: Client, folder: Path) -> None:
    write(folder / "demo.ndjson", [window(0), click(1)])
    for body in ({"input": "../x.ndjson"}, {"input": "demo.ndjson", "out": "../x.html"}):
        assert client.post("/recordings/report", body).code == "PERMISSION_DENIED"
    assert client.post("/recordings/replay", {"input": "../x.ndjson"}).code == "PERMISSION_DENIED"
