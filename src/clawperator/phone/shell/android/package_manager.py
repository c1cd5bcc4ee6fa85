"""The package manager: the permissions of the phone, and the activities that answer an intent."""

from msgspec import Struct

from clawperator.phone.apps.system import LAUNCHER as HOME_APP
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.shell.android.base import SHELL_UID, security_error
from clawperator.phone.shell.android.intents import HOME, LAUNCHER, MAIN, VIEW, Component, Intent
from clawperator.phone.toolkit.app import App, BackStackEntry

# Permissions that the user, or ``pm grant``, can grant and revoke.
RUNTIME_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in (
        "ACCESS_BACKGROUND_LOCATION",
        "ACCESS_COARSE_LOCATION",
        "ACCESS_FINE_LOCATION",
        "ACTIVITY_RECOGNITION",
        "BLUETOOTH_ADVERTISE",
        "BLUETOOTH_CONNECT",
        "BLUETOOTH_SCAN",
        "BODY_SENSORS",
        "CALL_PHONE",
        "CAMERA",
        "GET_ACCOUNTS",
        "NEARBY_WIFI_DEVICES",
        "POST_NOTIFICATIONS",
        "READ_CALENDAR",
        "READ_CALL_LOG",
        "READ_CONTACTS",
        "READ_EXTERNAL_STORAGE",
        "READ_MEDIA_AUDIO",
        "READ_MEDIA_IMAGES",
        "READ_MEDIA_VIDEO",
        "READ_PHONE_NUMBERS",
        "READ_PHONE_STATE",
        "READ_SMS",
        "RECEIVE_SMS",
        "RECORD_AUDIO",
        "SEND_SMS",
        "WRITE_CALENDAR",
        "WRITE_CALL_LOG",
        "WRITE_CONTACTS",
        "WRITE_EXTERNAL_STORAGE",
    )
)
# Permissions that only ``pm grant`` can grant, for development tools.
DEVELOPMENT_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in ("DUMP", "PACKAGE_USAGE_STATS", "READ_LOGS", "SET_ANIMATION_SCALE", "WRITE_SECURE_SETTINGS")
)
# Permissions that every app has and that cannot be revoked.
INSTALL_PERMISSIONS = tuple(
    f"android.permission.{name}"
    for name in ("ACCESS_NETWORK_STATE", "ACCESS_WIFI_STATE", "INTERNET", "VIBRATE", "WAKE_LOCK")
)
GRANTABLE = frozenset((*RUNTIME_PERMISSIONS, *DEVELOPMENT_PERMISSIONS))

_SETTINGS = "com.android.settings"
_SETTINGS_ACTIONS = "android.settings."
# The settings pages that actions name; any other settings action opens the first page.
_PAGES = {
    "ACCESSIBILITY_SETTINGS": "accessibility",
    "APPLICATION_DETAILS_SETTINGS": "app_info",
    "APPLICATION_DEVELOPMENT_SETTINGS": "developer",
    "APPLICATION_SETTINGS": "apps",
    "BLUETOOTH_SETTINGS": "connected_devices",
    "DATE_SETTINGS": "date_and_time",
    "DEVICE_INFO_SETTINGS": "about",
    "DISPLAY_SETTINGS": "display",
    "LOCALE_SETTINGS": "languages",
    "LOCATION_SOURCE_SETTINGS": "location",
    "SECURITY_SETTINGS": "security",
    "SOUND_SETTINGS": "sound",
    "WIFI_SETTINGS": "internet",
    "WIRELESS_SETTINGS": "network_and_internet",
}
# The actions that open a link with an app that handles it.
_LINK_ACTIONS = (None, VIEW, "android.intent.action.DIAL", "android.intent.action.SENDTO")


class ResolvedActivity(Struct, frozen=True):
    """An activity to start. ``uri`` is the link to open; ``screen`` is set when it is not the first."""

    app: App
    component: Component
    uri: str | None = None
    screen: str | None = None
    args: dict[str, str] = {}


def home_of(app: App) -> Component:
    """The main activity of an app."""
    return Component(app.package, app.screens[app.home].activity)


def is_exported(app: App) -> bool:
    """Whether other apps may start its main activity."""
    return app.launchable or app.package == HOME_APP


def find_component(phone: Phone, intent: Intent, component: Component) -> ResolvedActivity | None:
    """The activity of that name; None when there is none. ``ServiceError`` when it is not exported."""
    if component.package not in phone.packages:
        return None
    package = phone.packages[component.package]
    app = package.app
    if component == home_of(app) and is_exported(app):
        takes_link = intent.data is not None and app.link_screen == app.home and bool(app.links)
        return ResolvedActivity(app, component, intent.data if takes_link else None)
    if app.links and intent.data and component.name == app.screens[app.link_screen].activity:
        return ResolvedActivity(app, component, intent.data)
    if all(screen.activity != component.name for screen in app.screens.values()):
        return None
    raise security_error(
        f"Permission Denial: starting {intent} from null (pid={phone.tasks.launcher.process.pid},"
        f" uid={SHELL_UID}) not exported from uid {package.uid}"
    )


def find_all(phone: Phone, intent: Intent) -> list[ResolvedActivity]:
    """Every activity that answers an intent without a component."""
    if (intent.action or "").startswith(_SETTINGS_ACTIONS):
        found = _settings_page(phone, intent)
    elif intent.data is not None:
        if intent.action not in _LINK_ACTIONS:
            return []
        apps = phone.packages.handlers(intent.data)
        found = [ResolvedActivity(app, _link_component(app), intent.data) for app in apps]
    elif intent.action == MAIN and HOME in intent.categories:
        found = [_first(phone.packages.app(HOME_APP))]
    elif intent.action == MAIN and (LAUNCHER in intent.categories or not intent.categories):
        found = [_first(package.app) for package in phone.packages.all() if package.app.launchable]
    else:
        found = []
    return [target for target in found if intent.package in (None, target.app.package)]


def _settings_page(phone: Phone, intent: Intent) -> list[ResolvedActivity]:
    app = phone.packages.launchable(_SETTINGS)
    if app is None:
        return []
    page = _PAGES.get((intent.action or "").removeprefix(_SETTINGS_ACTIONS))
    if page is None or page not in app.screens:
        return [_first(app)]
    kind, _, about = (intent.data or "").partition(":")
    args = {"package": about} if kind == "package" else {}
    return [ResolvedActivity(app, Component(app.package, app.screens[page].activity), screen=page, args=args)]


def front_activity(phone: Phone) -> Component:
    """The activity in front, below its dialogs."""
    return activity_of(phone.tasks.front)


def activity_of(task: Task) -> Component:
    """The topmost activity of a task."""
    return component_of(task.shown()[0])


def tasks_from_top(phone: Phone) -> list[Task]:
    """All tasks, the one in front first."""
    front = phone.tasks.front
    return [front, *(task for task in (*phone.tasks.recent(), phone.tasks.launcher) if task is not front)]


def component_of(entry: BackStackEntry) -> Component:
    return Component(entry.package, entry.screen.activity)


def _first(app: App) -> ResolvedActivity:
    return ResolvedActivity(app, home_of(app))


def _link_component(app: App) -> Component:
    return Component(app.package, app.screens[app.link_screen].activity)
