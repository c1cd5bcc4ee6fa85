import socket
import time
from collections.abc import Callable, Iterator

import pytest

from clawperator._base.deadline import Deadline, limited
from clawperator._base.notes import listening
from clawperator.device.adb.client import (
    Connection,
    Device,
    Endpoint,
    ShellAnswer,
    ShellStream,
    open_service,
    run_shell,
    simulated_address,
)
from clawperator.device.adb.server import exchange
from clawperator.errors import ClawError, RefusedError
from clawperator.testing import simulated_phone
from tests.device.adb.scripted_server import OKAY, Pause, answering, packet, refusal, scripted, text
from tests.support.adb_services import InputStream, exec_out
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
    with InputStream(phone, "cat", Deadline(5)) as stream:
        stream.send(b"x" * 200_000)
        stream.end_input()
        assert sum(len(data) for _, data in stream.packets()) == 200_000
        assert stream.code == 0


def test_raw_output_is_not_changed(phone: Device) -> None:
    assert exec_out(phone, r"printf '\r\n\0\377'", seconds=5) == b"\r\n\0\xff"


def test_too_much_output_of_a_command_is_truncated(phone: Device) -> None:
    with pytest.raises(ClawError, match="more than 1000 bytes") as error:
        run_shell(phone, "head -c 100000 /dev/zero", seconds=5, max_bytes=1000)
    assert code_of(error) == "DEVICE_SHELL_UNAVAILABLE"


def test_as_much_output_as_allowed_is_taken(phone: Device) -> None:
    script = "head -c 1000 /dev/zero"
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


def test_a_refused_shell_is_explained_in_a_short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float | None] = []
    connect = Connection.__init__

    def connect_and_keep(connection: Connection, endpoint: Endpoint, deadline: Deadline) -> None:
        left.append(deadline.remaining)
        connect(connection, endpoint, deadline)

    monkeypatch.setattr(Connection, "__init__", connect_and_keep)
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    with answering(old_adbd(b"30\n")) as listener, pytest.raises(ClawError, match="closed"):
        run_shell(Device("pixel", Endpoint(*listener.getsockname())), "true", seconds=50)
    first, *questions = left
    assert first == 50.0
    assert len(questions) == 2
    assert all(seconds is not None and seconds < 10 for seconds in questions)


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


# Connecting


def test_connecting_takes_a_part_of_a_long_time_and_all_of_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def refuse(_: tuple[str, int], seconds: float) -> socket.socket:
        waits.append(seconds)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)
    for seconds in (60.0, 2.0):
        with pytest.raises(ConnectionRefusedError):
            Connection(Endpoint("desk", 5037), Deadline(seconds, lambda: 0.0))
    assert 2.0 < waits[0] < 30.0
    assert waits[1] == 2.0


