"""The package manager: intents, the activities that answer them, and the permissions of the phone."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from clawperator.phone.apps.system import LAUNCHER as HOME_APP
from clawperator.phone.core.phone import Phone
from clawperator.phone.core.tasks import Task
from clawperator.phone.shell.android.base import (
    SHELL_UID,
    ServiceArguments,
    ServiceError,
    number_error,
    read_int,
    security_error,
)
from clawperator.phone.toolkit.app import App, BackStackEntry

# Intents: read from the arguments of ``am``, and printed as Android prints them

MAIN = "android.intent.action.MAIN"
VIEW = "android.intent.action.VIEW"
LAUNCHER = "android.intent.category.LAUNCHER"
HOME = "android.intent.category.HOME"

NEW_TASK = 0x10000000
FROM_SHELL = 0x00400000
# Either flag clears a task down to its first activity.
CLEARING = 0x04000000 | 0x00008000

# How many words follow each option for an extra.
_EXTRAS = {
    **dict.fromkeys(("-e", "--es", "--ez", "--ei", "--el", "--ef", "--ed", "--eu", "--ecn"), 2),
    **dict.fromkeys(("--eia", "--eial", "--ela", "--elal", "--efa", "--efal", "--eda", "--edal"), 2),
    **dict.fromkeys(("--esa", "--esal"), 2),
    "--esn": 1,
}
_FLAGS = {
    "--grant-read-uri-permission": 0x1,
    "--grant-write-uri-permission": 0x2,
    "--debug-log-resolution": 0x8,
    "--exclude-stopped-packages": 0x10,
    "--include-stopped-packages": 0x20,
    "--activity-brought-to-front": 0x400000,
    "--activity-clear-top": 0x4000000,
    "--activity-clear-when-task-reset": 0x80000,
    "--activity-exclude-from-recents": 0x800000,
    "--activity-launched-from-history": 0x100000,
    "--activity-multiple-task": 0x8000000,
    "--activity-no-animation": 0x10000,
    "--activity-no-history": 0x40000000,
    "--activity-no-user-action": 0x40000,
    "--activity-previous-is-top": 0x1000000,
    "--activity-reorder-to-front": 0x20000,
    "--activity-reset-task-if-needed": 0x200000,
    "--activity-single-top": 0x20000000,
    "--activity-clear-task": 0x8000,
    "--activity-task-on-home": 0x4000,
    "--activity-match-external": 0x800,
    "--receiver-registered-only": 0x40000000,
    "--receiver-replace-pending": 0x20000000,
    "--receiver-foreground": 0x10000000,
    "--receiver-no-abort": 0x8000000,
    "--receiver-include-background": 0x1000000,
}
# Options whose value is a field of the intent.
_TEXTS = {"-a": "action", "-d": "data", "-t": "type", "-i": "identifier", "-p": "package"}
# Schemes whose content is masked in logs.
_PRIVATE = ("tel", "sip", "sms", "smsto", "mailto", "nfc")


Extra = str | int | float | bool


class Component(Struct, frozen=True):
    """A component of an app: its package and the full name of a class."""

    package: str
    name: str

    @property
    def full(self) -> str:
        return f"{self.package}/{self.name}"

    @property
    def short(self) -> str:
        """The class name without the package, where it begins with it."""
        inside = self.name.startswith(f"{self.package}.")
        return f"{self.package}/{self.name[len(self.package) :] if inside else self.name}"


def read_component(word: str) -> Component:
    """Read ``package/class``; a class that starts with a dot is inside the package."""
    package, slash, name = word.partition("/")
    if not (package and slash and name):
        raise ServiceError(f"Bad component name: {word}")
    return Component(package, package + name if name.startswith(".") else name)


class Intent(Struct, frozen=True, kw_only=True):
    """An intent. ``component`` names the target; ``package`` restricts the candidates."""

    action: str | None = None
    categories: tuple[str, ...] = ()
    data: str | None = None
    type: str | None = None
    identifier: str | None = None
    flags: int = 0
    package: str | None = None
    component: Component | None = None
    extras: dict[str, Extra] = {}

    def __str__(self) -> str:
        """As Android prints it: links shortened, extras not shown."""
        return f"Intent {{ {self.brief()} }}"

    def brief(self) -> str:
        parts = (
            self.action and f"act={self.action}",
            self.categories and f"cat=[{','.join(self.categories)}]",
            self.data and f"dat={_masked(self.data)}",
            self.type and f"typ={self.type}",
            self.identifier and f"id={self.identifier}",
            self.flags and f"flg=0x{self.flags:x}",
            self.package and f"pkg={self.package}",
            self.component and f"cmp={self.component.short}",
            self.extras and "(has extras)",
        )
        return " ".join(part for part in parts if part)

    def with_flags(self, flags: int) -> "Intent":
        return replace(self, flags=self.flags | flags)


def read_intent(arguments: ServiceArguments, own: Mapping[str, int]) -> tuple[Intent, dict[str, str]]:
    """The intent in the arguments of a command, and the command's own options.

    ``own`` maps each of those to the number of words that follow it, 0 or 1.
    """
    intent, found = Intent(), dict[str, str]()
    while (option := arguments.option()) is not None:
        if option in own:
            found[option] = arguments.required() if own[option] else ""
        else:
            intent = _read_option(intent, option, arguments)
    given = arguments.next()
    if given is not None:
        intent = _fill_in(intent, given)
    if intent == Intent():
        raise ServiceError("No intent supplied")
    return intent, found


def _read_option(intent: Intent, option: str, arguments: ServiceArguments) -> Intent:
    if option in _FLAGS:
        return intent.with_flags(_FLAGS[option])
    if option in _EXTRAS:
        key = arguments.required()
        value = arguments.required() if _EXTRAS[option] == 2 else ""
        return replace(intent, extras={**intent.extras, key: _read_extra(option, value)})
    if option in _TEXTS:
        return replace(intent, **{_TEXTS[option]: arguments.required()})
    match option:
        case "-c":
            return replace(intent, categories=(*intent.categories, arguments.required()))
        case "-n":
            return replace(intent, component=read_component(arguments.required()))
        case "-f":
            return intent.with_flags(_read_flags(arguments.required()))
        case _:
            raise ServiceError(f"Unknown option: {option}")


def _read_extra(option: str, value: str) -> Extra:
    """The value of an extra, of the type that the option names; a list stays text."""
    if option == "--ei":
        return read_int(value)
    if option == "--ez":
        if value.lower() not in {"true", "t", "false", "f", "0", "1"}:
            raise ServiceError(f"Invalid boolean value: {value}")
        return value.lower() in {"true", "t", "1"}
    if option in {"--el", "--ef", "--ed"}:
        try:
            return int(value) if option == "--el" else float(value)
        except ValueError:
            raise number_error(value) from None
    return value


def _read_flags(word: str) -> int:
    try:
        return int(word, 0) & 0xFFFFFFFF
    except ValueError:
        raise number_error(word) from None


def _fill_in(intent: Intent, word: str) -> Intent:
    """Apply a word without an option: a link, a component or a package. Explicit options win."""
    if ":" in word:
        return replace(intent, action=intent.action or VIEW, data=intent.data or word)
    if "/" in word:
        whole = replace(intent, component=intent.component or read_component(word))
    else:
        whole = replace(intent, package=intent.package or word)
    return replace(whole, action=intent.action or MAIN, categories=intent.categories or (LAUNCHER,))


def _masked(uri: str) -> str:
    scheme, colon, rest = uri.partition(":")
    if not colon:
        return ""
    if scheme.lower() in _PRIVATE:
        return f"{scheme}:" + "".join(c if c in "-@." else "x" for c in rest)
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return f"{scheme}:"
    authority = f"//{host}" + (f":{port}" if port is not None else "") if rest.startswith("//") else ""
    return f"{scheme}:{authority}" + ("/..." if authority or rest.startswith("/") else "")


# Permissions and activities


def _permissions(names: str) -> tuple[str, ...]:
    return tuple(f"android.permission.{name}" for name in names.split())


# Permissions that the user, or ``pm grant``, can grant and revoke.
RUNTIME_PERMISSIONS = _permissions(
    "ACCESS_BACKGROUND_LOCATION ACCESS_COARSE_LOCATION ACCESS_FINE_LOCATION ACTIVITY_RECOGNITION"
    " BLUETOOTH_ADVERTISE BLUETOOTH_CONNECT BLUETOOTH_SCAN BODY_SENSORS CALL_PHONE CAMERA GET_ACCOUNTS"
    " NEARBY_WIFI_DEVICES POST_NOTIFICATIONS READ_CALENDAR READ_CALL_LOG READ_CONTACTS READ_EXTERNAL_STORAGE"
    " READ_MEDIA_AUDIO READ_MEDIA_IMAGES READ_MEDIA_VIDEO READ_PHONE_NUMBERS READ_PHONE_STATE READ_SMS RECEIVE_SMS"
    " RECORD_AUDIO SEND_SMS WRITE_CALENDAR WRITE_CALL_LOG WRITE_CONTACTS WRITE_EXTERNAL_STORAGE"
)
# Permissions that only ``pm grant`` can grant, for development tools.
DEVELOPMENT_PERMISSIONS = _permissions(
    "DUMP PACKAGE_USAGE_STATS READ_LOGS SET_ANIMATION_SCALE WRITE_SECURE_SETTINGS"
)
# Permissions that every app has and that cannot be revoked.
INSTALL_PERMISSIONS = _permissions("ACCESS_NETWORK_STATE ACCESS_WIFI_STATE INTERNET VIBRATE WAKE_LOCK")
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


def screen_component(app: App, screen: str) -> Component:
    """The activity of a screen of an app."""
    return Component(app.package, app.screens[screen].activity)


def is_exported(app: App) -> bool:
    """Whether other apps may start its main activity."""
    return app.launchable or app.package == HOME_APP


def _find_component(phone: Phone, intent: Intent, component: Component) -> ResolvedActivity | None:
    """The activity of that name; None when there is none. ``ServiceError`` when it is not exported."""
    if component.package not in phone.packages:
        return None
    package = phone.packages[component.package]
    app = package.app
    if component == screen_component(app, app.home) and is_exported(app):
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
    """Every activity that answers an intent. ``ServiceError`` when its component is not exported."""
    if intent.component is not None:
        target = _find_component(phone, intent, intent.component)
        return [target] if target is not None else []
    if (intent.action or "").startswith(_SETTINGS_ACTIONS):
        found = _settings_page(phone, intent)
    elif intent.data is not None:
        if intent.action not in _LINK_ACTIONS:
            return []
        apps = phone.packages.handlers(intent.data)
        found = [ResolvedActivity(app, screen_component(app, app.link_screen), intent.data) for app in apps]
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
    return [ResolvedActivity(app, screen_component(app, page), screen=page, args=args)]


def activity_of(task: Task) -> Component:
    """The topmost activity of a task, below its dialogs."""
    return component_of(task.shown()[0])


def tasks_from_top(phone: Phone) -> list[Task]:
    """All tasks, the one in front first."""
    front = phone.tasks.front
    return [front, *(task for task in (*phone.tasks.recent(), phone.tasks.launcher) if task is not front)]


def component_of(entry: BackStackEntry) -> Component:
    return Component(entry.package, entry.screen.activity)


def _first(app: App) -> ResolvedActivity:
    return ResolvedActivity(app, screen_component(app, app.home))
