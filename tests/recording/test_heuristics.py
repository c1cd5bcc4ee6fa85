"""Rules about single events, the same for parse, compare, replay, cassettes and the offline brain."""

import pytest

from clawperator.recording.events import ClickFacts, EventBounds
from clawperator.recording.heuristics import SYSTEM_UI, is_keyboard, is_launcher, is_masked, navigation_key


@pytest.mark.parametrize(
    "package",
    [
        "com.android.launcher3",
        "com.sec.android.app.launcher",
        "com.miui.home",
        "org.lineageos.trebuchet",
        "com.example.Launcher",
    ],
)
def test_launchers_of_all_makers_are_launchers(package: str) -> None:
    assert is_launcher(package)


@pytest.mark.parametrize("package", ["com.google.android.apps.chromecast.app", "com.example.home", "", SYSTEM_UI])
def test_other_apps_are_not(package: str) -> None:
    assert not is_launcher(package)


@pytest.mark.parametrize(
    "package",
    [
        "com.google.android.inputmethod.latin",
        "com.samsung.android.honeyboard",
        "com.touchtype.swiftkey",
        "org.example.ime",
        "com.example.Keyboard",
    ],
)
def test_a_keyboard_is_known_by_its_package(package: str) -> None:
    assert is_keyboard(package)


def test_a_keyboard_is_known_by_its_window() -> None:
    assert is_keyboard("com.example.letters", "android.inputmethodservice.SoftInputWindow")
    assert not is_keyboard("com.example.letters", "com.example.letters.MainActivity")
    assert not is_keyboard("com.example.imeter")


@pytest.mark.parametrize("text", ["•", "••••", "•••a", "a•••", "•1", "●●", "*", "***"])
def test_a_text_that_a_password_field_shows_is_masked(text: str) -> None:
    assert is_masked(text)


@pytest.mark.parametrize("text", ["", "a", "a • b", "•ab", "*a", "5*", "*100#"])
def test_a_readable_text_is_not_masked(text: str) -> None:
    assert not is_masked(text)


@pytest.mark.parametrize(
    ("resource_id", "desc", "text", "key"),
    [
        ("com.android.systemui:id/back", None, None, "back"),
        ("com.android.systemui:id/home_button", None, None, "home"),
        (None, "Home", None, "home"),
        ("com.android.systemui:id/recent_apps", "Overview", None, "recents"),
        (None, None, "Recents", "recents"),
        ("com.android.systemui:id/clock", "Home", None, "home"),
        ("com.android.systemui:id/home_handle", None, None, None),
        ("com.android.systemui:id/clock", None, "12:00", None),
    ],
)
def test_navigation_keys_are_known_by_id_description_or_text(
    resource_id: str | None, desc: str | None, text: str | None, key: str | None
) -> None:
    click = ClickFacts(
        ts=0,
        seq=0,
        packageName=SYSTEM_UI,
        resourceId=resource_id,
        text=text,
        contentDesc=desc,
        bounds=EventBounds(0, 0, 9, 9),
    )
    assert navigation_key(click) == key
    click.packageName = "com.example.app"
    assert navigation_key(click) is None
