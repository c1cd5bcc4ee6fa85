"""Demonstrations of the shipped skills by screen taps. Their recordings are the skills' baselines."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clawperator.api.phone import ConnectedPhone, connect
from clawperator.recording.export import export_recording

SOLAR = "com.solaxcloud.starter.set-discharge-limit"
SETTINGS = "com.android.settings.overview"
VIDEO = "com.google.android.youtube.search"


def tap(phone: ConnectedPhone, label: str | None = None, **marks: Any) -> None:
    phone.wait(label, **marks)
    node = phone.snapshot().find(label, **marks)
    assert node is not None
    x, y = node.bounds.centre
    phone.shell("input", "tap", str(x), str(y))


def _solar(phone: ConnectedPhone) -> None:
    tap(phone, "SolaXCloud")
    tap(phone, "Intelligence")
    tap(phone, "Peak Export")
    tap(phone, text_contains="Device Discharging")
    tap(phone, text_contains="Discharge to")
    tap(phone, role="textfield")
    phone.shell("input", "keyevent", "DEL", "DEL")
    phone.shell("input", "text", "25")
    tap(phone, "Confirm")
    tap(phone, "Save")
    phone.wait(text_contains="Save this automation")
    tap(phone, "Save")
    phone.wait("Discharge to 25%")


def _settings(phone: ConnectedPhone) -> None:
    tap(phone, "Settings")
    for page, row in (("Network & internet", "Internet"), ("Battery", "Battery level"), ("Storage", "Free space")):
        tap(phone, page)
        phone.wait(row)
        phone.shell("input", "keyevent", "BACK")
    phone.wait("Network & internet")
    phone.shell("input", "swipe", "540", "1800", "540", "600")
    tap(phone, "About phone")
    phone.wait("Android version")


def _video(phone: ConnectedPhone) -> None:
    tap(phone, "YouTube")
    tap(phone, desc="Search")
    tap(phone, role="textfield")
    phone.shell("input", "text", "linkin%spark")
    phone.shell("input", "keyevent", "ENTER")
    phone.wait(id="com.google.android.youtube:id/search_query")


DEMONSTRATIONS: Mapping[str, Callable[[ConnectedPhone], None]] = {
    SOLAR: _solar,
    SETTINGS: _settings,
    VIDEO: _video,
}


def demonstrate(skill_id: str, folder: Path, serial: str | None = None) -> Path:
    """Record the demonstration of a skill on the running simulated phone. Returns the path of the export."""
    phone = connect(serial)
    phone.home()
    phone.close_app(skill_id.rpartition(".")[0])
    phone.start_recording("demonstration")
    DEMONSTRATIONS[skill_id](phone)
    phone.stop_recording("demonstration")
    recording = phone.pull_recording("demonstration", folder)
    out = folder / "compare-baseline.export.json"
    export_recording(recording, str(out))
    return out
