"""Injected faults, with seeded random numbers."""

import pytest

from clawperator.errors import ClawError
from clawperator.phone.core.faults import FAULTS, Faults, read_setting
from clawperator.testing import SimulatedPhone, simulated_phone


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_can_be_turned_on_and_off_and_to_its_maximum(name: str) -> None:
    faults = Faults(0)
    assert faults.set(name, "on") == FAULTS[name].on
    assert faults.set(name, FAULTS[name].maximum) == FAULTS[name].maximum
    assert faults.set(name, "OFF") == 0
    assert faults.values() == {}


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("latency", "-1"),
        ("latency", "nan"),
        ("latency", "1e9"),
        ("offline", "0.5"),
        ("rotation", "4"),
        ("dialog", "2"),
        ("nonsense", "on"),
        ("latency", ""),
    ],
)
def test_an_invalid_setting_is_refused_with_the_valid_ones(name: str, setting: str) -> None:
    with pytest.raises(ClawError) as caught:
        read_setting(name, setting)
    assert caught.value.code == "PHONE_FAULT_INVALID"
    assert caught.value.hint


def test_a_fault_that_is_off_never_strikes_and_one_at_its_maximum_always_does() -> None:
    faults = Faults(1)
    assert not any(faults.happens("dropped_tap") for _ in range(100))
    faults.set("dropped_tap", 1)
    assert all(faults.happens("dropped_tap") for _ in range(100))


def test_the_same_seed_fails_the_same_way_and_another_does_not() -> None:
    def strikes(seed: int) -> list[bool]:
        faults = Faults(seed)
        faults.set("dropped_tap", 0.5)
        return [faults.happens("dropped_tap") for _ in range(64)]

    assert strikes(3) == strikes(3)
    assert strikes(3) != strikes(4)


def test_one_fault_does_not_change_what_another_does() -> None:
    alone, together = Faults(5), Faults(5)
    for faults in (alone, together):
        faults.set("dropped_tap", 0.5)
    together.set("log_noise", 0.5)
    first = [alone.happens("dropped_tap") for _ in range(50)]
    second = [(together.happens("log_noise"), together.happens("dropped_tap"))[1] for _ in range(50)]
    assert first == second


def test_a_dropped_tap_changes_nothing(phone: SimulatedPhone) -> None:
    phone.fault("dropped_tap", 1)
    phone.person.tap("Settings")
    assert phone.foreground() == "com.android.launcher3"


def test_a_stale_tree_is_the_one_before_the_last_change(phone: SimulatedPhone) -> None:
    before = phone.hierarchy()
    phone.open_app("com.android.settings")
    phone.hierarchy()
    phone.fault("stale_tree", 1)
    with phone.phone.lock:
        assert phone.phone.windows.capture() is before


def test_latency_takes_the_phones_own_time(phone: SimulatedPhone) -> None:
    phone.fault("latency", 500)
    begin = phone.phone.clock.monotonic()
    done = phone.run({"type": "snapshot_ui"})
    assert done.status == "success"
    assert phone.phone.clock.monotonic() - begin >= 0.5


def test_a_full_storage_refuses_files_and_recordings_and_nothing_else(phone: SimulatedPhone) -> None:
    phone.fault("storage_full")
    assert "No space left" in phone.shell_script("echo hi > /sdcard/x").complaint
    with pytest.raises(ClawError) as caught:
        phone.start_recording("demo")
    assert caught.value.code == "RECORDING_STORAGE_UNAVAILABLE"
    assert phone.run({"type": "snapshot_ui"}).status == "success"
    phone.fault("storage_full", "off")
    assert phone.shell_script("echo hi > /sdcard/x").code == 0


def test_rotation_turns_the_display_and_everything_on_it(phone: SimulatedPhone) -> None:
    phone.fault("rotation", 1)
    assert 'rotation="1"' in phone.xml()
    assert phone.hierarchy().roots[0].bounds.width == 2400
    phone.fault("rotation", "off")
    assert phone.hierarchy().roots[0].bounds.width == 1080


def test_the_dialog_fault_covers_everything_until_it_is_dismissed(phone: SimulatedPhone) -> None:
    phone.open_app("com.android.settings")
    phone.fault("dialog", 1)
    assert phone.foreground() == "android"
    assert phone.shows("Wait")
    phone.fault("dialog", "off")
    phone.person.tap("Wait")
    assert phone.foreground() == "com.android.settings"


def test_log_noise_keeps_the_operators_lines_and_lost_log_drops_them(phone: SimulatedPhone) -> None:
    phone.fault("log_noise", 1)
    phone.phone.log.write("I", "mine", "one", 7)
    assert {e.tag for e in phone.phone.log.read()} > {"mine"}
    phone.fault("lost_log", 1)
    phone.phone.log.write("I", "mine", "two", 7)
    assert [e.message for e in phone.phone.log.read() if e.tag == "mine"] == ["one"]


def test_a_split_record_is_whole_when_its_pieces_are_joined(phone: SimulatedPhone) -> None:
    phone.fault("split_log", 1)
    phone.phone.log.write("I", "mine", "in two pieces", 7)
    pieces = [e.message for e in phone.phone.log.read() if e.tag == "mine"]
    assert len(pieces) == 2
    assert "".join(pieces) == "in two pieces"


def test_a_phone_starts_without_faults() -> None:
    with simulated_phone(seed=9) as phone:
        assert phone.phone.faults.values() == {}
