"""Grant, revoke and check the Operator's permissions on a simulated phone."""

from clawperator.contract.wire import OPERATOR_PACKAGE, accessibility_service, notification_listener
from tests.support.routes import Route

NOTIFICATIONS = "android.permission.POST_NOTIFICATIONS"


def take_away(route: Route, package: str = OPERATOR_PACKAGE) -> None:
    """Revoke every grant of the Operator."""
    phone = route.phone_server.phone
    for name in ("enabled_accessibility_services", "enabled_notification_listeners", "accessibility_enabled"):
        phone.settings.delete("secure", name)
    phone.packages.revoke(package, NOTIFICATIONS)


def secure(route: Route, name: str) -> list[str]:
    return (route.phone_server.phone.settings.get("secure", name) or "").split(":")


def is_granted(route: Route, package: str = OPERATOR_PACKAGE) -> bool:
    return (
        accessibility_service(package) in secure(route, "enabled_accessibility_services")
        and notification_listener(package) in secure(route, "enabled_notification_listeners")
        and secure(route, "accessibility_enabled") == ["1"]
        and NOTIFICATIONS in route.phone_server.phone.packages.granted(package)
    )
