"""The packages of a device, and the variants of the Operator among them."""

from typing import Any

import pytest

from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device import packages
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.packages import list_packages, other_variants
from clawperator.errors import ClawError

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
