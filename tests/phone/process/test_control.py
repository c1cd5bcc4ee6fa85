"""The control channel of a simulated phone: invalid requests get a typed answer, and nothing is logged."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from clawperator._base.home import PhoneRecord
from clawperator.errors import ClawError
from clawperator.phone.process import control
from clawperator.phone.process.server import HOST, PhoneServer, PhoneServerConfig
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(scope="module")
def server() -> Iterator[PhoneServer]:
    phone_server = PhoneServer(PhoneServerConfig(serial="claw-1"))
    phone_server.open()
    yield phone_server
    phone_server.close()


def ask(server: PhoneServer, sent: bytes) -> Any:
    """The answer to these bytes; None when the connection is closed without one."""
    with socket.create_connection((HOST, server.control_port), HANG_SECONDS) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        data = b""
        while part := connection.recv(65_536):
            data += part
    return json.loads(data) if data else None


def with_token(server: PhoneServer, **members: Any) -> bytes:
    return json.dumps({"token": server.token, **members}).encode() + b"\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\n",
        b"\xff\xfe\n",
        b'{"token":"\xff"}\n',
        b'{"token":"\\ud800","command":"status"}\n',
        b"[" * 60_000 + b"\n",
        b'{"token":' + b"9" * 60_000 + b"}\n",
        b'{"token":"' + b"x" * 70_000 + b'","command":"status"}\n',
        b'{"token":1,"command":"status"}\n',
        b'{"token":"another","command":"status"}\n',
    ],
)
def test_a_request_that_cannot_be_read_gets_no_answer(
    server: PhoneServer, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    assert ask(server, sent) is None
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("fault", {"zzz": 1}),
        ("fault", {"self": 1}),
        ("fault", {"name": ["x"], "setting": {}}),
        ("fault", {"name": "latency", "setting": 200}),
        ("status", {"name": "latency"}),
        ("screenshot", {"self": 1}),
        ("no such request", {}),
        ("status", 7),
        (7, {}),
    ],
)
def test_wrong_arguments_are_a_usage_error(
    server: PhoneServer, command: Any, arguments: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    answer = ask(server, with_token(server, command=command, arguments=arguments))
    assert (answer["ok"], answer["error"]["code"]) == (False, "USAGE")
    assert capfd.readouterr().err == ""


def test_a_defect_of_the_phone_is_a_typed_error(
    server: PhoneServer, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full() -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(server.phone, "screenshot", full)
    answer = ask(server, with_token(server, command="screenshot"))
    assert answer["error"]["code"] == "UNKNOWN"
    assert "No space left" in answer["error"]["message"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("answer", [b"", b"\xff\n", b"[]\n", b'{"ok":1}\n', b'{"ok":false}\n', b"[" * 60_000])
def test_an_unreadable_answer_is_a_typed_error(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_read_line", lambda *_: answer)
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        record = PhoneRecord("claw-1", 1, 0, HOST, 0, 0, port, "word", 0, "com.clawperator.operator", [])
        with pytest.raises(ClawError) as raised:
            control.request(record, "status")
    assert raised.value.code in ("PHONE_NOT_ANSWERING", "UNKNOWN")
