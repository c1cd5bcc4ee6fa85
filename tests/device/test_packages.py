"""The packages of a device, and the variants of the Operator among them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device import packages
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.packages import (
    is_app_label,
    known_labels,
    list_packages,
    other_variants,
    resolve_app_label,
)
from clawperator.errors import ClawError
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, column, text
from clawperator.testing import simulated_phone
from tests.device.phone_servers import running_phone_server
from tests.support.fast_clock import SkippingClock
from tests.support.running import claw_json, clawperator

PIXEL = Device("pixel", Endpoint("127.0.0.1", 1))


class Answer:
    """Answers every command alike, and keeps the commands."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, text: str = "", complaint: str = "", code: int = 0
    ) -> None:
        self.answer = ShellAnswer(code, text.encode(), complaint.encode())
        self.asked: list[tuple[str, float]] = []
        monkeypatch.setattr(packages, "run_shell", self.run_shell)

    def run_shell(self, _: Device, script: str, *, seconds: float) -> ShellAnswer:
        self.asked.append((script, seconds))
        return self.answer


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("package:com.a\npackage:com.b_1.C\n", ["com.a", "com.b_1.C"]),
        ("package:com.a\r\n  package:com.b\n\n", ["com.a", "com.b"]),
        ("package:com.a\nException: x\npackage:com.b\npackage:com.a\n", ["com.a", "com.b"]),
        ("a package:com.a\ncom.b\npackage:\npackage:a b\npackage:a..b\npackage:$(id)\n", []),
        (f"package:{'x' * 255}\npackage:{'y' * 256}\n", ["x" * 255]),
    ],
)
def test_names_are_read_from_the_lines_of_pm(monkeypatch: pytest.MonkeyPatch, text: str, names: list[str]) -> None:
    Answer(monkeypatch, text)
    assert list_packages(PIXEL) == names


@pytest.mark.parametrize(
    ("options", "end", "seconds"),
    [
        ({}, '; pm list packages --user "$U" || pm list packages', 15),
        ({"third_party": True}, '; pm list packages --user "$U" -3 || pm list packages -3', 15),
        ({"user": 10, "seconds": 3}, "pm list packages --user 10", 3),
    ],
)
def test_pm_is_asked_for_the_packages_of_a_user(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], end: str, seconds: float
) -> None:
    answer = Answer(monkeypatch)
    list_packages(PIXEL, **options)
    ((script, waited),) = answer.asked
    assert script.endswith(end)
    assert waited == seconds


@pytest.mark.parametrize("code", [1, 255])
def test_a_list_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    Answer(monkeypatch, "package:com.a\n", "Can't find service: package", code)
    with pytest.raises(ClawError) as error:
        list_packages(PIXEL)
    assert error.value.code == "DEVICE_SHELL_UNAVAILABLE"
    assert error.value.message.startswith("cannot list packages on pixel: ")
    assert error.value.hint == "Retry when the device has booted."
    assert (error.value.operation, error.value.target) == ("packages", "pixel")


def test_a_user_that_adb_may_not_access_has_its_own_code(monkeypatch: pytest.MonkeyPatch) -> None:
    Answer(monkeypatch, "", "Shell does not have permission to access user 150", 255)
    with pytest.raises(ClawError) as error:
        list_packages(PIXEL)
    assert error.value.code == "DEVICE_USER_FORBIDDEN"


def test_other_variants_are_installed_operators() -> None:
    others = [name for name in OPERATOR_PACKAGES if name != OPERATOR_PACKAGE]
    assert others
    assert other_variants(OPERATOR_PACKAGE, ["com.a", *OPERATOR_PACKAGES]) == others
    assert other_variants(others[0], [OPERATOR_PACKAGE, "com.a"]) == [OPERATOR_PACKAGE]
    assert other_variants(OPERATOR_PACKAGE, [OPERATOR_PACKAGE, "com.a"]) == []


def app(package: str, label: str) -> App:
    made = App(package, label)

    @made.screen("home")
    def home(_: AppContext) -> View:
        return column(text(label))

    return made


@pytest.fixture
def device() -> Iterator[Device]:
    twins = [app("com.example.one", "Twin"), app("com.example.two", "Twin"), app("com.example.shop", "My Shop")]
    with simulated_phone(apps=twins, clock=SkippingClock()) as phone, phone.serve() as ports:
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
    wanted = "open Settings" if label == "settings" else "packages list"
    assert wanted in (caught.value.hint or "")


def test_the_beginning_of_a_long_label_is_shown(device: Device) -> None:
    with pytest.raises(ClawError) as caught:
        resolve_app_label(device, "x" * 1_000)
    assert caught.value.message.startswith("no known app is named 'xxx")
    assert len(caught.value.message) < 300


def test_a_label_of_two_apps_is_refused_with_both_packages(device: Device) -> None:
    with pytest.raises(ClawError) as caught:
        resolve_app_label(device, "Twin")
    assert caught.value.code == "APP_LABEL_AMBIGUOUS"
    assert caught.value.message == "2 apps are named 'Twin': com.example.one, com.example.two"
    assert caught.value.hint == "Name the package: run 'clawperator open com.example.one'."
    assert caught.value.details == {"packages": ["com.example.one", "com.example.two"]}


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
    monkeypatch.setattr("clawperator.device.packages.run_shell", lambda *_, **__: answer)
    assert known_labels(Device("d", Endpoint("127.0.0.1", 1))) == {"com.android.chrome": "Chrome"}


