"""Which Operator a device uses."""

import pytest

from clawperator.contract.wire import OPERATOR_PACKAGE, OPERATOR_PACKAGES
from clawperator.device.adb import client
from clawperator.device.adb.client import Device, Endpoint, ShellAnswer
from clawperator.device.settings import OperatorChoice, choosing_script, enabled_operator, find_operator
from clawperator.errors import ClawError

PIXEL = Device("pixel", Endpoint("127.0.0.1", 1))
OTHER = OPERATOR_PACKAGES[1]


class Answer:
    """Answers every command with a text or an error, and keeps the commands."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answer: str | ClawError) -> None:
        self.answer = answer
        self.asked: list[tuple[str, float]] = []
        monkeypatch.setattr(client, "run_shell", self.run_shell)

    def run_shell(self, _: Device, script: str, *, seconds: float) -> ShellAnswer:
        self.asked.append((script, seconds))
        if isinstance(self.answer, ClawError):
            raise self.answer
        return ShellAnswer(0, self.answer.encode(), b"")


@pytest.mark.parametrize(
    ("package", "name", "is_unusual"),
    [(None, OPERATOR_PACKAGE, False), (OPERATOR_PACKAGE, OPERATOR_PACKAGE, False), (OTHER, OTHER, True)],
)
def test_another_variant_than_the_released_one_is_unusual(
    package: str | None, name: str, *, is_unusual: bool
) -> None:
    choice = OperatorChoice(package)
    assert (choice.name, choice.is_unusual) == (name, is_unusual)


def test_a_device_must_have_an_operator_unless_the_run_can_do_without() -> None:
    choice = OperatorChoice()
    assert (choice.package, choice.may_be_absent, choice.is_absent) == (None, False, False)


@pytest.mark.parametrize(
    ("printed", "found"),
    [(f"{OPERATOR_PACKAGE}\n", OPERATOR_PACKAGE), (f"{OTHER}\r\n", OTHER), ("\n", None), ("com.other\n", None)],
)
def test_the_enabled_variant_is_what_the_device_prints(
    monkeypatch: pytest.MonkeyPatch, printed: str, found: str | None
) -> None:
    answer = Answer(monkeypatch, printed)
    assert enabled_operator(PIXEL, seconds=2) == found
    script = f"{choosing_script('exit 0')}; echo $O"
    assert answer.asked == [(script, 2)]
    assert find_operator(PIXEL, None) == (found or OPERATOR_PACKAGE)


def test_the_released_variant_is_the_first_choice_of_the_script() -> None:
    script = choosing_script("exit 7")
    assert script.startswith('case ":$(settings get secure enabled_accessibility_services)" in *:')
    assert script.index(f"O={OPERATOR_PACKAGE};;") < script.index(f"O={OTHER};;")
    assert script.endswith("*) exit 7;; esac")


def test_a_named_operator_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Answer(monkeypatch, OTHER)
    assert find_operator(PIXEL, "com.mine") == "com.mine"
    assert answer.asked == []


def test_a_device_that_does_not_answer_has_the_released_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    Answer(monkeypatch, ClawError("DEVICE_OFFLINE", "gone"))
    assert find_operator(PIXEL, None) == OPERATOR_PACKAGE
