"""Requests that only read a device wait for their turn."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawperator.device.run.lease import lease
from tests.serve.http.test_contract_routes import HOME, execution
from tests.support.hanging import HANG_SECONDS, wait_until
from tests.support.http_client import Client, Reply, RunningServer, running_server
from tests.support.routes import Route

# As many requests as wait, and the one whose turn it is.
QUEUE = 16 + 1


@pytest.fixture
def running(route: Route, folder: Path) -> Iterator[RunningServer]:  # noqa: ARG001 - the phone it finds
    with running_server(folder) as server:
        yield server


@contextmanager
def reading(client: Client, count: int) -> Iterator[list[int]]:
    """Reads of a phone that another command uses until the end of the block; the list gets their statuses."""
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(read(client).status)) for _ in range(count)]
    with lease("claw-1", "other", 5, action="sleep"):
        for thread in threads:
            thread.start()
        yield statuses
    for thread in threads:
        thread.join(HANG_SECONDS)


def read(client: Client) -> Reply:
    return client.post("/snapshot", {"deviceId": "claw-1"})


def wait_for_waiting(running: RunningServer, count: int) -> None:
    wait_until(lambda: running.server.app.turns.waiting("claw-1") == count)


def test_reads_of_one_phone_wait_for_their_turn(running: RunningServer) -> None:
    with reading(running.client, 10) as statuses:
        wait_for_waiting(running, 9)
    assert statuses == [200] * 10
    assert running.server.app.turns.waiting("claw-1") == 0


def test_more_reads_than_may_wait_are_423(running: RunningServer) -> None:
    with reading(running.client, QUEUE) as statuses:
        wait_for_waiting(running, QUEUE - 1)
        refused = read(running.client)
        assert (refused.status, refused.code) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
        assert refused.document["error"]["details"]["commandId"] == "other"
        assert statuses == []
    assert statuses == [200] * QUEUE


def test_a_read_waits_no_longer_than_its_own_timeout(running: RunningServer) -> None:
    body = {"deviceId": "claw-1", "execution": execution({"id": "a", "type": "snapshot_ui"}, timeout=1000)}
    with reading(running.client, 1) as statuses:
        wait_until(lambda: not running.server.app.services.workers.is_idle)
        reply = running.client.post("/execute", body)
        assert (reply.status, reply.code) == (423, "EXECUTION_CONFLICT_IN_FLIGHT")
        assert statuses == []
    assert statuses == [200]


def test_a_request_that_acts_does_not_wait(running: RunningServer) -> None:
    with reading(running.client, 2) as statuses:
        wait_for_waiting(running, 1)
        assert running.client.post("/execute", {"execution": execution(HOME)}).status == 423
        assert statuses == []
    assert statuses == [200] * 2


def test_a_client_that_hangs_up_leaves_the_queue(running: RunningServer) -> None:
    body = json.dumps({"deviceId": "claw-1"})
    head = (
        f"POST /snapshot HTTP/1.1\r\nHost: 127.0.0.1:{running.client.port}\r\n"
        f"Authorization: Bearer {running.client.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with reading(running.client, 1) as statuses:
        wait_until(lambda: not running.server.app.services.workers.is_idle)
        with socket.create_connection(("127.0.0.1", running.client.port)) as leaving:
            leaving.sendall((head + body).encode())
            wait_for_waiting(running, 1)
        wait_for_waiting(running, 0)
    assert statuses == [200]
