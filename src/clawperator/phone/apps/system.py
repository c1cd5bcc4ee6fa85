"""The apps that are part of the system: launcher, navigation bar, dialogs, keyboard, the Operator's own screen."""

from collections.abc import Callable
from functools import cache

from clawperator.phone.toolkit.app import App, start
from clawperator.phone.toolkit.context import AppContext, Effect, InstalledApp
from clawperator.phone.toolkit.views import Rows, View, button, column, icon, item, listing, row, text, title
from clawperator.recording.heuristics import SYSTEM_UI

ANDROID = "android"
KEYBOARD = "com.google.android.inputmethod.latin"
KEYBOARD_COMPONENT = f"{KEYBOARD}/com.android.inputmethod.latin.LatinIME"

# The labels of keys that are not characters.
DELETE_KEY, ENTER_KEY, SHIFT_KEY, SYMBOLS_KEY = "del", "enter", "shift", "?123"
_SPACE = " "
_LETTERS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_SYMBOLS = ("1234567890", "@#$%&-+()/", "*\"':;!?")
_NUMBERS = ("123", "456", "789", ".0-")

LAUNCHER = "com.android.launcher3"
_ICON_COLUMNS = 4
_ICON_ROW_DP = 104
_DOCK = ("com.android.chrome", "com.android.settings", "com.clawperator.notes", "com.google.android.youtube")
# On a lower screen the dock would leave no room for the other apps.
_DOCK_FROM_DP = 480


@cache
def system_ui() -> App:
    """The navigation bar with its three buttons."""
    app = App(SYSTEM_UI, "System UI", home="navigation", system=True, launchable=False)

    def bar_button(label: str, effect: Effect, name: str, picture: str) -> View:
        return icon(label, effect, id=name, picture=picture, weight=1, width=0)

    @app.screen("navigation", title="", activity="com.android.systemui.navigationbar.NavigationBarFrame")
    def navigation(_: AppContext) -> View:
        return row(
            bar_button("Back", lambda context: context.system.go_back(), "back", "<"),
            bar_button("Home", lambda context: context.system.go_home(), "home", "o"),
            bar_button("Overview", lambda context: context.system.show_recents(), "recent_apps", "="),
            tone="dark",
        )

    return app


@cache
def android_app() -> App:
    """The package ``android``: system dialogs."""
    app = App(ANDROID, "Android System", home="alert", system=True, launchable=False)

    activity = "com.android.server.am.AppNotRespondingDialog"

    @app.dialog("alert", title="System UI isn't responding", activity=activity)
    def alert(_: AppContext) -> View:
        def dismiss(context: AppContext) -> None:
            context.system.dismiss_alert()

        return column(
            title("System UI isn't responding", id="android:id/alertTitle"),
            button("Close app", dismiss, id="android:id/aerr_close"),
            button("Wait", dismiss, id="android:id/aerr_wait"),
            padding=16,
            gap=8,
            tone="surface",
        )

    return app


def keyboard_app(type_text: Callable[[str], None], delete: Callable[[], None], enter: Callable[[], None]) -> App:
    """The keyboard, with two screens: letters with symbols, and a number pad. It emits no events of its own."""

    def character_key(character: str, weight: float = 1) -> View:
        def run(context: AppContext) -> None:
            type_text(character)
            context.state["shift"] = False

        return key(character, run, weight)

    def key(label: str, effect: Effect, weight: float = 1) -> View:
        name = "android.inputmethodservice.Key"
        return View(class_name=name, text=label, on_click=effect, weight=weight, padding=8, size=18, tone="muted")

    def toggle(flag: str) -> Effect:
        return lambda context: context.state.__setitem__(flag, not context.state.get(flag, False))

    backspace = key(DELETE_KEY, lambda _: delete(), 1.5)
    submit = key(ENTER_KEY, lambda _: enter(), 1.5)

    def letters(context: AppContext) -> View:
        rows = _SYMBOLS if context.state.get("symbols") else _LETTERS
        upper = context.state.get("shift") and rows is _LETTERS
        keys = [[character_key(c.upper() if upper else c) for c in r] for r in rows]
        shift = key(SHIFT_KEY, toggle("shift"), 1.5)
        last = (
            key(SYMBOLS_KEY, toggle("symbols"), 1.5),
            character_key(","),
            character_key(_SPACE, 5),
            character_key("."),
            submit,
        )
        lines = (row(*keys[0], weight=1), row(*keys[1], weight=1), row(shift, *keys[2], backspace, weight=1))
        return column(*lines, row(*last, weight=1), tone="dark", weight=1)

    def numbers(_: AppContext) -> View:
        pad = [row(*(character_key(c) for c in line), weight=1) for line in _NUMBERS]
        return column(*pad, row(backspace, submit, weight=1), tone="dark", weight=1)

    app = App(KEYBOARD, "Gboard", home="letters", system=True, launchable=False)
    activity = "android.inputmethodservice.SoftInputWindow"
    app.screen("letters", title="", activity=activity)(letters)
    app.screen("numbers", title="", activity=activity)(numbers)
    return app