def test_an_ip_address_needs_no_name_resolution(monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted(OKAY) as device, monkeypatch.context() as patch:
        patch.setattr(socket, "create_connection", lambda *_: pytest.fail("it resolves names"))
        with Connection(device.endpoint, Deadline(HANG_SECONDS)) as it:
            it.request("host:version")


class RefusedSocket:
    """A socket whose connection is refused."""

    log: list[object]

    def __init__(self, family: int, kind: int) -> None:
        self.log += [(family, kind)]

    def settimeout(self, seconds: float) -> None:
        self.log += [seconds]

    def connect(self, address: object) -> None:
        self.log += [address]
        raise ConnectionRefusedError(str(address))

    def close(self) -> None:
        self.log += ["closed"]


def test_localhost_is_tried_by_both_protocols_and_each_socket_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    RefusedSocket.log = []
    monkeypatch.setattr(socket, "socket", RefusedSocket)
    with pytest.raises(ConnectionRefusedError, match=r"127\.0\.0\.1"):
        Connection(Endpoint("localhost", 5037), Deadline(2.0, lambda: 0.0))
    kind = socket.SOCK_STREAM
    assert RefusedSocket.log == [
        *((socket.AF_INET, kind), 2.0, ("127.0.0.1", 5037), "closed"),
        *((socket.AF_INET6, kind), 2.0, ("::1", 5037), "closed"),
    ]


def test_small_requests_are_not_held_back() -> None:
    with scripted(OKAY) as device, Connection(device.endpoint, Deadline(HANG_SECONDS)) as it:
        assert it._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


# Messages


def test_a_request_has_at_most_as_many_bytes_as_four_digits_can_count() -> None:
    with scripted(OKAY) as device:
        with Connection(device.endpoint, Deadline(HANG_SECONDS)) as it:
            it.request("x" * 65_535)
        with Connection(device.endpoint, Deadline(HANG_SECONDS)) as it, pytest.raises(ClawError) as error:
            it.request("é" * 32_768)
    assert error.value.message == "the request has 65536 bytes; adb allows 65535"


@pytest.mark.parametrize("head", [b"", OKAY], ids=["refused", "refused by the service"])
def test_a_long_refusal_is_cut(head: bytes) -> None:
    with scripted(head + refusal("x" * 600)) as device, pytest.raises(RefusedError) as error:
        exchange(device.endpoint, "host:connect:a", seconds=HANG_SECONDS)
    assert str(error.value) == "x" * 499 + "…"


def test_a_status_of_the_service_before_its_answer_is_left_out() -> None:
    with scripted(OKAY + text("done")) as device, Connection(device.endpoint, Deadline(HANG_SECONDS)) as it:
        it.request("host:connect:a")
        assert it.read_answer() == "done"


def test_a_message_is_read_in_parts() -> None:
    with scripted(OKAY + b"abcdef") as device, Connection(device.endpoint, Deadline(HANG_SECONDS)) as it:
        it.request("host:version")
        assert it.read_exactly(1) == b"a"
        assert it.read_part(0) == b""
        assert it.read_part(2) == b"bc"
        assert it.read_exactly(1) == b"d"
        assert it.read_some() == b"ef"
        assert it.read_part(0) == b""
        assert it.read_some() == b""
        with pytest.raises(ConnectionError, match="closed in the middle of a message"):
            it.read_part(1)


def test_nothing_is_sent_or_read_after_the_deadline() -> None:
    now = [0.0]
    with scripted(OKAY) as device, Connection(device.endpoint, Deadline(HANG_SECONDS, lambda: now[0])) as it:
        it.write(b"0001")
        now[0] = HANG_SECONDS
        with pytest.raises(TimeoutError):
            it.write(b"x")
        now[0] = 0.0
        it.write(b"x")
        now[0] = HANG_SECONDS
        with pytest.raises(TimeoutError):
            it.read_exactly(4)


# Services


@pytest.fixture
def closes(monkeypatch: pytest.MonkeyPatch) -> list[Connection]:
    """The connections that were closed."""
    closed: list[Connection] = []
    close = Connection.close

    def close_and_keep(connection: Connection) -> None:
        closed.append(connection)
        close(connection)

    monkeypatch.setattr(Connection, "close", close_and_keep)
    return closed


@pytest.mark.parametrize(
    "answers",
    [(refusal("device offline"),), (OKAY, refusal("closed")), (OKAY, b"HTTP")],
    ids=["no device", "no service", "no adb server"],
)
def test_a_service_that_cannot_be_opened_leaves_no_connection(
    answers: tuple[bytes, ...], closes: list[Connection]
) -> None:
    with scripted(*answers) as device, pytest.raises((ClawError, RefusedError, ConnectionError)):
        open_service(device, "sync:", Deadline(HANG_SECONDS))
    assert len(closes) == 1


def test_a_shell_that_is_left_leaves_no_connection(closes: list[Connection]) -> None:
    with scripted(OKAY, OKAY) as device, ShellStream(device, "cat", Deadline(HANG_SECONDS)):
        assert closes == []
    assert len(closes) == 1


@pytest.mark.parametrize(("answers", "reached"), [((refusal("offline"),), 0), ((OKAY, refusal("closed")), 1)])
def test_a_caller_knows_whether_the_service_may_have_begun(answers: tuple[bytes, ...], reached: int) -> None:
    calls: list[int] = []
    with scripted(*answers) as device, pytest.raises((ClawError, RefusedError)):
        open_service(device, "sync:", Deadline(HANG_SECONDS), before_request=lambda: calls.append(1))
    assert len(calls) == reached


def test_other_packets_are_left_out_and_an_exit_without_a_code_is_255() -> None:
    stream = packet(0, b"in") + packet(1, b"") + packet(2, b"err") + packet(4, b"x") + packet(3, b"")
    with scripted(OKAY, OKAY, after=stream) as device:
        assert run_shell(device, "true", seconds=HANG_SECONDS) == ShellAnswer(255, b"", b"err")


def test_a_shell_that_has_ended_has_no_more_packets() -> None:
    with (
        scripted(OKAY, OKAY, after=packet(3, b"\7")) as device,
        ShellStream(device, "true", Deadline(HANG_SECONDS)) as stream,
    ):
        assert list(stream.packets()) == list(stream.packets()) == []
        assert stream.code == 7


def test_the_output_of_a_command_has_a_limit_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = [(False, b"x" * (2**24 - 1)), (True, b"x"), (True, b"x")]

    def packets(stream: ShellStream) -> Iterator[tuple[bool, bytes]]:
        stream.code = 0
        yield from pieces

    monkeypatch.setattr(ShellStream, "packets", packets)
    with scripted(OKAY, OKAY) as device:
        with pytest.raises(ClawError, match="more than 16777216 bytes of output"):
            run_shell(device, "true", seconds=HANG_SECONDS)
        pieces.pop()
        assert len(run_shell(device, "true", seconds=HANG_SECONDS).stdout) == 2**24 - 1


def test_a_trace_has_the_program_its_result_and_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    moments = iter([10.0, 12.5])
    with (
        scripted(OKAY, OKAY, after=packet(1, b"abc") + packet(3, b"\1")) as device,
        listening(None, lines.append),
        monkeypatch.context() as patch,
    ):
        # The deadlines have the machine's clock, commands that are measured this one.
        patch.setattr(
            "clawperator.device.adb.client.time", type("Clock", (), {"monotonic": lambda: next(moments)})
        )
        run_shell(device, "input text secret", seconds=HANG_SECONDS)
    assert lines == ["shell input: exit code 1 after 2500 ms"]


def test_a_command_that_fails_names_its_program_but_not_its_arguments() -> None:
    with answering(old_adbd(b"30\n")) as listener:
        device = Device("pixel", Endpoint(*listener.getsockname()))
        with pytest.raises(ClawError) as error:
            run_shell(device, "input text secret", seconds=HANG_SECONDS)
        assert error.value.details == {"command": "input"}
        assert error.value.message == "device pixel did not complete a shell command: closed"
        assert "'clawperator doctor --device pixel'" in error.value.hint


# Values


@pytest.mark.parametrize(("simulated", "address"), [(True, "127.0.0.1:5038"), (False, "")])
def test_only_a_simulated_phone_has_an_address_of_its_own(*, simulated: bool, address: str) -> None:
    assert simulated_address(Device("a", Endpoint("127.0.0.1", 5038, simulated=simulated))) == address


def test_an_adb_server_is_a_real_one_by_default() -> None:
    assert simulated_address(Device("a", Endpoint("127.0.0.1", 5038))) == ""


def test_an_answer_is_shown_in_one_short_line() -> None:
    answer = ShellAnswer(1, b"a\nb" + b"x" * 600, b"")
    assert repr(answer) == f"<ShellAnswer 1: 'a b{'x' * 76}…'>"
    assert answer.complaint == f"a b{'x' * 496}…"
    assert ShellAnswer(1, b"out", b"err\n").complaint == "err"
