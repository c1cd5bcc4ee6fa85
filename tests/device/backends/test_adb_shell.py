"""Shell commands of the adb driver: their time, and what ends them."""

import pytest

from clawperator.device.adb.client import Device, ShellAnswer
from clawperator.device.backends import adb_screen, adb_system
from clawperator.device.backends.adb import AdbDriver
from clawperator.device.backends.backend import RunWatch
from clawperator.errors import ClawError
from tests.device.backends.scripted_shell import DEVICE, ScriptedShell, StillClock, connect, reply


@pytest.mark.parametrize(("seconds", "least", "most"), [(600.0, 10.0, 60.0), (8.0, 8.0, 8.0)])
def test_a_command_may_take_a_part_of_a_long_time_and_all_of_a_short_one(
    monkeypatch: pytest.MonkeyPatch, seconds: float, least: float, most: float
) -> None:
    StillClock(monkeypatch)
    phone = ScriptedShell()
    connect(monkeypatch, phone, seconds=seconds).key("back")
    (given,) = phone.seconds
    assert least <= given <= most


@pytest.mark.parametrize(
    ("code", "waited", "reported"),
    [
        ("DEVICE_SHELL_UNAVAILABLE", 10.0, "COMMAND_TIMEOUT"),
        ("DEVICE_SHELL_UNAVAILABLE", 9.0, "DEVICE_SHELL_UNAVAILABLE"),
        ("DEVICE_OFFLINE", 10.0, "DEVICE_OFFLINE"),
    ],
)
def test_a_command_that_the_deadline_cuts_off_is_a_timeout(
    monkeypatch: pytest.MonkeyPatch, code: str, waited: float, reported: str
) -> None:
    clock = StillClock(monkeypatch)

    def run(_: Device, __: str, *, seconds: float) -> ShellAnswer:
        clock.wait(min(waited, seconds))
        raise ClawError(code, "no answer")

    monkeypatch.setattr(adb_screen, "run_shell", run)
    with pytest.raises(ClawError) as error:
        AdbDriver(DEVICE, seconds=10.0).key("back")
    assert error.value.code == reported


def test_nothing_is_sent_after_a_stop_or_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = StillClock(monkeypatch)
    phone = ScriptedShell()
    stopped = connect(monkeypatch, phone, watch=RunWatch(stop=lambda: True))
    late = connect(monkeypatch, phone, seconds=1.0)
    clock.wait(1.0)
    for driver, code in ((stopped, "INTERRUPTED"), (late, "COMMAND_TIMEOUT")):
        with pytest.raises(ClawError) as error:
            driver.key("back")
        assert (error.value.code, error.value.after_effect) == (code, False)
    assert phone.asked == []


# Apps


@pytest.mark.parametrize(("seconds", "limits"), [(600.0, [30.0, 10.0]), (5.0, [5.0, 5.0])])
def test_an_app_is_asked_for_and_closed_in_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, seconds: float, limits: list[float]
) -> None:
    StillClock(monkeypatch)
    given: list[tuple[object, ...]] = []

    def record(device: Device, package: str, *, user: object, seconds: float) -> bool:
        given.append((device.serial, package, user, seconds))
        return False

    monkeypatch.setattr(adb_system, "is_running", record)
    monkeypatch.setattr(adb_system, "force_stop", record)
    driver = connect(monkeypatch, ScriptedShell(), seconds=seconds)
    driver.choose_user(10)
    assert (driver.is_running("com.a"), driver.force_stop("com.a")) == (False, True)
    assert given == [("x", "com.a", 10, limit) for limit in limits]


def test_an_app_of_another_user_is_not_started_by_monkey(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell(monkey=reply("Events injected: 1\n"))
    driver = connect(monkeypatch, phone)
    driver.choose_user(10)
    assert driver.launch("com.a") is False
    assert [script.split()[0] for script in phone.asked] == ["cmd"]
    driver.choose_user(None)
    assert driver.launch("com.a") is True


@pytest.mark.parametrize(
    ("resolved", "started"),
    [
        ("priority=0\n\ncom.a/.Main\n\n", ["com.a/.Main"]),
        ("com.b/.Main\n", []),
        ("com.a/.Old\ncom.b/.Main\n", []),
    ],
)
def test_only_an_activity_of_the_app_itself_is_started(
    monkeypatch: pytest.MonkeyPatch, resolved: str, started: list[str]
) -> None:
    phone = ScriptedShell(cmd=reply(resolved))
    assert connect(monkeypatch, phone).launch("com.a") is bool(started)
    assert [script.rpartition(" ")[2] for script in phone.named("am start")] == started


def test_a_link_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    phone = ScriptedShell()
    driver = connect(monkeypatch, phone)
    assert (driver.view("https://a.example/"), driver.view("http://a\0b")) == (True, False)
    assert phone.asked == ["am start --user current -a android.intent.action.VIEW -d https://a.example/"]
