"""Server-sent events: what executions publish, replay, lost events, slow clients, limits."""

import asyncio
import socket
import threading
import time
from pathlib import Path

import pytest

from clawperator._base.deadline import Deadline
from clawperator._base.home import config_file
from clawperator.errors import ClawError
from clawperator.serve.http.sse import EventHub, EventLimits
from tests.serve.http.test_contract_routes import HOME, execution
from tests.support.hanging import HANG_SECONDS
from tests.support.http_client import Client, running_server
from tests.support.routes import Route


def test_an_execution_publishes_its_result_and_itself(phone_client: Client) -> None:
    with phone_client.events() as events:
        reply = phone_client.post("/execute", {"execution": execution(HOME)})
        result, ran = events.next(), events.next()
    assert (result.event, ran.event) == ("clawperator:result", "clawperator:execution")
    assert list(result.document) == ["deviceId", "envelope"]
    assert result.document["envelope"] == reply.document["envelope"]
    assert list(ran.document) == ["deviceId", "input", "result"]
    assert ran.document["input"] == execution(HOME)
    assert ran.document["result"] == reply.document
    assert result.id != ran.id


def test_a_failed_dispatch_publishes_a_failed_envelope(phone_client: Client, route: Route) -> None:
    route.phone_server.phone.set_fault("offline", "on")
    with phone_client.events() as events:
        reply = phone_client.post("/execute", {"execution": execution(HOME)})
        result, ran = events.next(), events.next()
    assert result.document == {
        "deviceId": "claw-1",
        "envelope": {
            "commandId": "demo-1",
            "taskId": "demo-1",
            "status": "failed",
            "stepResults": [],
            "error": reply.code,
        },
    }
    assert ran.document["result"] == reply.document
    assert reply.document["deviceId"] == "claw-1"


def test_nothing_is_published_for_an_invalid_execution(phone_client: Client) -> None:
    with phone_client.events() as events:
        phone_client.post("/execute", {"execution": {}})
        phone_client.post("/execute", {"execution": execution(HOME, command="valid")})
        assert events.next().document["envelope"]["commandId"] == "valid"


def test_an_execution_for_a_device_that_is_not_there_is_published(phone_client: Client) -> None:
    with phone_client.events() as events:
        reply = phone_client.post("/execute", {"execution": execution(HOME), "deviceId": "claw-9"})
        result, ran = events.next(), events.next()
    assert (reply.status, reply.code) == (404, "DEVICE_NOT_FOUND")
    assert (result.document["deviceId"], result.document["envelope"]["error"]) == ("claw-9", "DEVICE_NOT_FOUND")
    assert (ran.event, ran.document["deviceId"]) == ("clawperator:execution", "claw-9")


def test_a_stream_has_the_media_type_that_clients_compare(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), 30) as connection:
        connection.sendall(client.events_head())
        with connection.makefile("rb") as stream:
            head = b"".join(iter(stream.readline, b"\r\n")).lower()
    assert b"content-type: text/event-stream\r\n" in head


def test_a_password_is_in_no_event(phone_client: Client, route: Route) -> None:
    opened = {"id": "o", "type": "open_app", "params": {"applicationId": "com.android.contacts"}}
    secret = "correct horse battery"
    type_it = {"id": "t", "type": "enter_text", "params": {"text": secret, "matcher": {"role": "textfield"}}}
    route.phone_server.phone.set_fault("offline", "on")  # so that it is not known where the text went
    with phone_client.events() as events:
        phone_client.post("/execute", {"execution": execution(opened, type_it)})
        assert secret not in events.next().data + events.next().data


