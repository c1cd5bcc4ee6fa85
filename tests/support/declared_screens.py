"""Every screen that the built-in apps declare, each opened directly, and the states of the system's own windows."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from clawperator.phone.apps.system import LAUNCHER
from clawperator.phone.core.phone import Phone
from clawperator.testing import SimulatedPhone

_SETTINGS, _VIDEO, _CHROME = "com.android.settings", "com.google.android.youtube", "com.android.chrome"
_NOTES, _SOLAR, _HARD = "com.clawperator.notes", "com.solaxcloud.starter", "com.clawperator.hard"
_CHOOSER = "com.android.intentresolver"
_WAIT_SECONDS = 2.0
_LANDSCAPE = 1
_AUTOMATION = {"key": "peak_export", "limit": 41, "expanded": True}
_LINK = "https://www.youtube.com/watch?v=wfte0000001"


class DeclaredScreen(Struct, frozen=True):
    """A screen that the phone shows now. ``app`` and ``screen`` are names; ``state`` is what else is special."""

    app: str
    screen: str
    state: str = ""


# The arguments of screens that cannot be opened without any.
_ARGUMENTS: Mapping[tuple[str, str], dict[str, Any]] = {
    (_SETTINGS, "network"): {"name": "Tidepool"},
    (_SETTINGS, "join"): {"name": "Tidepool"},
    (_SETTINGS, "confirm"): {
        "question": "Force stop?",
        "detail": "If you force stop an app, it may misbehave.",
        "yes": "Force stop",
        "effect": lambda _: None,
    },
    (_SETTINGS, "app_info"): {"package": _VIDEO},
    (_SETTINGS, "app_storage"): {"package": _VIDEO},
    (_SETTINGS, "permissions"): {"package": "com.clawperator.operator"},
    (_VIDEO, "results"): {"query": "linkin park"},
    (_VIDEO, "watch"): {"video": "wfte0000001"},
    (_CHROME, "page"): {"uri": "https://clawperator.com/"},
    (_CHOOSER, "choose"): {"uri": _LINK, "apps": [_CHROME, _VIDEO]},
    (_NOTES, "delete"): {"number": 1},
    (_SOLAR, "household"): _AUTOMATION,
    (_SOLAR, "limit"): {"page": _AUTOMATION},
    (_SOLAR, "confirm_save"): {"page": _AUTOMATION},
    (_HARD, "task"): {"uri": "hard:task/3"},
}
# Screens that another one replaces soon.
_BRIEF = {(_SOLAR, "first"), (_SOLAR, "loading")}


def visit_declared_screens(phone: SimulatedPhone) -> Iterator[DeclaredScreen]:
    """Each screen while the phone shows it."""
    device = phone.phone
    _add_notes(device)
    packages = [each.app.package for each in device.packages.all()]
    for package in sorted(packages, key=lambda name: name != LAUNCHER):
        app = device.packages.app(package)
        if package not in _SYSTEM:
            for name in app.screens:
                _open(phone, package, name)
                yield DeclaredScreen(package, name)
    for state, (package, name, prepare) in _STATES.items():
        _open(phone, package, name)
        prepare(phone)
        yield DeclaredScreen(package, name, state)
        device.windows.rotate(0)
        device.dismiss_alert()
        device.settings.put("secure", "ui_night_mode", "1")


# Bars, keyboard and alert are windows of their own; they are states of other screens.
_SYSTEM = {"android", "com.android.systemui", "com.google.android.inputmethod.latin"}


def _open(phone: SimulatedPhone, package: str, name: str) -> None:
    device = phone.phone
    app = device.packages.app(package)
    if package == LAUNCHER:
        device.go_home()
        if name != app.home:
            device.show_recents()
        return
    device.go_home()
    device.stop_app(package)
    arguments = dict(_ARGUMENTS.get((package, name), {}))
    if app.screens[name].kind == "activity":
        device.tasks.start(app, name, arguments)
    else:
        device.tasks.start(app, None if app.launchable else name, arguments)
        if app.launchable:
            device.clock.sleep(_WAIT_SECONDS)
            device.perform(device.tasks.front.top, lambda context: context.go(name, **arguments))
    if (package, name) not in _BRIEF:
        device.clock.sleep(_WAIT_SECONDS)


def _add_notes(device: Phone) -> None:
    device.launch(_NOTES)
    process = device.process_of(_NOTES)
    assert process is not None
    process.data["notes"] = {
        1: {"title": "Groceries", "body": "Bread\nApples", "category": "Personal", "pinned": True},
        2: {"title": "Release plan", "body": "Ask about the date", "category": "Work", "pinned": False},
    }
    process.data["next"] = 3


def _type(text: str, field: str) -> Callable[[SimulatedPhone], None]:
    def prepare(phone: SimulatedPhone) -> None:
        phone.person.tap(field)
        phone.phone.type_text(text)
        phone.phone.clock.sleep(_WAIT_SECONDS)

    return prepare


def _tap(label: str) -> Callable[[SimulatedPhone], None]:
    return lambda phone: phone.person.tap(label)


def _save_note(phone: SimulatedPhone) -> None:
    _type("Buy milk", "Title")(phone)
    phone.phone.go_back()  # hides the keyboard
    phone.person.tap("Save")


def _type_limit(phone: SimulatedPhone) -> None:
    phone.person.tap(id="van-field-1-input")
    phone.phone.type_text("5")


def _darken(phone: SimulatedPhone) -> None:
    phone.phone.settings.put("secure", "ui_night_mode", "2")


def _turn(phone: SimulatedPhone) -> None:
    phone.phone.windows.rotate(_LANDSCAPE)


def _alert(phone: SimulatedPhone) -> None:
    phone.phone.show_alert()


_STATES: Mapping[str, tuple[str, str, Callable[[SimulatedPhone], None]]] = {
    "typed": (_VIDEO, "search", _type("linkin p", "Search YouTube")),
    "found": (_SETTINGS, "search", _type("dis", "Search settings")),
    "filled": (_NOTES, "edit", _type("Buy milk", "Title")),
    "invalid": (_NOTES, "sign_in", lambda phone: phone.person.tap(id="sign_in_button")),
    "saved": (_NOTES, "edit", _save_note),
    "numbers": (_SOLAR, "limit", _type_limit),
    "tab": (_SOLAR, "main", _tap("Intelligence")),
    "alert": (_SETTINGS, "display", _alert),
    "dark home": (LAUNCHER, "home", _darken),
    "dark": (_SETTINGS, "display", _darken),
    "dark form": (_NOTES, "edit", _darken),
    "turned": (_SETTINGS, "display", _turn),
    "turned home": (LAUNCHER, "home", _turn),
}