def is_symbol(character: str) -> bool | None:
    """True for a key of the symbols page, False for one of the letters page, None when neither has it."""
    if character.lower() in "".join(_LETTERS) or character in (",", ".", _SPACE):
        return False
    return True if character in "".join(_SYMBOLS) else None


@cache
def operator_app(package: str, version: str) -> App:
    """The Operator's own screen."""
    app = App(package, "Clawperator Operator", home="main", version=version)

    @app.screen("main", title="Clawperator", activity="clawperator.activity.MainActivity")
    def main(context: AppContext) -> View:
        running = context.system.operator.is_bound()
        return column(
            title("Clawperator Operator"),
            text("Accessibility service is running" if running else "Accessibility service is off", id="status"),
            text(f"Version {version}", id="version", tone="muted"),
            padding=16,
        )

    return app


def installed_app(package: str, label: str, version: str) -> App:
    """An app installed from an APK. Its code does not run here: it shows its name."""
    app = App(package, label, version=version)

    @app.screen("home", activity=f"{package}.MainActivity")
    def home(_: AppContext) -> View:
        return column(title(label), text(package, id="package", tone="muted"), padding=16)

    return app


def launcher_app() -> App:
    """The home screen with a clock and app icons, and the recent apps."""
    app = App(LAUNCHER, "Launcher", system=True, launchable=False)
    activity = f"{LAUNCHER}.uioverrides.QuickstepLauncher"
    app.screen("home", title="Home screen", activity=activity)(_home)
    app.screen("recents", title="Recent apps", activity=activity)(_recents)
    return app


def _home(context: AppContext) -> View:
    """A clock, the apps, and a dock with those that are used most, where there is room for it."""
    system = context.system
    found = sorted((p.app for p in system.packages.all() if p.app.launchable), key=lambda app: app.label.lower())
    docked = [app for app in found if app.package in _DOCK] if system.content_height_dp >= _DOCK_FROM_DP else []
    listed = [app for app in found if app not in docked]

    def icons(line: int) -> View:
        shown = [_icon(app) for app in listed[line * _ICON_COLUMNS : (line + 1) * _ICON_COLUMNS]]
        return row(*shown, *(View(weight=1) for _ in range(_ICON_COLUMNS - len(shown))))

    lines = Rows(-(-len(listed) // _ICON_COLUMNS), _ICON_ROW_DP, icons)
    dock = (row(*map(_icon, docked), id="hotseat", height=_ICON_ROW_DP),) if docked else ()
    return column(
        View(desc="Clock", id="clock", shows_time=True, height=112, padding=16, size=48),
        listing(rows=lines, id="apps_list_view", columns=_ICON_COLUMNS),
        *dock,
        id="workspace",
        weight=1,
    )


def _icon(app: InstalledApp) -> View:
    return View(
        class_name="android.widget.TextView",
        text=app.label,
        desc=app.label,
        id="icon",
        on_click=start(app.package),
        picture=app.label[:1],
        size=12,
        weight=1,
        height=96,
        padding=8,
    )


def _recents(context: AppContext) -> View:
    recent = context.system.recent_apps()
    cards = [item(app.label, app.package, start(app.package), id="task") for app in recent]
    return column(title("Recent apps"), listing(*(cards or [text("No recent items")]), id="overview_panel"))
