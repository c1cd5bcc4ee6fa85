"""A phone in the box that all tests of a module share, set right before each of them."""

from collections.abc import Iterator

import pytest
from tests.support.routes import Route, open_route

from clawperator.contract.wire import OPERATOR_PACKAGE, accessibility_service, notification_listener
from clawperator.phone.core.faults import FAULTS

NOTIFICATIONS = "android.permission.POST_NOTIFICATIONS"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Route]:
    with open_route("no adb", tmp_path_factory.mktemp("box")) as route:
        yield route


@pytest.fixture
def route(shared: Route, monkeypatch: pytest.MonkeyPatch) -> Route:
    """The phone: no faults, its Operator allowed all it needs, and nothing else set."""
    shared.take(monkeypatch)
    phone = shared.box.phone
    for name in FAULTS:
        phone.set_fault(name, "off")
    phone.operator.grant()
    for name in ("development_settings_enabled", "adb_enabled"):
        phone.settings.put("global", name, "1")
    return shared


def take_away(route: Route, package: str = OPERATOR_PACKAGE) -> None:
    """Nothing is granted to the Operator any more."""
    phone = route.box.phone
    for name in ("enabled_accessibility_services", "enabled_notification_listeners", "accessibility_enabled"):
        phone.settings.delete("secure", name)
    phone.packages.revoke(package, NOTIFICATIONS)


def secure(route: Route, name: str) -> list[str]:
    return (route.box.phone.settings.get("secure", name) or "").split(":")


def is_granted(route: Route, package: str = OPERATOR_PACKAGE) -> bool:
    return (
        accessibility_service(package) in secure(route, "enabled_accessibility_services")
        and notification_listener(package) in secure(route, "enabled_notification_listeners")
        and secure(route, "accessibility_enabled") == ["1"]
        and NOTIFICATIONS in route.box.phone.packages.granted(package)
    )


__all__ = ["NOTIFICATIONS", "is_granted", "route", "secure", "shared", "take_away"]
