import time
from collections.abc import Callable, Iterator

import pytest

from clawperator._deadline import Deadline, limited
from clawperator.device.adb.client import (
    Connection,
    Device,
    Endpoint,
    ShellStream,
    exec_out,
    open_service,
    run_shell,
)
from clawperator.errors import ClawError, RefusedError
from clawperator.testing import simulated_phone
from tests.device.adb.scripted_server import OKAY, Pause, answering, packet, refusal, scripted, text
from tests.support.fast_clock import SkippingClock
from tests.support.hanging import HANG_SECONDS


@pytest.fixture(scope="module")
def phone() -> Iterator[Device]:
    with simulated_phone(clock=SkippingClock()) as simulated, simulated.serve() as doors:
        yield Device("claw-1", Endpoint("127.0.0.1", doors.server_port, simulated=True))


def code_of(error: pytest.ExceptionInfo[ClawError]) -> str:
    return error.value.code


def test_output_errors_and_exit_code_come_apart(phone: Device) -> None:
    answer = run_shell(phone, "echo out; echo err >&2; exit 7", seconds=5)
    assert (answer.code, answer.stdout, answer.stderr) == (7, b"out\n", b"err\n")
    assert (answer.text, answer.complaint) == ("out\n", "err")


def test_a_command_is_given_input(phone: Device) -> None:
    with ShellStream(phone, "cat", Deadline(5)) as stream:
        stream.send(b"x" * 200_000)
        stream.end_input()
        assert sum(len(data) for _, data in stream.packets()) == 200_000
        assert stream.code == 0


def test_raw_output_is_not_changed(phone: Device) -> None:
    assert exec_out(phone, r"printf '\r\n\0\377'", seconds=5) == b"\r\n\0\xff"


def test_too_much_output_of_a_command_is_truncated(phone: Device) -> None:
    for run in (run_shell, exec_out):
        with pytest.raises(ClawError, match="more than 1000 bytes") as error:
            run(phone, "head -c 100000 /dev/zero", seconds=5, max_bytes=1000)
        assert code_of(error) == "DEVICE_SHELL_UNAVAILABLE"


def test_as_much_output_as_allowed_is_taken(phone: Device) -> None:
    script = "head -c 1000 /dev/zero"
    assert exec_out(phone, script, seconds=5, max_bytes=1000) == b"\0" * 1000
    assert run_shell(phone, script, seconds=5, max_bytes=1000).stdout == b"\0" * 1000


def test_a_command_that_does_not_end_is_left_at_its_deadline(phone: Device) -> None:
    start = time.monotonic()
    with pytest.raises(ClawError, match="timeout") as error:
        run_shell(phone, "sleep 600", seconds=0.2)
    assert code_of(error) == "DEVICE_SHELL_UNAVAILABLE"
    assert time.monotonic() - start < HANG_SECONDS


def test_a_command_line_adb_cannot_carry_is_refused_at_once(phone: Device) -> None:
    with pytest.raises(ClawError) as error:
        run_shell(phone, "echo " + "x" * 70_000, seconds=5)
    assert code_of(error) == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set", "DEVICE_UNAUTHORIZED"),
        ("device offline", "DEVICE_OFFLINE"),
        ("device 'scripted' not found", "DEVICE_NOT_FOUND"),
    ],
)
def test_an_unreachable_device_is_reported_by_its_state(reason: str, code: str) -> None:
    with scripted(refusal(reason)) as device, pytest.raises(ClawError) as error:
        open_service(device, "shell:", Deadline(5))
    assert code_of(error) == code
    assert error.value.hint


def test_a_refused_service_reports_the_reason() -> None:
    with scripted(OKAY, refusal("closed")) as device, pytest.raises(RefusedError, match="closed"):
        open_service(device, "nothing:", Deadline(5))


def old_adbd(sdk: bytes | None, features: str = "") -> Callable[[str], bytes]:
    """A server with a device that knows no shell protocol, and runs this API level; None: it does not report one."""

    def answer(request: str) -> bytes:
        if request.startswith("host:transport:"):
            return OKAY
        if request.endswith(":features"):
            return text(features)
        if request == "shell:getprop ro.build.version.sdk" and sdk is not None:
            return OKAY + sdk
        return refusal("closed")

    return answer


@pytest.mark.parametrize(
    ("sdk", "name"),
    [
        (b"23\r\n", "Android 6.0"),
        (b"19\n", "Android 4.4"),
        (None, "Android before 7.0"),
        (b"", "Android before 7.0"),
        (b"\n", "Android before 7.0"),
    ],
)
def test_a_device_without_the_shell_protocol_is_refused_by_the_name_of_its_android(
    sdk: bytes | None, name: str
) -> None:
    with answering(old_adbd(sdk)) as listener, limited(0.2), pytest.raises(ClawError) as error:
        run_shell(Device("nexus", Endpoint(*listener.getsockname())), "true", seconds=5)
    assert code_of(error) == "ANDROID_VERSION_UNSUPPORTED"
    assert error.value.message == f"device nexus runs {name}; Android 7.0 to 16 are supported"


@pytest.mark.parametrize(("sdk", "features"), [(b"30\n", "cmd,shell_v2"), (None, "shell_v2"), (b"30\n", "")])
def test_a_refused_shell_of_a_supported_android_is_another_failure(sdk: bytes | None, features: str) -> None:
    with answering(old_adbd(sdk, features)) as listener, pytest.raises(ClawError, match="closed") as error:
        run_shell(Device("pixel", Endpoint(*listener.getsockname())), "true", seconds=5)
    assert code_of(error) == "DEVICE_SHELL_UNAVAILABLE"


@pytest.mark.parametrize(
    "stream",
    [b"", packet(1, b"half"), packet(1, b"half")[:-1], bytes([1, 255, 255, 255, 127]) + b"x"],
    ids=["at once", "without exit code", "in a packet", "in a packet that claims to be huge"],
)
def test_a_stream_that_ends_early_is_an_error(stream: bytes) -> None:
    with scripted(OKAY, OKAY, after=stream) as device, pytest.raises(ClawError) as error:
        run_shell(device, "true", seconds=5)
    assert code_of(error) == "DEVICE_SHELL_UNAVAILABLE"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b"OK", b"FAILzzzz"])
def test_another_server_at_the_port_is_rejected(answer: bytes) -> None:
    with (
        scripted(answer) as device,
        pytest.raises(ConnectionError),
        Connection(device.endpoint, Deadline(5)) as it,
    ):
        it.request("host:version")


def test_a_server_that_falls_silent_is_left_at_the_deadline() -> None:
    with scripted(OKAY, Pause()) as device, pytest.raises(TimeoutError):
        open_service(device, "shell:", Deadline(0.2))


def test_a_deadline_that_has_passed_leaves_nothing() -> None:
    deadline = Deadline(0)
    assert deadline.is_over
    with pytest.raises(TimeoutError):
        deadline.left()
