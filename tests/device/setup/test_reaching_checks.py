"""The doctor's checks of the adb server and of the connection to a device."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawperator._base.deadline import limited
from clawperator.contract.wire import OPERATOR_PACKAGE
from clawperator.device import discovery
from clawperator.device.adb import binary
from clawperator.device.adb.client import NO_SERIAL
from clawperator.device.device_states import RULES_FILE
from clawperator.device.discovery import resolve_device
from clawperator.device.setup.device_checks import discover
from clawperator.device.setup.doctor import run_doctor
from clawperator.device.setup.host_checks import Check, check_adb, check_server
from clawperator.errors import ClawError
from tests.device.adb.scripted_server import Pause, answering, refusal, text
from tests.device.test_device_states import STATES

Answers = Callable[[Callable[[str], bytes | Pause]], int]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    """Start an adb server that answers like this, beside an adb program that cannot be used. Returns its port."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path))
    monkeypatch.setattr(discovery, "_PASSING_SECONDS", 0.01)
    with ExitStack() as stack:

        def start(answer: Callable[[str], bytes | Pause]) -> int:
            port: int = stack.enter_context(answering(answer)).getsockname()[1]
            monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(port))
            return port

        yield start


def steps(check: Check) -> list[str]:
    return [step.value for step in check.fix.steps] if check.fix else []


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("serial", ["a b", None])
def test_a_state_has_the_same_code_and_hint_as_in_commands(
    state: str, serial: str | None, answers: Answers
) -> None:
    answers(lambda _: text(f"a b\t{state}\n"))
    check, found = discover(serial)
    with pytest.raises(ClawError) as error:
        resolve_device(serial)
    assert found is None
    assert check.status == "fail"
    assert check.code == error.value.code == STATES[state][0]
    assert steps(check) == [error.value.hint]
    assert check.evidence == error.value.details


def test_missing_permissions_come_with_the_rule(answers: Answers) -> None:
    answers(lambda _: text("pixel\tno permissions (user in plugdev group; are your udev rules wrong?)\n"))
    check, _ = discover(None)
    assert check.fix is not None
    assert check.fix.title == "Allow this user to open the USB device"
    assert RULES_FILE in steps(check)[0]


def test_an_unauthorized_device_is_what_most_likely_is_meant(answers: Answers) -> None:
    answers(lambda _: text("old\toffline\npixel\tunauthorized\n"))
    check, _ = discover(None)
    assert check.code == "DEVICE_UNAUTHORIZED"
    assert check.deviceGuidance is not None


def test_a_device_that_is_about_to_be_ready_is_waited_for(
    answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "_PASSING_SECONDS", 60)
    states = iter(["connecting", "connecting", "device"])
    answers(lambda _: text(f"pixel\t{next(states)}\n"))
    check, serial = discover("pixel")
    assert (check.status, serial) == ("pass", "pixel")


def test_devices_with_the_same_serial_are_reported_as_by_commands(answers: Answers) -> None:
    short, long = f"{NO_SERIAL}\tdevice\n", f"{NO_SERIAL}     device usb:1-1 transport_id:1\n"
    answers(lambda request: text((long if request == "host:devices-l" else short) * 2))
    check, serial = discover(NO_SERIAL)
    assert serial is None
    assert check.code == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    assert steps(check) == ["Choose one by its USB path, for example usb:1-1."]


def test_a_device_may_be_chosen_by_its_path(answers: Answers) -> None:
    short, long = "pixel\tdevice\n", "pixel     device usb:1-1 transport_id:1\n"
    answers(lambda request: text(long if request == "host:devices-l" else short))
    check, serial = discover("usb:1-1")
    assert (check.status, serial) == ("pass", "pixel")


# The adb server


def test_a_running_server_passes_with_its_address(answers: Answers) -> None:
    port = answers(lambda _: text("0029"))
    check = check_server(None)
    assert (check.status, check.summary) == ("pass", f"the adb server is running at localhost:{port}")


@pytest.mark.parametrize("answer", [Pause(), refusal("no"), b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_a_server_that_does_not_answer_fails_at_once(
    answer: bytes | Pause, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "run_adb", lambda *_, **__: pytest.fail("it runs already"))
    port = answers(lambda _: answer)
    with limited(0.1 if isinstance(answer, Pause) else 60):
        check = check_server(None)
        beside_phone = check_server("claw-1")
    assert (check.status, check.code) == ("fail", "ADB_SERVER_FAILED")
    assert f"localhost:{port}" in check.summary
    assert steps(check) == ["adb kill-server", "adb start-server"]
    assert beside_phone.status == "warn"


def test_an_address_that_cannot_be_used_is_the_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adb = tmp_path / "adb"
    adb.write_text("#!/bin/sh\necho Android Debug Bridge version 1.0.41\n")
    adb.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(adb))
    monkeypatch.setenv("ADB_SERVER_SOCKET", "tcp:::1:5037")
    assert check_adb(None).status == "pass"
    check = check_server(None)
    assert (check.status, check.code) == ("fail", "CONFIG_INVALID")
    assert "unset ADB_SERVER_SOCKET" in steps(check)[0]
    assert run_doctor(None, OPERATOR_PACKAGE).checks[-1] == check


def test_a_server_of_another_computer_is_not_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.support.unused_port import UNUSED_PORT

    monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:[::1]:{UNUSED_PORT}")
    check = check_server(None)
    assert check.code == "ADB_SERVER_FAILED"
    assert "adb -a nodaemon server" in steps(check)[0]
    assert check_server("claw-1").status == "pass"


def test_fixing_never_kills_the_server_of_another_computer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.support.unused_port import UNUSED_PORT

    called = tmp_path / "called"
    adb = tmp_path / "adb"
    adb.write_text(f'#!/bin/sh\necho "$1" >> {called}\n')
    adb.chmod(0o755)
    monkeypatch.setenv("ADB_PATH", str(adb))
    monkeypatch.setenv("ADB_SERVER_SOCKET", f"tcp:[::1]:{UNUSED_PORT}")
    report = run_doctor(None, OPERATOR_PACKAGE, fix=True)
    assert isinstance(report.repairs, list)
    assert [(repair.checkId, repair.ok) for repair in report.repairs] == [("host.adb.server", False)]
    assert set(called.read_text().split()) == {"version"}