ACTIVITIES = """6 activities found:
  Activity #0:
    ActivityInfo:
      packageName=com.android.chrome
  Activity #1:
    ActivityInfo:
      name=com.nameless.Main
  Activity #2:
    ActivityInfo:
      packageName=com.example.shop
      labelRes=0x0 nonLocalizedLabel=My Shop icon=0x7f0f0003 banner=0x0
  Activity #3:
    ActivityInfo:
      packageName=com.example.chat
      labelRes=0x0 nonLocalizedLabel=Chat icon=0x0
  Activity #4:
    ActivityInfo:
      packageName=com.unknown
  Activity #5:
    ActivityInfo:
      packageName=com.android.settings
      labelRes=0x7f1300aa nonLocalizedLabel=null icon=0x7f0f0003 banner=0x0
"""


class LabelAnswer:
    """Answers every command with a text, and keeps the commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        self.text = text
        self.asked: list[tuple[str, float]] = []
        monkeypatch.setattr("clawperator.device.packages.run_shell", self.run_shell)

    def run_shell(self, _: Device, script: str, *, seconds: float) -> ShellAnswer:
        self.asked.append((script, seconds))
        return ShellAnswer(0, self.text.encode(), b"")


def test_labels_are_those_that_are_printed_or_well_known(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = LabelAnswer(monkeypatch, ACTIVITIES)
    assert known_labels(PIXEL) == {
        "com.android.chrome": "Chrome",
        "com.example.shop": "My Shop",
        "com.example.chat": "Chat",
        "com.android.settings": "Settings",
    }
    known_labels(PIXEL, 10)
    query = "-a android.intent.action.MAIN -c android.intent.category.LAUNCHER"
    assert answer.asked == [
        (f"cmd package query-activities --user current {query}", 15),
        (f"cmd package query-activities --user 10 {query}", 15),
    ]


def test_the_three_nearest_names_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    LabelAnswer(monkeypatch, ACTIVITIES)
    with pytest.raises(ClawError) as caught:
        resolve_app_label(PIXEL, "chrom")
    assert caught.value.message == "no known app is named 'chrom'; the nearest names are Chrome, Chat, My Shop"
    assert (caught.value.operation, caught.value.target) == ("open", "chrom")


def test_without_known_labels_no_name_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    LabelAnswer(monkeypatch, "No activities found\n")
    with pytest.raises(ClawError) as caught:
        resolve_app_label(PIXEL, "Chrome")
    assert caught.value.message == "no known app is named 'Chrome'"


@pytest.mark.parametrize(("text", "is_label"), [("Settings", True), ("com.android.settings", False), ("", True)])
def test_a_package_has_a_dot(text: str, *, is_label: bool) -> None:
    assert is_app_label(text) is is_label


@pytest.fixture
def phone_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the commands find a phone."""
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAW_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    with running_phone_server():
        yield tmp_path


@pytest.mark.usefixtures("phone_folder")
def test_a_tool_takes_a_label() -> None:
    ran = claw_json("exec-tool", "open_app", '{"applicationId": "Settings"}')
    (step,) = ran.json["result"]["envelope"]["stepResults"]
    assert (step["success"], step["data"]["application_id"]) == (True, "com.android.settings")


@pytest.mark.usefixtures("phone_folder")
@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ('{"deny": ["open_app(com.android.settings)"]}', "PERMISSION_DENIED"),
        ('{"deny": ["open_app(com.other)"]}', None),
        ('{"allow": ["open_app(com.android.settings)"], "defaultMode": "read-only"}', None),
    ],
)
def test_rules_about_packages_apply_to_the_app_of_a_label(rule: str, code: str | None, phone_folder: Path) -> None:
    settings = phone_folder / "config" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(f'{{"permissions": {rule}}}')
    error = claw_json("exec-tool", "open_app", '{"applicationId": "Settings"}').json.get("error")
    assert (error and error["code"]) == code


@pytest.mark.usefixtures("phone_folder")
def test_an_unknown_label_fails_without_an_attempt_to_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a plan was run")

    monkeypatch.setattr("clawperator.device.run.run.run_plan", refuse, raising=False)
    ran = clawperator("open", "Setings")
    assert (ran.code, ran.json["code"]) == (1, "APP_NOT_FOUND")
    assert "the nearest names are Settings" in ran.json["message"]
    assert "packages list" in ran.json["hint"]


@pytest.mark.usefixtures("phone_folder")
def test_the_hint_for_a_label_in_another_case_opens_the_app() -> None:
    ran = clawperator("open", "settings")
    assert (ran.code, ran.json["code"]) == (1, "APP_NOT_FOUND")
    assert ran.json["hint"] == "Run 'clawperator open Settings'."
    assert clawperator(*ran.json["hint"].split("'")[1].split()[1:]).code == 0
