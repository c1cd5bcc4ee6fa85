"""Pairing by wireless debugging, with servers that answer as adb 29 to 36 do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from clawperator._base.notes import listening
from clawperator.device import pairing
from clawperator.device.adb.client import Endpoint
from clawperator.device.adb.server import NoServerError, adb_endpoint, exchange
from clawperator.device.pairing import PairedDevice, check_address, check_code, pair_device
from clawperator.device.run.host_log import log_file
from clawperator.errors import ClawError, RefusedError
from tests.device.adb.scripted_server import Pause, refusal, text
from tests.device.pairing_servers import (
    ADDRESS,
    CODE,
    CONNECT,
    GUID,
    WIRELESS,
    PairingServer,
    paired,
    pairing_server,
)
from tests.phone.adb.real_adb import PROGRAMS, adb_server
from tests.support.hanging import HANG_SECONDS

Pair = Callable[[str, str], bytes | Pause]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PairingServer]:
    with pairing_server() as started:
        use(started, monkeypatch)
        yield started


def use(server: PairingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(server.port))
    monkeypatch.setattr(pairing, "_FOUND_SECONDS", 0)


def failure(pair: Pair, monkeypatch: pytest.MonkeyPatch, seconds: float = HANG_SECONDS) -> ClawError:
    with pairing_server(pair) as server:
        use(server, monkeypatch)
        with pytest.raises(ClawError) as error:
            pair_device(ADDRESS, CODE, seconds=seconds)
    assert error.value.code == "PAIRING_FAILED"
    assert not error.value.retryable
    assert CODE not in str(error.value)
    return error.value


def test_a_device_is_paired_by_the_protocol_of_the_server(server: PairingServer) -> None:
    found = pair_device(ADDRESS, CODE)
    assert f"host:pair:{CODE}:{ADDRESS}" in server.requests
    assert found == PairedDevice(
        paired=True,
        address=ADDRESS,
        guid=GUID,
        nextStep="Run 'adb connect phone.local:<port>' with the port that the device shows under Wireless debugging.",
    )


@pytest.mark.parametrize("serial", [WIRELESS, f"{GUID} (2)._adb-tls-connect._tcp"])
def test_a_device_that_adb_finds_in_the_network_is_named(serial: str, server: PairingServer) -> None:
    server.listed = f"other\tdevice\n{serial}\tdevice\n"
    found = pair_device(ADDRESS, CODE)
    assert found.deviceId == serial
    assert found.nextStep.startswith("Run 'clawperator doctor --device ")


def test_a_device_that_adb_finds_late_is_waited_for(
    server: PairingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing, "_FOUND_SECONDS", HANG_SECONDS)
    monkeypatch.setattr(pairing, "_POLL_SECONDS", 0.01)
    server.listed_later = ["", f"{WIRELESS}\toffline\n", f"{WIRELESS}\tdevice\n"]
    assert pair_device(ADDRESS, CODE).deviceId == WIRELESS


def test_the_device_is_connected_too(server: PairingServer) -> None:
    found = pair_device(ADDRESS, CODE, connect=CONNECT)
    assert server.requests[-1] == f"host:connect:{CONNECT}"
    assert found.deviceId == CONNECT
    assert found.nextStep == f"Run 'clawperator doctor --device {CONNECT}'."


@pytest.mark.parametrize("answer", [f"already connected to {CONNECT}", f"connected to {CONNECT}"])
def test_a_connection_that_exists_is_no_failure(answer: str, server: PairingServer) -> None:
    server.connects = answer
    assert pair_device(ADDRESS, CODE, connect=CONNECT).deviceId == CONNECT


@pytest.mark.parametrize(
    "answer", [f"failed to connect to '{CONNECT}': Connection refused", f"failed to authenticate to {CONNECT}", ""]
)
def test_a_failed_connection_says_that_the_device_is_paired(answer: str, server: PairingServer) -> None:
    server.connects = answer
    with pytest.raises(ClawError) as error:
        pair_device(ADDRESS, CODE, connect=CONNECT)
    assert error.value.code == "DEVICE_CONNECT_FAILED"
    assert error.value.details == {"paired": True, "address": CONNECT}
    assert answer in error.value.message
    assert not error.value.retryable
    assert error.value.after_effect


@pytest.mark.parametrize(
    ("failed", "reason"),
    [
        (RefusedError("unknown host service"), "unknown host service"),
        (NoServerError(), "the adb server ended"),
        (RefusedError("x" * 400), f"{'x' * 299}…"),
    ],
)
def test_a_server_that_does_not_connect_is_quoted(
    server: PairingServer, monkeypatch: pytest.MonkeyPatch, failed: Exception, reason: str
) -> None:
    fail_exchange(monkeypatch, "host:connect:", failed)
    with pytest.raises(ClawError) as error:
        pair_device(ADDRESS, CODE, connect=CONNECT)
    assert error.value.message == f"the device is paired, but adb cannot connect to {CONNECT}: {reason}"
    assert f"host:pair:{CODE}:{ADDRESS}" in server.requests


def fail_exchange(monkeypatch: pytest.MonkeyPatch, service: str, error: Exception) -> None:
    """Let the requests of a service fail with an error; the server answers others."""

    def fail(endpoint: Endpoint, request: str, *, seconds: float) -> str:
        if request.startswith(service):
            raise error
        return exchange(endpoint, request, seconds=seconds)

    monkeypatch.setattr(pairing, "exchange", fail)


def timeout() -> ClawError:
    error = ClawError("ADB_SERVER_FAILED", "no answer")
    error.__cause__ = TimeoutError()
    return error


def test_a_pairing_and_a_connection_without_an_answer_end(
    server: PairingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server
    fail_exchange(monkeypatch, "host:connect:", timeout())
    with pytest.raises(ClawError, match="no answer within") as error:
        pair_device(ADDRESS, CODE, connect=CONNECT)
    assert error.value.code == "DEVICE_CONNECT_FAILED"
    fail_exchange(monkeypatch, "host:pair:", timeout())
    with pytest.raises(ClawError, match="no answer within") as error:
        pair_device(ADDRESS, CODE)
    assert error.value.code == "PAIRING_FAILED"


@pytest.mark.parametrize("service", ["host:pair:", "host:connect:"])
def test_another_failure_of_the_server_is_reported_as_it_is(
    server: PairingServer, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    assert server
    failed = ClawError("ADB_SERVER_FAILED", "an answer that is not of adb")
    fail_exchange(monkeypatch, service, failed)
    with pytest.raises(ClawError) as error:
        pair_device(ADDRESS, CODE, connect=CONNECT)
    assert error.value is failed


def test_a_server_that_ends_while_it_pairs_is_reported(
    server: PairingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server
    fail_exchange(monkeypatch, "host:pair:", NoServerError())
    with pytest.raises(ClawError) as error:
        pair_device(ADDRESS, CODE)
    assert (error.value.code, error.value.hint) == ("PAIRING_FAILED", "Run it again.")
    assert error.value.message == f"pairing with {ADDRESS} failed: the adb server ended"


def test_the_user_sees_what_is_done(server: PairingServer) -> None:
    assert server
    shown: list[str] = []

    def show(text: str, _: str) -> bool:
        shown.append(text)
        return True

    with listening(None, None, show):
        pair_device(ADDRESS, CODE, connect=CONNECT)
    assert shown == [f"pairing with {ADDRESS}", f"connecting to {CONNECT}"]


class Clock:
    """A clock on which only a sleep takes time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("ready_at", "is_found"), [(0.5, True), (100.0, False)])
