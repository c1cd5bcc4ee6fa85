"""The device whose sleep is checked, and what counts as asleep."""

from types import SimpleNamespace

import pytest

from clawperator.device import discovery
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.discovery import known_device, require_awake
from clawperator.errors import ClawError

HERE = Endpoint("127.0.0.1", 1, simulated=True)


@pytest.mark.parametrize(
    ("running", "known"), [([], None), (["claw-7"], Device("claw-7", HERE)), (["claw-1", "claw-2"], None)]
)
def test_only_a_single_simulated_phone_is_known_without_a_name(
    running: list[str], known: Device | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANDROID_SERIAL", raising=False)
    phones = {serial: SimpleNamespace(serial=serial) for serial in running}
    monkeypatch.setattr(discovery, "simulated_phones", lambda: phones)
    monkeypatch.setattr(discovery, "simulated_endpoint", lambda _: HERE)
    assert known_device(None) == known


def test_a_named_device_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "resolve_device", lambda serial: Device(serial or "set", HERE))
    assert known_device("mine") == Device("mine", HERE)
    monkeypatch.setenv("CLAWPERATOR_DEVICE_ID", "mine")
    assert known_device(None) == Device("set", HERE)


@pytest.mark.parametrize(
    ("power", "asleep"),
    [("mWakefulness=Asleep", True), ("mWakefulness=Dozing", True), ("mWakefulness=Awake", False), ("", False)],
)
def test_a_device_that_sleeps_or_dozes_is_asleep(
    power: str, monkeypatch: pytest.MonkeyPatch, *, asleep: bool
) -> None:
    def answer(_: Device, script: str, *, seconds: float) -> ShellAnswer:
        assert (script, seconds) == ("dumpsys power", 5)
        return ShellAnswer(0, f"POWER MANAGER\n  {power}\n".encode(), b"")

    monkeypatch.setattr(discovery, "run_shell", answer)
    if not asleep:
        require_awake(Device("mine", HERE))
        return
    with pytest.raises(ClawError, match="device mine is asleep") as error:
        require_awake(Device("mine", HERE))
    assert error.value.code == "DEVICE_NOT_INTERACTIVE"
    assert error.value.details == {"deviceId": "mine", "wakefulness": power.partition("=")[2]}
    assert error.value.hint.startswith("Run 'adb -s mine shell input keyevent WAKEUP'")
