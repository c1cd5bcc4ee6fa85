"""Whether a command that no process follows has ended on its device."""

import json

import pytest

from clawperator.device.adb.client import Device, Endpoint
from clawperator.device.backends import operator_log
from clawperator.device.backends.operator_log import has_finished
from clawperator.device.run.lease import Holder
from clawperator.errors import RefusedError
from tests.device.adb.scripted_server import OKAY, packet, scripted

OPERATOR = "com.clawperator.operator"


def holder(pid: str = "42", device_time: str = "", endpoint: str = "") -> Holder:
    return Holder(
        1, "c", 0, sent="c.1", operator=OPERATOR, operatorPid=pid, deviceTime=device_time, endpoint=endpoint
    )


def logged(message: str) -> bytes:
    return f"11-15 10:00:00.000    42    42 I Operator: {message}\n".encode()


def result(command_id: str) -> bytes:
    return logged(f"[Clawperator-Result] {json.dumps({'commandId': command_id})}")


def ended(output: bytes, code: int | None = None, *, pid: str = "42", complaint: bytes = b"") -> bool:
    stream = packet(2, complaint) + packet(1, output) + (b"" if code is None else packet(3, bytes([code])))
    with scripted(OKAY, OKAY, after=stream) as device:
        return has_finished(device, holder(pid), 60.0)


@pytest.mark.parametrize(
    ("output", "code", "has_ended"),
    [
        (b"process 42\n" + result("c.1"), None, True),
        (b"process 42\n" + logged("working") + b"----- main\n" + result("c.1"), None, True),
        (b"process 42\n" + result("c.2"), 1, False),
        (b"process 42\n" + logged("working"), 1, False),
        (b"process 42\n", None, False),
        (b"process 42 43\n", 1, False),
        (b"process 43\n", 1, True),
        (b"process 43 42\n", 1, True),
        (b"process \n", 1, True),
        (b"", 5, True),
        (b"", 1, False),
        (b"", None, False),
    ],
)
def test_a_command_has_ended_with_its_result_or_its_process(
    output: bytes, code: int | None, *, has_ended: bool
) -> None:
    assert ended(output, code) is has_ended


def test_without_a_known_process_only_the_result_counts() -> None:
    assert ended(b"process 43\n", 1, pid="") is False
    assert ended(b"process 43\n" + result("c.1"), pid="") is True


def test_complaints_are_not_part_of_the_log() -> None:
    assert ended(b"process 42\n", 1, complaint=b"process 43\n" + result("c.1")) is False


def test_a_simulated_phone_that_was_restarted_runs_nothing() -> None:
    phone = Device("claw-1", Endpoint("127.0.0.1", 1, simulated=True))
    assert has_finished(phone, holder(endpoint="127.0.0.1:2"), 60.0) is True


@pytest.mark.parametrize("error", [RefusedError("closed"), TimeoutError(), ConnectionResetError()])
def test_a_device_that_does_not_answer_may_still_run_it(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def stream(*_: object) -> object:
        raise error

    monkeypatch.setattr(operator_log, "ShellStream", stream)
    assert has_finished(Device("x", Endpoint("127.0.0.1", 1)), holder(), 60.0) is False


@pytest.mark.parametrize(("device_time", "since"), [("1700000000.5", "-T 1700000000.5 "), ("", "")])
def test_the_log_is_read_from_the_time_of_the_command(
    device_time: str, since: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts: list[str] = []

    def stream(_: Device, script: str, __: object) -> object:
        scripts.append(script)
        raise RefusedError("closed")

    monkeypatch.setattr(operator_log, "ShellStream", stream)
    has_finished(Device("x", Endpoint("127.0.0.1", 1)), holder(device_time=device_time), 60.0)
    find = f"P=$(pidof {OPERATOR}) || exit 5; echo process $P"
    assert scripts == [f'{find}; exec logcat -b main -v threadtime {since}--pid="${{P%% *}}"']
