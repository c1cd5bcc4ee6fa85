"""The offline brain on a device with faults: its answers stay true."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawperator.agent.cancellation import TurnDeadline
from clawperator.agent.ports import ToolContext
from clawperator.phone.core.phone import Phone
from tests.agent.offline.phone_runs import run_on_phone
from tests.device.phone_servers import running_phone_server

SECONDS = 30


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Phone]:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_phone_server("claw-1") as phone_server:
        yield phone_server.phone


def answer_to(prompt: str, folder: Path) -> str:
    return run_on_phone(prompt, ToolContext(TurnDeadline(SECONDS), folder=str(folder), device="claw-1"))[1].text


def test_a_lost_tap_is_reported_without_effect(phone: Phone, tmp_path: Path) -> None:
    answer_to("open Hard Mode, tap Many deletes", tmp_path)
    phone.set_fault("dropped_tap", 1)
    answer = answer_to("tap the second Delete, tap at 901 568, read the status", tmp_path)
    assert answer == (
        "Tapped 'Delete'; nothing changed on the screen. "
        "Tapped the point (901, 568); nothing changed on the screen. status: Nothing happened yet."
    )


def test_lost_scrolls_are_reported_without_effect(phone: Phone, tmp_path: Path) -> None:
    answer_to("open Settings", tmp_path)
    phone.set_fault("dropped_tap", 1)
    answer = answer_to("scroll down 3 times, scroll to the bottom", tmp_path)
    assert answer == " ".join(["Scrolled down; nothing changed on the screen."] * 2)


def test_a_lost_scroll_does_not_end_a_search(phone: Phone, tmp_path: Path) -> None:
    answer_to("open Settings", tmp_path)
    phone.set_fault("dropped_tap", 0.5)
    assert answer_to("tap About phone and read Model", tmp_path).endswith("Model: simulated.")


@pytest.mark.parametrize("seed", range(2))
def test_switch_states_are_right_despite_stale_captures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("CLAWPERATOR_HOME", str(tmp_path / "home"))
    with running_phone_server("claw-1", seed) as phone_server:
        answer_to("open Settings, tap Display", tmp_path)
        phone_server.phone.set_fault("stale_tree", 0.3)
        answer = answer_to("turn on Dark theme, turn off Dark theme, is Dark theme on?", tmp_path)
        stored = phone_server.phone.settings.get("secure", "ui_night_mode")
    assert answer == "Turned 'Dark theme' on. Turned 'Dark theme' off. No: 'Dark theme' is off."
    assert stored == "1"


def test_an_unexpected_dialog_is_reported_as_the_screen(phone: Phone, tmp_path: Path) -> None:
    answer_to("open Settings", tmp_path)
    phone.set_fault("dialog", 1)
    answer = answer_to("is Display on the screen? what is on the screen?", tmp_path)
    assert answer.startswith("No: no label on the screen mentions 'Display'.")
    assert "isn't responding" in answer


def test_a_slow_device_gives_the_same_answer(phone: Phone, tmp_path: Path) -> None:
    phone.set_fault("latency", 300)
    assert answer_to("is Chrome on the screen?", tmp_path) == "Yes: 'Chrome' is on the screen."


@pytest.mark.parametrize(
    ("fault", "prompt"), [("offline", "tap Settings"), ("unauthorized", "open Settings"), ("offline", "go home")]
)
def test_an_unavailable_device_fails_at_the_first_call(
    phone: Phone, tmp_path: Path, fault: str, prompt: str
) -> None:
    phone.set_fault(fault, 1)
    called, answer = run_on_phone(
        prompt, ToolContext(TurnDeadline(SECONDS), folder=str(tmp_path), device="claw-1")
    )
    assert len(called) == 1
    assert answer.error is not None
    assert answer.error.code in ("DEVICE_OFFLINE", "DEVICE_UNAUTHORIZED")
    assert answer.error.hint