def test_a_declared_secret_is_in_no_event_and_no_response(
    phone_client: Client, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("TITLE", "Search settings")
    config = Path(config_file())
    config.write_text('secrets = ["TITLE"]\n')
    request.addfinalizer(config.unlink)  # the home is shared
    opened = {"id": "o", "type": "open_app", "params": {"applicationId": "com.android.settings"}}
    click = {"id": "c", "type": "click", "params": {"matcher": {"textEquals": "Search settings"}}}
    look = {"id": "l", "type": "snapshot_ui"}
    with phone_client.events() as events:
        replies = [phone_client.post("/execute", {"execution": execution(opened, look, click)})]
        published = events.next().data + events.next().data
    replies.append(phone_client.get("/screen"))
    assert replies[0].document["envelope"]["status"] == "success"
    assert "Display" in published
    assert "Search settings" not in published
    assert [b"Search settings" in reply.body for reply in replies] == [False, False]


@pytest.mark.parametrize("first", ["enter", "click"])
def test_a_text_for_a_field_that_was_not_found_is_in_no_event(phone_client: Client, first: str) -> None:
    secret = "correct horse battery"
    matcher = {"resourceId": "com.example:id/password"}
    click = {"id": "c", "type": "click", "params": {"matcher": {"textEquals": "never"}}}
    type_it = {"id": "t", "type": "enter_text", "params": {"text": secret, "matcher": matcher}}
    with phone_client.events() as events:
        steps = (type_it,) if first == "enter" else (click, type_it)
        reply = phone_client.post("/execute", {"execution": execution(*steps, timeout=60_000)})
        assert reply.document["envelope"]["stepResults"][0]["data"]["error"] == "NODE_NOT_FOUND"
        assert secret not in events.next().data + events.next().data


def test_missed_events_are_replayed(phone_client: Client) -> None:
    with phone_client.events() as events:
        phone_client.post("/execute", {"execution": execution(HOME, command="seen")})
        events.next()
        last = events.next()
    phone_client.post("/execute", {"execution": execution(HOME, command="missed")})
    with phone_client.events(last.id) as events:
        missed = [events.next(), events.next()]
    assert [event.event for event in missed] == ["clawperator:result", "clawperator:execution"]
    assert missed[0].document["envelope"]["commandId"] == "missed"
    with phone_client.events() as events:  # without an id nothing is replayed
        phone_client.post("/execute", {"execution": execution(HOME, command="new")})
        assert events.next().document["envelope"]["commandId"] == "new"


@pytest.mark.usefixtures("route")
def test_lost_events_are_reported(folder: Path) -> None:
    with running_server(folder, limits=EventLimits(kept_events=2)) as running:
        with running.client.events() as events:
            running.client.post("/execute", {"execution": execution(HOME, command="c0")})
            first = events.next()
        for number in range(1, 4):
            running.client.post("/execute", {"execution": execution(HOME, command=f"c{number}")})
        with running.client.events(first.id) as events:
            lost = events.next()
            assert (lost.event, lost.document["code"], lost.document["lost"]) == (
                "clawperator:lost",
                "EVENTS_LOST",
                5,
            )
            assert events.next().document["envelope"]["commandId"] == "c3"
        with running.client.events("another-server-7") as events:
            lost = events.next()
            assert (lost.event, "lost" in lost.document) == ("clawperator:lost", False)
            assert events.next().document["envelope"]["commandId"] == "c3"


def test_heartbeats_keep_an_idle_connection_alive(folder: Path) -> None:
    with running_server(folder, limits=EventLimits(heartbeat_seconds=0.05)) as running:
        with running.client.events() as events:
            beats = [events.next() for _ in range(3)]
        assert {(beat.event, beat.id, beat.document["code"]) for beat in beats} == {("heartbeat", "", "ALIVE")}


def test_clients_over_the_limit_are_refused(folder: Path) -> None:
    with running_server(folder, limits=EventLimits(clients=1)) as running:
        with running.client.events():
            reply = running.client.get("/events")
            assert (reply.status, reply.code) == (503, "SERVER_BUSY")
            assert reply.headers["retry-after"]
        wait_until(lambda: running.server.app.services.events.client_count == 0)
        with running.client.events():
            pass


def test_stopping_ends_the_streams_with_a_last_event(folder: Path) -> None:
    with running_server(folder) as running, running.client.events() as events:
        running.server.stop()
        last = events.next()
        assert (last.event, last.document["code"]) == ("clawperator:closed", "SERVER_STOPPING")
        with pytest.raises(EOFError):
            events.next()


def wait_until(condition: object, seconds: float = 30) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_slow_client_is_disconnected_and_others_get_every_event(folder: Path) -> None:
    limits = EventLimits(queued_events=4, send_seconds=0.5)
    with running_server(folder, limits=limits) as running:
        hub = running.server.app.services.events
        with socket.socket() as slow, running.client.events() as events:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slow.connect(("127.0.0.1", running.client.port))
            slow.sendall(running.client.events_head())
            wait_until(lambda: hub.client_count == 2)
            count = 0
            deadline = Deadline(HANG_SECONDS)
            while hub.client_count == 2:
                hub.publish({"test": {"number": count, "text": "x" * 100_000}})
                assert events.next().document["number"] == count
                count += 1
                assert deadline.left() > 0
            hub.publish({"test": {"number": count}})
            assert events.next().document["number"] == count
        assert running.client.get("/health").status == 200


def test_a_slow_client_that_reads_again_gets_a_last_event() -> None:
    async def run() -> list[str]:
        hub = EventHub(EventLimits(queued_events=3))
        hub.bind()
        client = hub.subscribe(None)
        for number in range(5):
            hub._publish([("test", b"%d" % number)])
        sent: list[str] = []

        async def send(message: object) -> None:
            assert isinstance(message, dict)
            sent.append(message.get("body", b"").decode())

        async def receive() -> dict[str, str]:
            await asyncio.sleep(3_600)
            return {"type": "http.disconnect"}

        await hub.stream(client, receive, send)
        return sent

    sent = asyncio.run(run())
    assert "event: clawperator:closed" in sent[-1]
    assert "SLOW_CLIENT" in sent[-1]


def test_kept_events_are_limited_in_bytes() -> None:
    async def run() -> int:
        hub = EventHub(EventLimits(kept_bytes=10_000))
        hub.bind()
        for _ in range(100):
            hub._publish([("test", b"x" * 1_000)])
        return sum(len(data) for _, data in hub._kept)

    assert asyncio.run(run()) <= 10_000


def test_events_from_many_threads_arrive_once_and_in_order_of_their_ids(folder: Path) -> None:
    with running_server(folder) as running, running.client.events() as events:
        hub = running.server.app.services.events

        def publish(name: str) -> None:
            for number in range(50):
                hub.publish({"test": {"thread": name, "number": number}})

        threads = [threading.Thread(target=publish, args=(f"t{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        received = [events.next() for _ in range(200)]
        for thread in threads:
            thread.join()
    numbers = [int(event.id.rpartition("-")[2]) for event in received]
    assert numbers == list(range(1, 201))
    for name in ("t0", "t1", "t2", "t3"):
        assert [e.document["number"] for e in received if e.document["thread"] == name] == list(range(50))


def test_no_client_is_accepted_while_the_server_stops() -> None:
    hub = EventHub()
    hub.close()
    with pytest.raises(ClawError) as caught:
        hub.subscribe(None)
    assert caught.value.code == "SERVER_STOPPING"
