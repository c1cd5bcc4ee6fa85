"""The Settings app."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from clawperator.phone.apps import settings
from clawperator.phone.apps.settings import CHOICES, PAGES
from clawperator.phone.core.phone import Phone
from tests.phone.apps.settings_pages import SETTINGS, bar, is_on, part_of, walk
from tests.phone.screen import execute, find, found, tap, texts, tree, wander

if TYPE_CHECKING:
    from clawperator.phone.core.events import AccessibilityEvent


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    phone.launch(SETTINGS)
    yield phone
    phone.close()


def test_the_homepage_has_the_names_a_phone_gives_them(phone: Phone) -> None:
    assert find(phone, id=f"{SETTINGS}:id/settings_homepage_container").class_name == "android.widget.ScrollView"
    assert find(phone, id="settings_homepage_container").flag("scrollable")
    assert find(phone, id="settings_toolbar", cls="LinearLayout")
    assert find(phone, id="action_bar", text="Settings", cls="TextView")
    assert find(phone, id="search_action_bar", desc="Search settings", cls="Button").flag("clickable")
    assert find(phone, id="main_content")
    rows = find(phone, id=f"{SETTINGS}:id/recycler_view", cls="RecyclerView")
    assert {row.resource_id for row in rows.children} == {f"{SETTINGS}:id/dashboard_tile"}
    assert part_of(phone, "Network & internet", "summary").text == "Wi-Fi"


def test_the_homepage_is_longer_than_the_screen(phone: Phone) -> None:
    assert find(phone, text="About phone").bounds.is_empty
    walk(phone, "About phone")
    assert bar(phone) == "About phone"


@pytest.mark.parametrize("name", ["recycler_view", "settings_homepage_container"])
def test_the_homepage_scrolls_to_its_end_and_back_by_its_list_and_by_its_page(phone: Phone, name: str) -> None:
    events: list[AccessibilityEvent] = []
    phone.listeners.append(events.append)
    container = {"container": {"resourceId": f"{SETTINGS}:id/{name}"}}
    at_first = texts(phone)
    down = [execute(phone, ("scroll", {"direction": "down", **container}))[0].data for _ in range(5)]
    outcomes = [step["scroll_outcome"] for step in down]
    assert outcomes == sorted(outcomes, reverse=True)  # moved, then edge_reached
    assert set(outcomes) == {"moved", "edge_reached"}
    assert {step["resolved_container"] for step in down} == {f"{SETTINGS}:id/{name}"}
    assert not find(phone, text="About phone").bounds.is_empty
    up = execute(phone, ("scroll_until", {"direction": "up", **container}))[0].data
    assert up["termination_reason"] == "EDGE_REACHED"
    assert texts(phone) == at_first
    # The page is what moves, also under a swipe on the list, which has nothing hidden by itself.
    assert events
    assert all(event.kind == "view_scrolled" and event.scroll and event.scroll[3] > 0 for event in events)


def test_the_event_of_a_click_on_a_row_has_its_title(phone: Phone) -> None:
    events: list[AccessibilityEvent] = []
    phone.listeners.append(events.append)
    tap(phone, text="Display")
    clicked, window = events
    assert (clicked.kind, clicked.text, clicked.resource_id) == (
        "view_clicked",
        "Display",
        f"{SETTINGS}:id/dashboard_tile",
    )
    assert (window.kind, window.title) == ("window_state_changed", "Display")


def test_the_event_of_the_first_window_has_the_settings_activity() -> None:
    phone = Phone()
    events: list[AccessibilityEvent] = []
    phone.listeners.append(events.append)
    phone.launch(SETTINGS)
    phone.close()
    assert (events[-1].class_name, events[-1].title) == (f"{SETTINGS}.Settings", "Settings")


def test_every_row_that_opens_something_opens_a_screen_that_can_be_shown(phone: Phone) -> None:
    app = phone.packages.app(SETTINGS)
    opened = {row.opens for page in PAGES.values() for row in page.rows if row.opens}
    assert opened <= set(app.screens)
    for name in sorted(opened):
        phone.tasks.start(app, name)
        assert bar(phone) == app.screens[name].title


def test_every_page_of_the_table_can_be_reached() -> None:
    assert {*PAGES, *CHOICES} - {row.opens for page in PAGES.values() for row in page.rows} == {"home"}


def test_back_and_navigate_up_lead_the_same_way(phone: Phone) -> None:
    walk(phone, "System", "Languages & input", "On-screen keyboard", "Gboard")
    assert bar(phone) == "Gboard"
    tap(phone, desc="Navigate up")
    assert bar(phone) == "On-screen keyboard"
    phone.go_back()
    assert bar(phone) == "Languages & input"


def test_a_screen_timeout_is_saved_where_the_shell_reads_it(phone: Phone) -> None:
    walk(phone, "Display")
    assert part_of(phone, "Screen timeout", "summary").text == "10 minutes"
    walk(phone, "Screen timeout", "30 seconds")
    assert phone.settings.get("system", "screen_off_timeout") == "30000"
    assert [row.flag("checked") for row in found(phone, cls="RadioButton")].count(True) == 1
    assert part_of(phone, "30 seconds", "checkbox").flag("checked")
    phone.go_back()
    assert part_of(phone, "Screen timeout", "summary").text == "30 seconds"


def test_a_value_without_an_option_is_shown_unchanged(phone: Phone) -> None:
    phone.settings.put("system", "screen_off_timeout", "12345")
    walk(phone, "Display")
    assert part_of(phone, "Screen timeout", "summary").text == "12345"


def test_a_switch_changes_the_system_setting(phone: Phone) -> None:
    walk(phone, "Display")
    assert not is_on(phone, "Dark theme")
    walk(phone, "Dark theme")
    assert is_on(phone, "Dark theme")
    assert phone.settings.get("secure", "ui_night_mode") == "2"
    walk(phone, "Dark theme")
    assert phone.settings.get("secure", "ui_night_mode") == "1"


def test_a_switch_of_the_apps_own_data_survives_a_stop(phone: Phone) -> None:
    walk(phone, "System", "Languages & input", "On-screen keyboard", "Gboard", "Glide typing")
    phone.stop_app(SETTINGS)
    phone.launch(SETTINGS)
    walk(phone, "System", "Languages & input", "On-screen keyboard", "Gboard")
    assert not is_on(phone, "Glide typing")
    assert is_on(phone, "Auto-correction")


@pytest.mark.parametrize(("value", "on"), [("0", False), ("1", True), ("3", True), ("", False)])
def test_any_number_but_zero_is_on(phone: Phone, value: str, on: bool) -> None:  # noqa: FBT001 - a case of the table
    phone.settings.put("secure", "location_mode", value)
    walk(phone, "Location")
    assert is_on(phone, "Use location") is on


@pytest.mark.parametrize(
    ("value", "shown"), [("102", "40%"), ("255", "100%"), ("999999999999", "0%"), ("x", "0%"), ("9999", "100%")]
)
def test_the_brightness_is_a_percentage_for_any_stored_value(phone: Phone, value: str, shown: str) -> None:
    phone.settings.put("system", "screen_brightness", value)
    walk(phone, "Display")
    assert part_of(phone, "Brightness level", "summary").text == shown


def test_brighter_and_dimmer_stop_at_the_ends(phone: Phone) -> None:
    walk(phone, "Display", "Brightness level")
    for _ in range(8):
        tap(phone, text="Brighter")
    assert find(phone, id="slider").text == "100%"
    assert phone.settings.get("system", "screen_brightness") == "255"
    tap(phone, text="Dimmer")
    assert find(phone, id="slider").text == "90%"


def test_a_full_settings_table_shows_a_toast(phone: Phone) -> None:
    for i in range(2_000 - len(phone.settings.table("system"))):
        phone.settings.set_quietly("system", f"filler{i}", "")
    walk(phone, "Sound & vibration", "Touch sounds")
    assert phone.windows.toast_text() == "Couldn't save the setting"
    assert is_on(phone, "Touch sounds")


def test_wifi_that_is_off_shows_no_networks(phone: Phone) -> None:
    walk(phone, "Network & internet", "Internet")
    assert part_of(phone, "Burrow", "summary").text == "Connected"
    walk(phone, "Wi-Fi")
    assert phone.settings.get("global", "wifi_on") == "0"
    assert not found(phone, id="wifi_entry")
    phone.go_back()
    assert part_of(phone, "Internet", "summary").text == "Not connected"


def test_a_network_has_details_with_switches_of_its_own(phone: Phone) -> None:
    walk(phone, "Network & internet", "Internet", "Burrow", "Treat as metered")
    assert is_on(phone, "Treat as metered")
    tap(phone, text="Disconnect")
    assert find(phone, id="entity_header_summary").text == "Not connected"
    phone.go_back()
    walk(phone, "Tidepool")
    assert not is_on(phone, "Treat as metered")


def test_an_open_network_needs_no_password(phone: Phone) -> None:
    walk(phone, "Network & internet", "Internet", "Café Krabbe")
    tap(phone, text="Connect")
    assert find(phone, id="entity_header_summary").text == "Connected"


def test_a_locked_network_requires_a_password_of_minimum_length(phone: Phone) -> None:
    walk(phone, "Network & internet", "Internet", "Tidepool")
    tap(phone, text="Connect")
    tap(phone, id="password")
    phone.type_text("sevench")
    assert not find(phone, text="Connect").flag("enabled")
    tap(phone, text="Connect")
    phone.type_text("\n")
    assert find(phone, id="password").text == "•" * 7
    tap(phone, id="password")
    phone.type_text("8")
    tap(phone, text="Connect")
    assert find(phone, id="entity_header_summary").text == "Connected"


def test_a_new_device_can_be_paired_and_forgotten(phone: Phone) -> None:
    phone.settings.put("global", "bluetooth_on", "0")
    walk(phone, "Connected devices", "Pair new device")
    assert found(phone, cls="ProgressBar")
    phone.clock.sleep(1)
    assert phone.settings.get("global", "bluetooth_on") == "1"
    walk(phone, "Desk keyboard")
    assert part_of(phone, "Saved devices", "summary").text == "Headphones, Desk keyboard"
    walk(phone, "Saved devices", "Headphones")
    tap(phone, text="Forget device")
    assert "Headphones" not in texts(phone)
    assert "Desk keyboard" in texts(phone)


def test_the_search_finds_rows_of_every_page(phone: Phone) -> None:
    tap(phone, id="search_action_bar")
    assert not found(phone, id="search_result")
    tap(phone, id="search_src_text")
    phone.type_text("TIMEOUT")
    assert [node.text for node in found(phone, id="android:id/title")] == ["Screen timeout"]
    tap(phone, text="Screen timeout")
    assert bar(phone) == "Screen timeout"


def test_a_search_result_without_a_screen_of_its_own_opens_its_page(phone: Phone) -> None:
    tap(phone, id="search_action_bar")
    tap(phone, id="search_src_text")
    phone.type_text("dark th")
    tap(phone, text="Dark theme")
    assert bar(phone) == "Display"


def test_a_search_without_results_shows_a_message_and_is_not_kept(phone: Phone) -> None:
    tap(phone, id="search_action_bar")
    tap(phone, id="search_src_text")
    phone.type_text("zebra")
    assert "No results" in texts(phone)
    phone.go_back()
    phone.go_back()
    tap(phone, id="search_action_bar")
    assert find(phone, id="search_src_text").text == "Search settings"


def test_facts_about_the_phone_are_its_properties(phone: Phone) -> None:
    walk(phone, "About phone", "Android version", "Build details")
    assert "35" in texts(phone)
    assert phone.properties["ro.build.fingerprint"] in texts(phone)


def test_two_phones_share_nothing(phone: Phone) -> None:
    other = Phone()
    assert settings.apps()[0] is not settings.apps()[0]
    walk(phone, "Network & internet", "Data Saver")
    other.launch(SETTINGS)
    walk(other, "Network & internet")
    assert is_on(phone, "Data Saver")
    assert not is_on(other, "Data Saver")
    other.close()


def test_every_switch_of_the_table_has_a_key_of_its_own() -> None:
    kept = [row.toggles for page in PAGES.values() for row in page.rows if row.toggles]
    kept += [choice.stored for choice in CHOICES.values()]
    keys = [(stored.table, stored.key) for stored in kept]
    assert len(keys) == len(set(keys))


def test_a_nested_page_fits_the_screen(phone: Phone) -> None:
    walk(phone, "System", "Developer options")
    content = phone.windows.display.bounds
    assert all(node.bounds.intersection(content) == node.bounds for node in tree(phone))


def test_an_execution_scrolls_opens_and_reads(phone: Phone) -> None:
    phone.go_home()
    steps = execute(
        phone,
        ("open_app", {"applicationId": SETTINGS}),
        ("scroll_and_click", {"matcher": {"textEquals": "About phone"}}),
        ("read_key_value_pair", {"labelMatcher": {"textEquals": "Serial number"}}),
    )
    assert [step.success for step in steps] == [True, True, True]
    assert steps[2].data["value"] == phone.serial


def test_an_execution_toggles_a_switch_by_its_title(phone: Phone) -> None:
    display, theme = ({"matcher": {"textEquals": title}} for title in ("Display", "Dark theme"))
    steps = execute(phone, ("click", display), ("click", theme))
    assert all(step.success for step in steps)
    assert phone.settings.get("secure", "ui_night_mode") == "2"


@pytest.mark.parametrize("seed", range(4))
def test_random_input_does_not_crash_the_app(phone: Phone, seed: int) -> None:
    wander(phone, SETTINGS, 80, seed)