def test_a_paired_device_is_awaited_for_a_short_time(
    ready_at: float, monkeypatch: pytest.MonkeyPatch, *, is_found: bool
) -> None:
    clock = Clock()

    def ask(_: Endpoint, request: str) -> str:
        assert request in ("host:version", "host:devices")
        return f"{WIRELESS}\t{'device' if clock.now >= ready_at else 'offline'}\n"

    monkeypatch.setattr(pairing, "ask_server", ask)
    monkeypatch.setattr(pairing, "exchange", lambda *_, **__: f"Successfully paired to it [guid={GUID}]")
    monkeypatch.setattr(pairing, "time", clock)
    monkeypatch.setattr("clawperator._base.deadline.time", clock)
    assert pair_device(ADDRESS, CODE).deviceId == (WIRELESS if is_found else UNSET)
    assert 0.5 <= clock.now < 20


@pytest.mark.parametrize("error", [NoServerError(), ClawError("ADB_SERVER_FAILED", "no answer")])
def test_a_paired_device_that_cannot_be_looked_for_has_no_serial(
    server: PairingServer, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(_: Endpoint, request: str) -> str:
        if request == "host:devices":
            raise error
        return "0029"

    assert server
    monkeypatch.setattr(pairing, "ask_server", ask)
    found = pair_device(ADDRESS, CODE)
    assert (found.guid, found.deviceId) == (GUID, UNSET)
    assert found.nextStep.startswith("Run 'adb connect phone.local:<port>'")


# Refusals


@pytest.mark.parametrize(
    "answer",
    [text, refusal, lambda reason: b"OKAY" + refusal(reason)],
    ids=["adb 30", "a refusal", "adb 36"],
)
@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Failed: Wrong password or connection was dropped.", "Check the code and the port"),
        ("Failed: Unable to start pairing client.", "same network"),
        ("Invalid port while parsing address [x]", "same network"),
        ("", "same network"),
        (f"Failed: {CODE} is wrong", "same network"),
        ("x" * 300, "same network"),
    ],
)
def test_a_refused_pairing_has_the_words_of_the_server(
    answer: Callable[[str], bytes], reason: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = failure(lambda *_: answer(reason), monkeypatch)
    shown = reason.removeprefix("Failed: ").replace(CODE, "***") or "the adb server gave no reason"
    assert error.message == f"pairing with {ADDRESS} failed: {shown}"
    assert words in error.hint
    assert "Pair device with pairing code" in error.hint


def test_a_long_refusal_is_shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    error = failure(lambda *_: refusal("x" * 301), monkeypatch)
    assert error.message == f"pairing with {ADDRESS} failed: {'x' * 299}…"


def test_a_success_with_a_status_of_its_own_is_a_success(monkeypatch: pytest.MonkeyPatch) -> None:
    with pairing_server(lambda _, address: b"OKAY" + paired(address)) as server:
        use(server, monkeypatch)
        assert pair_device(ADDRESS, CODE).guid == GUID


def test_a_success_without_a_name_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pairing_server(lambda *_: text("Successfully paired to it")) as server:
        use(server, monkeypatch)
        assert pair_device(ADDRESS, CODE).guid is UNSET


def test_a_device_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    error = failure(lambda *_: Pause(), monkeypatch, seconds=0.1)
    assert error.message == f"pairing with {ADDRESS} failed: no answer within 0.1 s"
    assert "same network" in error.hint


@pytest.mark.parametrize(
    ("version", "words", "hint"),
    [
        ("Version 29.0.6-debian", "adb 29.0.6 is too old to pair", "platform-tools 30 or newer"),
        ("Version 30.0.0-6374843", "the running adb server is too old", "adb kill-server"),
        ("Version 36.0.0-13206524", "the running adb server is too old", "adb kill-server"),
        ("nonsense", "this adb is too old to pair", "platform-tools 30 or newer"),
    ],
)
def test_an_adb_that_cannot_pair_is_named(
    version: str, words: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adb = tmp_path / "adb"
    adb.write_text(f"#!/bin/sh\necho Android Debug Bridge version 1.0.41\necho {version}\n")
    adb.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(adb))
    error = failure(lambda *_: refusal("unknown host service"), monkeypatch)
    assert words in error.message
    assert hint in error.hint


def test_without_an_adb_program_the_server_is_too_old_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "too old to pair" in failure(lambda *_: refusal("unknown host service"), monkeypatch).message


def test_without_adb_nothing_is_paired() -> None:
    with pytest.raises(ClawError) as error:
        pair_device(ADDRESS, CODE)
    assert error.value.code == "ADB_NOT_FOUND"


def test_the_host_log_has_the_address_and_not_the_code(
    server: PairingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    pair_device(ADDRESS, CODE)
    with pytest.raises(ClawError):
        pair_device(ADDRESS, "000000")
    lines = [json.loads(line) for line in Path(log_file()).read_text().splitlines()]
    assert [(line["event"], line["address"]) for line in lines] == [
        ("device.paired", ADDRESS),
        ("device.pairing_failed", ADDRESS),
    ]
    assert server.requests
    assert not any(code in str(lines) for code in (CODE, "000000"))


# Addresses and codes


@pytest.mark.parametrize("address", [ADDRESS, "[fe80::1%wlan0]:37123", "phone.local:1", "localhost:65535"])
def test_an_address_has_a_host_and_a_port(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize(
    "address",
    ["", "phone.local", "phone.local:", ":37123", "::1:37123", "host:0", "host:65536", "a b:1", "h:1:2"],
)
def test_another_address_is_a_usage_error(address: str) -> None:
    with pytest.raises(ClawError) as error:
        check_address(address)
    assert error.value.code == "USAGE"
    assert "phone.local:37123" in error.value.hint


@pytest.mark.parametrize("code", [CODE, f" {CODE}\r\n", "B!x9-qr", "x" * 64])
def test_a_code_is_taken_without_its_spaces(code: str) -> None:
    assert check_code(code) == code.strip()


@pytest.mark.parametrize("code", ["", " \n", "12:34", "12 34", "1\x1b2", "é12345", "x" * 65])
def test_another_code_is_refused_and_not_repeated(code: str) -> None:
    with pytest.raises(ClawError) as error:
        check_code(code)
    assert error.value.code == "USAGE"
    what = "this is not a pairing code" if code.strip() else "no pairing code was given"
    assert error.value.message == what
    assert not code.strip() or code.strip() not in str(error.value)


@given(st.text())
def test_a_code_never_changes_the_request(code: str) -> None:
    try:
        taken = check_code(code)
    except ClawError:
        return
    assert f"host:pair:{taken}:{ADDRESS}".split(":", 3) == ["host", "pair", taken, ADDRESS]


# Real servers


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_real_server_refuses_an_address_where_nobody_pairs(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with adb_server(program, tmp_path) as adb:
        monkeypatch.setenv("ADB_PATH", adb.program)
        monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(adb.port))
        with pytest.raises(ClawError) as error:
            pair_device("127.0.0.1:1", CODE, seconds=HANG_SECONDS)
        if "too old to pair" not in error.value.message:
            with pytest.raises(ClawError, match="Connection refused"):
                pairing._connect(adb_endpoint(), "127.0.0.1:1")
    assert error.value.code == "PAIRING_FAILED"
    assert CODE not in str(error.value)
