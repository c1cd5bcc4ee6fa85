"""Who answers an intent: the activities other programs may start, and what stands in front."""

from msgspec import Struct

from clawperator.phone.apps import LAUNCHER as HOME_APP
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.shell.android.base import SHELL_UID, denied
from clawperator.phone.shell.android.intents import HOME, LAUNCHER, MAIN, VIEW, Component, Intent
from clawperator.phone.toolkit.app import App, BackStackEntry

_SETTINGS = "com.android.settings"
_SETTINGS_ACTIONS = "android.settings."
# The pages programs ask for by name; any other action of this kind opens the first.
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
# What is done with a link by the app that takes links of its kind.
_LINK_ACTIONS = (None, VIEW, "android.intent.action.DIAL", "android.intent.action.SENDTO")


class Target(Struct, frozen=True):
    """An activity to start. With ``uri`` it is shown that link; ``screen`` is one that is not the first."""

    app: App
    component: Component
    uri: str | None = None
    screen: str | None = None
    args: dict[str, str] = {}


def home_of(app: App) -> Component:
    """The first screen of an app."""
    return Component(app.package, app.screens[app.home].activity)


def is_exported(app: App) -> bool:
    """Whether other programs may start its first screen."""
    return app.launchable or app.package == HOME_APP


def find_component(phone: Phone, intent: Intent, component: Component) -> Target | None:
    """The activity of that name; None when there is none. One that only its own app may start is refused."""
    if component.package not in phone.packages:
        return None
    package = phone.packages[component.package]
    app = package.app
    if component == home_of(app) and is_exported(app):
        takes_link = intent.data is not None and app.link_screen == app.home and bool(app.links)
        return Target(app, component, intent.data if takes_link else None)
    if app.links and intent.data and component.name == app.screens[app.link_screen].activity:
        return Target(app, component, intent.data)
    if all(screen.activity != component.name for screen in app.screens.values()):
        return None
    raise denied(
        f"Permission Denial: starting {intent} from null (pid={phone.tasks.launcher.process.pid},"
        f" uid={SHELL_UID}) not exported from uid {package.uid}"
    )


def find_all(phone: Phone, intent: Intent) -> list[Target]:
    """Every activity that answers an intent without a component."""
    if (intent.action or "").startswith(_SETTINGS_ACTIONS):
        found = _settings_page(phone, intent)
    elif intent.data is not None:
        if intent.action not in _LINK_ACTIONS:
            return []
        apps = phone.packages.handlers(intent.data)
        found = [Target(app, _link_component(app), intent.data) for app in apps]
    elif intent.action == MAIN and HOME in intent.categories:
        found = [_first(phone.packages.app(HOME_APP))]
    elif intent.action == MAIN and (LAUNCHER in intent.categories or not intent.categories):
        found = [_first(package.app) for package in phone.packages.all() if package.app.launchable]
    else:
        found = []
    return [target for target in found if intent.package in (None, target.app.package)]


def _settings_page(phone: Phone, intent: Intent) -> list[Target]:
    app = phone.packages.launchable(_SETTINGS)
    if app is None:
        return []
    page = _PAGES.get((intent.action or "").removeprefix(_SETTINGS_ACTIONS))
    if page is None or page not in app.screens:
        return [_first(app)]
    kind, _, about = (intent.data or "").partition(":")
    args = {"package": about} if kind == "package" else {}
    return [Target(app, Component(app.package, app.screens[page].activity), screen=page, args=args)]


def front_activity(phone: Phone) -> Component:
    """The activity in front, below the dialogs that lie over it."""
    return activity_of(phone.tasks.front)


def activity_of(task: Task) -> Component:
    """The topmost activity of a task."""
    return component_of(task.shown()[0])


def tasks_from_top(phone: Phone) -> list[Task]:
    """All that is open, what is in front first."""
    front = phone.tasks.front
    return [front, *(task for task in (*phone.tasks.recent(), phone.tasks.launcher) if task is not front)]


def component_of(entry: BackStackEntry) -> Component:
    return Component(entry.package, entry.screen.activity)


def _first(app: App) -> Target:
    return Target(app, home_of(app))


def _link_component(app: App) -> Component:
    return Component(app.package, app.screens[app.link_screen].activity)
