"""The home screen: a clock that keeps time, a dock, and the other apps."""

from collections.abc import Iterator

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.core.windows import Display
from clawperator.phone.render.pen import clock_text, date_text
from tests.phone.screen import find, found, tap

DOCKED = ["Chrome", "Notes", "Settings", "YouTube"]
NOON_MS = 1_700_049_600_000  # Wed, Nov 15 2023, 12:00


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    yield phone
    phone.close()


def docked(phone: Phone) -> list[str]:
    dock = found(phone, id="hotseat")
    return [node.text for node in dock[0].children] if dock else []


def test_the_clock_is_in_the_picture_only_so_that_the_tree_stays_the_same(phone: Phone) -> None:
    tree, picture = phone.windows.hierarchy(), phone.screenshot()
    assert find(phone, id="clock").content_desc == "Clock"
    phone.clock.sleep(60)
    assert phone.windows.hierarchy() is tree
    assert phone.screenshot() != picture


@pytest.mark.parametrize(
    ("now_ms", "time", "date"),
    [
        (0, "12:00", "Thu, Jan 1"),
        (NOON_MS, "12:00", "Wed, Nov 15"),
        (NOON_MS + 60_000, "12:01", "Wed, Nov 15"),
        (NOON_MS - 3_600_000, "11:00", "Wed, Nov 15"),
        (-5, "12:00", "Thu, Jan 1"),
        (10**18, "11:59", "Fri, Dec 31"),
    ],
)
def test_any_time_can_be_shown(now_ms: int, time: str, date: str) -> None:
    assert (clock_text(now_ms, None), date_text(now_ms)) == (time, date)


def test_the_time_has_the_format_of_the_settings() -> None:
    afternoon = NOON_MS + 2 * 3_600_000
    assert [clock_text(afternoon, setting) for setting in (None, "12", "24", "x")] == [
        "2:00",
        "2:00",
        "14:00",
        "2:00",
    ]


def test_the_dock_holds_four_apps_and_the_list_the_others(phone: Phone) -> None:
    assert docked(phone) == DOCKED
    listed = [node.text for node in found(phone, id="icon") if node.text not in DOCKED]
    assert listed == ["Clawperator Operator", "Hard Mode", "SolaXCloud"]
    area = phone.windows.display.content
    assert find(phone, id="hotseat").bounds.bottom == area.bottom


@pytest.mark.parametrize("label", ["Settings", "SolaXCloud"])
def test_an_app_is_opened_from_the_dock_and_from_the_list(phone: Phone, label: str) -> None:
    tap(phone, text=label)
    assert phone.packages.app(phone.foreground()).label == label


def test_an_app_that_is_uninstalled_leaves_the_dock(phone: Phone) -> None:
    phone.packages.remove("com.clawperator.notes")
    phone.windows.invalidate()
    assert docked(phone) == ["Chrome", "Settings", "YouTube"]


@pytest.mark.parametrize(
    "display", [Display(), Display(rotation=1), Display(1080, 700, 420), Display(2000, 2000, 200)]
)
def test_no_app_is_shown_twice_and_low_displays_have_no_dock(phone: Phone, display: Display) -> None:
    phone.windows.resize(display)
    labels = [node.text for node in found(phone, id="icon")]
    assert len(labels) == len(set(labels))
    assert bool(docked(phone)) == (display.content.height / display.scale >= 480)


def test_without_a_dock_its_apps_are_in_the_list(phone: Phone) -> None:
    phone.windows.rotate(1)
    assert {node.text for node in found(phone, id="icon")} > set(DOCKED)
