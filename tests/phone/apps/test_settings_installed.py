"""The Settings pages of installed apps."""

from collections.abc import Iterator

import pytest

from clawperator.phone.core.phone import Phone
from clawperator.phone.toolkit.app import App
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, text
from tests.phone.apps.settings_pages import SETTINGS, bar, is_on, walk
from tests.phone.screen import find, found, tap, texts


@pytest.fixture
def phone() -> Iterator[Phone]:
    phone = Phone()
    phone.launch(SETTINGS)
    yield phone
    phone.close()


def open_app_info(phone: Phone, label: str) -> None:
    phone.tasks.start(phone.packages.app(SETTINGS), "all_apps")
    walk(phone, label)
    assert bar(phone) == "App info"


def test_a_running_app_can_be_stopped_after_confirmation(phone: Phone) -> None:
    phone.launch("com.clawperator.notes")
    phone.launch(SETTINGS)
    walk(phone, "Apps", "See all apps", "Notes")
    tap(phone, text="Force stop")
    tap(phone, text="Cancel")
    assert phone.process_of("com.clawperator.notes") is not None
    tap(phone, text="Force stop")
    tap(phone, text="Force stop", id="button1")
    assert phone.process_of("com.clawperator.notes") is None
    assert bar(phone) == "App info"
    assert not find(phone, text="Force stop").flag("enabled")


def test_an_app_can_be_opened_from_its_info(phone: Phone) -> None:
    open_app_info(phone, "Notes")
    tap(phone, text="Open")
    assert phone.foreground() == "com.clawperator.notes"


def test_a_system_component_cannot_be_stopped_opened_or_removed(phone: Phone) -> None:
    open_app_info(phone, "System UI")
    assert [find(phone, id=f"button{i}").flag("enabled") for i in (1, 2, 3)] == [False, False, False]


def test_stopping_settings_from_itself_shows_the_launcher(phone: Phone) -> None:
    open_app_info(phone, "Settings")
    tap(phone, text="Force stop")
    tap(phone, text="Force stop", id="button1")
    assert phone.foreground() == "com.android.launcher3"


def test_clearing_storage_deletes_the_apps_data(phone: Phone) -> None:
    phone.launch("com.clawperator.notes")
    process = phone.process_of("com.clawperator.notes")
    assert process is not None
    process.data["account"] = "ada@example.com"
    open_app_info(phone, "Notes")
    walk(phone, "Storage & cache")
    tap(phone, text="Clear storage")
    tap(phone, text="Delete")
    phone.launch("com.clawperator.notes")
    assert not found(phone, id="account_label")


def with_extra() -> Phone:
    extra = App("org.example.extra", "Extra")

    @extra.screen("home")
    def home(_: AppContext) -> View:
        return text("Extra")

    return Phone(apps=[extra])


def test_an_uninstalled_app_is_gone_from_the_list() -> None:
    phone = with_extra()
    open_app_info(phone, "Extra")
    tap(phone, text="Uninstall")
    tap(phone, text="Uninstall", id="button1")
    assert bar(phone) == "All apps"
    assert "org.example.extra" not in phone.packages
    phone.close()


@pytest.mark.parametrize("deeper", [(), ("Storage & cache",), ("Permissions",)])
def test_the_page_of_a_removed_app_can_still_be_shown(deeper: tuple[str, ...]) -> None:
    phone = with_extra()
    open_app_info(phone, "Extra")
    walk(phone, *deeper)
    phone.packages.remove("org.example.extra")
    phone.windows.invalidate()
    assert "App isn't installed" in texts(phone) or "No permissions granted" in texts(phone)
    phone.close()


def test_granted_permissions_are_listed(phone: Phone) -> None:
    open_app_info(phone, "Clawperator Operator")
    walk(phone, "Permissions")
    assert "android.permission.POST_NOTIFICATIONS" in texts(phone)


def test_notifications_of_an_app_are_one_switch_in_two_places(phone: Phone) -> None:
    walk(phone, "Notifications", "App notifications", "Notes")
    open_app_info(phone, "Notes")
    assert not is_on(phone, "Notifications")


def test_toggling_the_operators_service_keeps_other_services(phone: Phone) -> None:
    key = ("secure", "enabled_accessibility_services")
    phone.settings.put(*key, f"org.other/.Service:{phone.operator.component}")
    walk(phone, "Accessibility", "Clawperator Operator", "Use Clawperator Operator")
    tap(phone, text="Stop")
    assert phone.settings.get(*key) == "org.other/.Service"
    assert not phone.operator.is_bound()
    walk(phone, "Use Clawperator Operator")
    tap(phone, text="Allow")
    assert phone.operator.is_bound()


def test_a_stopped_operator_restarts_when_its_service_is_enabled(phone: Phone) -> None:
    phone.stop_app(phone.operator.package)
    assert not phone.operator.is_bound()
    walk(phone, "Accessibility", "Clawperator Operator", "Use Clawperator Operator")
    tap(phone, text="Allow")
    assert phone.operator.is_bound()


def test_an_operator_that_is_not_installed_has_no_switch(phone: Phone) -> None:
    phone.packages.remove(phone.operator.package)
    walk(phone, "Accessibility", "Clawperator Operator")
    assert "App isn't installed" in texts(phone)
    assert not found(phone, cls="Switch")
