"""The package of an app by its exact label."""

from collections.abc import Iterator

import pytest

from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.app_labels import known_labels, resolve_app_label
from clawperator.engine.clock import SystemClock
from clawperator.errors import ClawError
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, text
from clawperator.testing import simulated_phone


def app(package: str, label: str) -> App:
    made = App(package, label)

    @made.screen("home")
    def home(_: AppContext) -> View:
        return column(text(label))

    return made


@pytest.fixture
def device() -> Iterator[Device]:
    twins = [app("com.example.one", "Twin"), app("com.example.two", "Twin"), app("com.example.shop", "My Shop")]
    with simulated_phone(apps=twins, clock=SystemClock()) as phone, phone.serve() as ports:
        yield Device("claw-1", Endpoint("127.0.0.1", ports.server_port, simulated=True))


@pytest.mark.parametrize(
    ("label", "package"), [("Settings", "com.android.settings"), ("My Shop", "com.example.shop")]
)
def test_an_exact_label_names_its_app(device: Device, label: str, package: str) -> None:
    assert resolve_app_label(device, label) == package


@pytest.mark.parametrize("label", ["settings", "Setting", "My  Shop", "NoSuchApp", "'; rm -rf /"])
def test_any_other_text_is_refused_with_the_nearest_names(device: Device, label: str) -> None:
    with pytest.raises(ClawError) as caught:
        resolve_app_label(device, label)
    assert caught.value.code == "APP_NOT_FOUND"
    assert "nearest names" in caught.value.message
    assert "packages list" in (caught.value.hint or "")


def test_a_label_of_two_apps_is_refused_with_both_packages(device: Device) -> None:
    with pytest.raises(ClawError) as caught:
        resolve_app_label(device, "Twin")
    assert caught.value.code == "APP_LABEL_AMBIGUOUS"
    assert "com.example.one, com.example.two" in caught.value.message


def test_a_label_that_android_does_not_print_comes_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = """2 activities found:
  Activity #0:
    priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false
    ActivityInfo:
      name=com.google.android.apps.chrome.Main
      packageName=com.android.chrome
      labelRes=0x7f1300aa nonLocalizedLabel=null icon=0x7f0f0003 banner=0x0
  Activity #1:
    ActivityInfo:
      name=com.unknown.Main
      packageName=com.unknown
      labelRes=0x7f1300aa nonLocalizedLabel=null icon=0x7f0f0003 banner=0x0
"""
    answer = ShellAnswer(0, printed.encode(), b"")
    monkeypatch.setattr("clawperator.device.app_labels.run_shell", lambda *_, **__: answer)
    assert known_labels(Device("d", Endpoint("127.0.0.1", 1))) == {"com.android.chrome": "Chrome"}
