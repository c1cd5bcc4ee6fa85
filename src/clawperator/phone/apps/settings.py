"""The Settings app: its values, its pages in a table, and pages with code of their own."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    Rows,
    View,
    alert,
    button,
    column,
    field,
    icon,
    item,
    listing,
    progress,
    row,
    scroll,
    text,
    title,
)

# Values, pages, and where each value is stored


class StoredValue(Struct, frozen=True):
    """Where a value is stored: in a table of the system settings, or in the app's own data."""

    table: Literal["system", "secure", "global", "app"]
    key: str
    default: str = "0"
    on: str = "1"
    off: str = "0"


class SettingsRow(Struct, frozen=True):
    """One row of a page: with the screen it ``opens``, or the value that its switch ``toggles``."""

    title: str
    summary: str | Callable[[AppContext], str] = ""
    opens: str = ""
    toggles: StoredValue | None = None


class SettingsPage(Struct, frozen=True):
    title: str
    rows: tuple[SettingsRow, ...]


class ChoicePage(Struct, frozen=True):
    """A page of radio buttons. An option is its label and its stored value."""

    title: str
    stored: StoredValue
    options: tuple[tuple[str, str], ...]


class Network(Struct, frozen=True):
    name: str
    security: str
    signal: str


def read(context: AppContext, stored: StoredValue) -> str:
    if stored.table == "app":
        return str(context.data.get(stored.key, stored.default))
    value = context.system.settings.get(stored.table, stored.key)
    return stored.default if value is None else value


def write(context: AppContext, stored: StoredValue, value: str) -> None:
    if stored.table == "app":
        context.data[stored.key] = value
        return
    try:
        context.system.settings.put(stored.table, stored.key, value)
    except ValueError:
        context.toast("Couldn't save the setting")


def is_on(context: AppContext, stored: StoredValue) -> bool:
    """Whether a value counts as on. Where off is 0, any other number is on."""
    value = read(context, stored)
    return value == stored.on or (stored.off == "0" and value not in ("0", ""))


def percent(context: AppContext) -> int:
    """The brightness in percent. Programs may have stored anything there."""
    value = read(context, BRIGHTNESS)
    level = int(value) if value.isdecimal() and len(value) < 6 else 0
    return round(min(level, 255) * 100 / 255)


def network(context: AppContext) -> str:
    """The name of the connected network; empty while Wi-Fi is off."""
    return read(context, NETWORK) if is_on(context, WIFI) else ""


def _prop(name: str) -> Callable[[AppContext], str]:
    return lambda context: context.system.properties.get(name, "")


BRIGHTNESS = StoredValue("system", "screen_brightness", "102")
WIFI = StoredValue("global", "wifi_on", "1")
NETWORK = StoredValue("app", "network", "Burrow")
NETWORKS = (
    Network("Burrow", "WPA3-Personal", "Excellent"),
    Network("Tidepool", "WPA2-Personal", "Good"),
    Network("Café Krabbe", "None", "Fair"),
)
NEARBY = ("Kitchen speaker", "Desk keyboard", "Car")


def _toggle(label: str, *stored: Any, summary: str = "") -> SettingsRow:
    """A row with a switch; ``stored`` are the fields of its ``StoredValue``."""
    return SettingsRow(label, summary, toggles=StoredValue(*stored))


def _page(label: str, *rows: SettingsRow) -> SettingsPage:
    return SettingsPage(label, rows)


CHOICES = {
    "screen_timeout": ChoicePage(
        "Screen timeout",
        StoredValue("system", "screen_off_timeout", "600000"),
        (
            ("15 seconds", "15000"),
            ("30 seconds", "30000"),
            ("1 minute", "60000"),
            ("2 minutes", "120000"),
            ("5 minutes", "300000"),
            ("10 minutes", "600000"),
            ("30 minutes", "1800000"),
        ),
    ),
    "font_size": ChoicePage(
        "Font size",
        StoredValue("system", "font_scale", "1.0"),
        (("Small", "0.85"), ("Default", "1.0"), ("Large", "1.15"), ("Largest", "1.3")),
    ),
    "private_dns": ChoicePage(
        "Private DNS",
        StoredValue("global", "private_dns_mode", "opportunistic"),
        (("Off", "off"), ("Automatic", "opportunistic")),
    ),
    "lock_screen": ChoicePage(
        "Notifications on lock screen",
        StoredValue("secure", "lock_screen_show_notifications", "1"),
        (("Show all notifications", "1"), ("Don't show any notifications", "0")),
    ),
    "time_format": ChoicePage(
        "Time format", StoredValue("system", "time_12_24", "12"), (("1:00 pm", "12"), ("13:00", "24"))
    ),
    "wallpaper_colour": ChoicePage(
        "Colors",
        StoredValue("app", "wallpaper_colour", "coral"),
        (("Coral", "coral"), ("Kelp", "kelp"), ("Sand", "sand")),
    ),
}

PAGES = {
    "home": _page(
        "Settings",
        SettingsRow("Network & internet", "Wi-Fi", "network_and_internet"),
        SettingsRow("Connected devices", "Bluetooth", "connected_devices"),
        SettingsRow("Apps", "All apps, unused apps", "apps"),
        SettingsRow("Notifications", "App notifications, history", "notifications"),
        SettingsRow("Battery", "100%", "battery"),
        SettingsRow("Storage", "9% used - 116 GB free", "storage"),
        SettingsRow("Sound & vibration", "Do Not Disturb, vibration, touch", "sound"),
        SettingsRow("Display", "Dark theme, font size, brightness", "display"),
        SettingsRow("Wallpaper & style", "Colors, themed icons", "wallpaper"),
        SettingsRow("Accessibility", "Services, color, motion", "accessibility"),
        SettingsRow("Security & privacy", "Security update, privacy controls", "security"),
        SettingsRow("Location", "Location access", "location"),
        SettingsRow("System", "Languages, time, developer options", "system"),
        SettingsRow("About phone", _prop("ro.product.model"), "about"),
    ),
    "network_and_internet": _page(
        "Network & internet",
        SettingsRow("Internet", lambda context: network(context) or "Not connected", "internet"),
        _toggle("Airplane mode", "global", "airplane_mode_on"),
        _toggle("Data Saver", "app", "data_saver"),
        SettingsRow("Private DNS", opens="private_dns"),
    ),
    "connected_devices": _page(
        "Connected devices",
        _toggle("Use Bluetooth", "global", "bluetooth_on", "1"),
        SettingsRow("Pair new device", "Bluetooth will turn on to pair", "pair"),
        SettingsRow("Saved devices", lambda context: ", ".join(context.data["paired"]) or "None", "devices"),
    ),
    "apps": _page(
        "Apps",
        SettingsRow("See all apps", lambda context: f"{len(context.system.packages.all())} apps", "all_apps"),
        SettingsRow("Unused apps", "0 unused apps"),
    ),
    "notifications": _page(
        "Notifications",
        SettingsRow("App notifications", "Control notifications from individual apps", "app_notifications"),
        _toggle("Notification history", "secure", "notification_history_enabled"),
        SettingsRow("Notifications on lock screen", opens="lock_screen"),
        _toggle("Notification dot on app icon", "secure", "notification_badging", "1"),
    ),
    "battery": _page(
        "Battery",
        SettingsRow("Battery level", "100%"),
        _toggle("Battery Saver", "global", "low_power"),
        _toggle("Battery percentage", "system", "status_bar_show_battery_percent", summary="Show in status bar"),
    ),
    "storage": _page(
        "Storage",
        SettingsRow("System", "11 GB"),
        SettingsRow("Apps", "0.6 GB"),
        SettingsRow("Free space", "116 GB"),
    ),
    "sound": _page(
        "Sound & vibration",
        _toggle("Do Not Disturb", "global", "zen_mode"),
        _toggle("Vibrate when ringing", "system", "vibrate_when_ringing"),
        _toggle("Touch sounds", "system", "sound_effects_enabled", "1"),
        _toggle("Touch feedback", "system", "haptic_feedback_enabled", "1"),
    ),
    "display": _page(
        "Display",
        SettingsRow("Brightness level", lambda context: f"{percent(context)}%", "brightness"),
        _toggle("Adaptive brightness", "system", "screen_brightness_mode"),
        SettingsRow("Screen timeout", opens="screen_timeout"),
        _toggle("Dark theme", "secure", "ui_night_mode", "1", "2", "1"),
        SettingsRow("Font size", opens="font_size"),
        _toggle("Night Light", "secure", "night_display_activated"),
        _toggle("Auto-rotate screen", "system", "accelerometer_rotation"),
    ),
    "wallpaper": _page(
        "Wallpaper & style",
        SettingsRow("Colors", opens="wallpaper_colour"),
        _toggle("Themed icons", "app", "themed_icons"),
    ),
    "accessibility": _page(
        "Accessibility",
        SettingsRow(
            "Clawperator Operator",
            lambda context: "On" if context.system.operator.is_bound() else "Off",
            "operator",
        ),
        SettingsRow("Color and motion", "Color inversion, animations", "colour_and_motion"),
        _toggle("High contrast text", "secure", "high_text_contrast_enabled"),
    ),
    "colour_and_motion": _page(
        "Color and motion",
        _toggle("Color inversion", "secure", "accessibility_display_inversion_enabled"),
        _toggle("Remove animations", "global", "animator_duration_scale", "0.0", "0.0", "1.0"),
    ),
    "security": _page(
        "Security & privacy",
        SettingsRow("Security update", _prop("ro.build.version.security_patch")),
        SettingsRow("Privacy controls", "Passwords, clipboard", "privacy"),
    ),
    "privacy": _page(
        "Privacy controls",
        _toggle("Show passwords", "system", "show_password", "1", summary="Show characters briefly as you type"),
        _toggle("Show clipboard access", "secure", "clipboard_show_access_notifications", "1"),
    ),
    "location": _page(
        "Location",
        _toggle("Use location", "secure", "location_mode", "3", "3"),
        SettingsRow("Location services", "Wi-Fi and Bluetooth scanning", "location_services"),
    ),
    "location_services": _page(
        "Location services",
        _toggle("Wi-Fi scanning", "global", "wifi_scan_always_enabled"),
        _toggle("Bluetooth scanning", "global", "ble_scan_always_enabled"),
    ),
    "system": _page(
        "System",
        SettingsRow("Languages & input", "English (United States), Gboard", "languages"),
        SettingsRow("Date & time", _prop("persist.sys.timezone"), "date_and_time"),
        SettingsRow("Developer options", "USB debugging, stay awake", "developer"),
    ),
    "languages": _page(
        "Languages & input",
        SettingsRow("System languages", "English (United States)"),
        SettingsRow("On-screen keyboard", "Gboard", "keyboards"),
    ),
    "keyboards": _page("On-screen keyboard", SettingsRow("Gboard", "Multilingual typing", "gboard")),
    "gboard": _page(
        "Gboard",
        _toggle("Auto-correction", "app", "gboard_auto_correction", "1"),
        _toggle("Glide typing", "app", "gboard_glide", "1"),
        _toggle("Haptic feedback on keypress", "app", "gboard_haptic"),
    ),
    "date_and_time": _page(
        "Date & time",
        _toggle("Set time automatically", "global", "auto_time", "1"),
        SettingsRow("Time zone", _prop("persist.sys.timezone")),
        SettingsRow("Time format", opens="time_format"),
    ),
    "developer": _page(
        "Developer options",
        _toggle("Use developer options", "global", "development_settings_enabled", "1"),
        _toggle(
            "Stay awake",
            "global",
            "stay_on_while_plugged_in",
            "0",
            "7",
            summary="Screen will never sleep while charging",
        ),
        _toggle("USB debugging", "global", "adb_enabled", "1", summary="Debug mode when USB is connected"),
        _toggle("Show taps", "system", "show_touches"),
    ),
    "about": _page(
        "About phone",
        SettingsRow("Device name", _prop("ro.product.model")),
        SettingsRow("Model", _prop("ro.product.device")),
        SettingsRow("Serial number", _prop("ro.serialno")),
        SettingsRow("Android version", _prop("ro.build.version.release"), "android_version"),
        SettingsRow("Build number", _prop("ro.build.id")),
    ),
    "android_version": _page(
        "Android version",
        SettingsRow("Android version", _prop("ro.build.version.release")),
        SettingsRow("Android security update", _prop("ro.build.version.security_patch"), "security"),
        SettingsRow("Build details", _prop("ro.build.type"), "build"),
    ),
    "build": _page(
        "Build details",
        SettingsRow("API level", _prop("ro.build.version.sdk")),
        SettingsRow("Fingerprint", _prop("ro.build.fingerprint")),
        SettingsRow("Processor", _prop("ro.product.cpu.abi")),
    ),
}


# Pages with code of their own: networks, devices, brightness, apps

PACKAGE = "com.android.settings"
# The activity of pages without one of their own.
SUB = f"{PACKAGE}.SubSettings"

_SEARCH_MS = 800
_MIN_PASSWORD_LENGTH = 8
_BRIGHTNESS_STEP = 10
_APP_ROW_DP = 76


def bar(label: str, *actions: View, up: bool = True) -> View:
    named = text(label, id="action_bar", heading=True, size=20, weight=1, padding=12)
    first = (icon("Navigate up", back, picture="<"),) if up else ()
    return row(*first, named, *actions, id="settings_toolbar", height=60, tone="surface")


def _sub_page(label: str, *rows: View, above: tuple[View, ...] = ()) -> View:
    """A sub-page: a bar, optional fixed views, and a list."""
    return column(bar(label), *above, listing(*rows, id="recycler_view"), weight=1)


def switch(label: str, summary: str, on: bool, toggle: Effect) -> View:  # noqa: FBT001 - the switch's state
    """A row that is clickable as a whole; the switch in it only displays the state."""
    return item(label, summary, toggle, end=_mark("Switch", "switch_widget", 52, on=on))


def _mark(kind: str, name: str, width: float, *, on: bool) -> View:
    """What displays whether a row is chosen."""
    class_name, id_ = f"android.widget.{kind}", f"android:id/{name}"
    return View(class_name=class_name, id=id_, checked=on, clickable=False, width=width, height=32)


def _stored_switch(context: AppContext, label: str, stored: StoredValue, summary: str = "") -> View:
    def toggle(context: AppContext) -> None:
        write(context, stored, stored.off if is_on(context, stored) else stored.on)

    return switch(label, summary, is_on(context, stored), toggle)


def confirm(context: AppContext) -> View:
    """A dialog that runs ``effect`` when the button labelled ``yes`` is tapped."""

    def agree(context: AppContext) -> None:
        context.back()
        context.args["effect"](context)

    detail = text(context.args["detail"], id="android:id/message")
    return alert(context.args["question"], detail, button("Cancel", back), button(context.args["yes"], agree))


def ask(question: str, detail: str, yes: str, effect: Effect) -> Effect:
    """Run ``effect`` after a confirmation dialog."""
    return go("confirm", question=question, detail=detail, yes=yes, effect=effect)


def _internet(context: AppContext) -> View:
    on, joined = is_on(context, WIFI), network(context)
    known = [_network_row(each, joined) for each in NETWORKS] if on else []
    return _sub_page("Internet", _stored_switch(context, "Wi-Fi", WIFI), *known)


def _network_row(each: Network, joined: str) -> View:
    summary = "Connected" if each.name == joined else f"{each.signal} signal, security {each.security}"
    return item(each.name, summary, go("network", name=each.name), id="wifi_entry")


def _network(context: AppContext) -> View:
    wanted = context.args.get("name")
    facts = next((each for each in NETWORKS if each.name == wanted), NETWORKS[0])
    name = facts.name
    joined = network(context) == name
    if joined:
        action = button("Disconnect", lambda context: write(context, NETWORK, ""), id="button2")
    elif facts.security == "None":
        action = button("Connect", lambda context: write(context, NETWORK, name), id="button3")
    else:
        action = button("Connect", go("join", name=name), id="button3")
    return _sub_page(
        "Network details",
        item("Signal strength", facts.signal),
        item("Security", facts.security),
        _stored_switch(context, "Auto-connect", StoredValue("app", f"auto_connect {name}", "1")),
        _stored_switch(context, "Treat as metered", StoredValue("app", f"metered {name}")),
        above=(
            title(name, id="entity_header_title"),
            text("Connected" if joined else "Not connected", id="entity_header_summary", padding=12),
            action,
        ),
    )


def _begin(key: str) -> Effect:
    """Empty a field and focus it."""

    def run(context: AppContext) -> None:
        context.state[key] = ""
        context.focus(key)

    return run


def _join(context: AppContext) -> View:
    def connect(context: AppContext) -> None:
        if len(context.state["password"]) >= _MIN_PASSWORD_LENGTH:
            context.back()
            write(context, WIFI, WIFI.on)
            write(context, NETWORK, context.args["name"])

    password = field("password", "Password", id="password", edits="password", on_submit=connect)
    is_enough = len(context.state["password"]) >= _MIN_PASSWORD_LENGTH
    connecting = button("Connect", connect, enabled=is_enough)
    return alert(context.args["name"], password, button("Cancel", back), connecting)


def _search_devices(context: AppContext) -> None:
    write(context, StoredValue("global", "bluetooth_on"), "1")
    context.state["searching"] = True
    context.after(_SEARCH_MS, put("searching", False))


def _pair(context: AppContext) -> View:
    def pair(name: str) -> Effect:
        def run(context: AppContext) -> None:
            context.data["paired"].append(name)
            context.toast(f"Paired with {name}")
            context.back()

        return run

    if context.state["searching"]:
        searching = text("Searching for devices", padding=12)
        return _sub_page("Pair new device", searching, above=(progress("Searching"),))
    available = [item(name, "", pair(name)) for name in NEARBY if name not in context.data["paired"]]
    return _sub_page("Pair new device", *(available or [text("No devices found", padding=12)]))


def _devices(context: AppContext) -> View:
    def forget(name: str) -> Effect:
        detail = "Your phone will no longer be paired with it."
        return ask(f"Forget {name}?", detail, "Forget device", lambda context: context.data["paired"].remove(name))

    saved = [item(name, "Saved", forget(name)) for name in context.data["paired"]]
    return _sub_page("Saved devices", *(saved or [text("No saved devices", padding=12)]))


def _brightness(context: AppContext) -> View:
    def change(by: int) -> Effect:
        def run(context: AppContext) -> None:
            level = max(0, min(100, percent(context) + by))
            write(context, BRIGHTNESS, str(round(level * 255 / 100)))

        return run

    shown = f"{percent(context)}%"
    return _sub_page(
        "Brightness level",
        View(class_name="android.widget.SeekBar", id="slider", text=shown, desc="Display brightness", height=48),
        row(
            button("Dimmer", change(-_BRIGHTNESS_STEP), id="dimmer", weight=1),
            button("Brighter", change(_BRIGHTNESS_STEP), id="brighter", weight=1),
            gap=8,
            padding=8,
        ),
    )


def _operator(context: AppContext) -> View:
    """The switch of the Operator's accessibility service. Other enabled services are kept."""
    phone, table, component = context.system, context.system.settings, context.system.operator.component
    if phone.operator.package not in phone.packages:
        return _not_installed("Clawperator Operator")
    enabled = [name for name in (table.get("secure", "enabled_accessibility_services") or "").split(":") if name]
    others = [name for name in enabled if name != component]
    on = component in enabled

    def toggle(context: AppContext) -> None:
        names = others if on else [*others, component]
        write(context, StoredValue("secure", "enabled_accessibility_services"), ":".join(names))
        write(context, StoredValue("secure", "accessibility_enabled"), "1" if names else "0")

    question = "Stop" if on else "Allow"
    detail = "It can see what is on the screen and tap for you."
    confirmed = ask(f"{question} Clawperator Operator?", detail, question, toggle)
    return _sub_page("Clawperator Operator", switch("Use Clawperator Operator", "", on, confirmed))


def _all_apps(context: AppContext) -> View:
    installed = (p.app for p in context.system.packages.all())
    found = sorted(installed, key=lambda app: (app.label.casefold(), app.package))

    def build(i: int) -> View:
        return item(found[i].label, found[i].package, go("app_info", package=found[i].package), id="app_row")

    return column(bar("All apps"), listing(rows=Rows(len(found), _APP_ROW_DP, build), id="apps_list"), weight=1)


def _app_notifications(context: AppContext) -> View:
    shown = (p.app for p in context.system.packages.all() if p.app.launchable)
    rows = (_stored_switch(context, app.label, _notifies(app.package)) for app in shown)
    return _sub_page("App notifications", *rows)


def _notifies(package: str) -> StoredValue:
    return StoredValue("app", f"notifications {package}", "1")


def _app_info(context: AppContext) -> View:
    name, phone = context.args.get("package", ""), context.system
    if name not in phone.packages:
        return _not_installed("App info")
    package = phone.packages[name]
    app = package.app
    # Parts of the system cannot be stopped.
    can_stop = phone.process_of(name) is not None and (app.launchable or not app.system)

    def uninstall(_: AppContext) -> None:
        phone.packages.remove(name)
        context.back()

    def stop(_: AppContext) -> None:
        phone.stop_app(name)

    ask_stop = ask("Force stop?", "If you force stop an app, it may misbehave.", "Force stop", stop)
    ask_remove = ask(app.label, "Do you want to uninstall this app?", "Uninstall", uninstall)
    return _sub_page(
        "App info",
        _stored_switch(context, "Notifications", _notifies(name)),
        item("Permissions", f"{len(phone.packages.granted(name))} allowed", go("permissions", package=name)),
        item("Storage & cache", "Internal storage", go("app_storage", package=name)),
        item("Version", app.version),
        above=(
            title(app.label, id="entity_header_title"),
            text(name, id="entity_header_summary", padding=12, tone="muted"),
            row(
                button(
                    "Open", lambda context: _open(context, name), id="button1", weight=1, enabled=app.launchable
                ),
                button("Uninstall", ask_remove, id="button2", weight=1, enabled=package.third_party),
                button("Force stop", ask_stop, id="button3", weight=1, enabled=can_stop),
                gap=4,
            ),
        ),
    )


def _open(context: AppContext, package: str) -> None:
    if not context.start(package):
        context.toast("App isn't installed")


def _app_storage(context: AppContext) -> View:
    name = context.args.get("package", "")
    if name not in context.system.packages:
        return _not_installed("Storage & cache")
    app = context.system.packages.app(name)
    detail = "This app's data, including files and settings, will be permanently deleted from this device."
    clear = ask("Delete app data?", detail, "Delete", lambda context: context.system.clear_app(name))
    can_clear = app.launchable or not app.system
    return _sub_page(
        "Storage & cache",
        item("Version", app.version),
        above=(
            title(app.label, id="entity_header_title"),
            button("Clear storage", clear, id="button1", enabled=can_clear),
        ),
    )


def _permissions(context: AppContext) -> View:
    granted = context.system.packages.granted(context.args.get("package", ""))
    rows = [item(name.rpartition(".")[2].replace("_", " ").capitalize(), name) for name in granted]
    return _sub_page("App permissions", *(rows or [text("No permissions granted", padding=12)]))


def _not_installed(label: str) -> View:
    return _sub_page(label, text("App isn't installed", id="gone", padding=12))


# The app


def apps() -> list[App]:
    state = {"query": "", "password": "", "searching": False}
    app = App(PACKAGE, "Settings", state=state, data={"paired": ["Headphones"]}, version="15.0.0", system=True)
    app.screen("home", title="Settings", activity=f"{PACKAGE}.Settings")(_home)
    for name, page in PAGES.items():
        if name != "home":
            app.screen(name, title=page.title, activity=SUB)(partial(_table_page, page))
    for name, choice in CHOICES.items():
        app.screen(name, title=choice.title, activity=SUB)(partial(_choice, choice))
    searching = f"{PACKAGE}.search.SearchActivity"
    app.screen("search", title="Search settings", activity=searching, on_show=_begin("query"))(_search)
    app.dialog("confirm", title="Confirm")(confirm)
    app.screen("internet", title="Internet", activity=SUB)(_internet)
    app.screen("network", title="Network details", activity=SUB)(_network)
    app.dialog("join", title="Join network", on_show=_begin("password"))(_join)
    app.screen("pair", title="Pair new device", activity=SUB, on_show=_search_devices)(_pair)
    app.screen("devices", title="Saved devices", activity=SUB)(_devices)
    app.screen("brightness", title="Brightness level", activity=SUB)(_brightness)
    app.screen("operator", title="Clawperator Operator", activity=SUB)(_operator)
    app.screen("all_apps", title="All apps", activity=SUB)(_all_apps)
    app.screen("app_notifications", title="App notifications", activity=SUB)(_app_notifications)
    app.screen("app_info", title="App info", activity=f"{PACKAGE}.applications.InstalledAppDetails")(_app_info)
    app.screen("app_storage", title="Storage & cache", activity=SUB)(_app_storage)
    app.screen("permissions", title="App permissions", activity=SUB)(_permissions)
    return [app]


def _item(context: AppContext, line: SettingsRow, name: str = "") -> View:
    if (choice := CHOICES.get(line.opens)) is not None:
        value = read(context, choice.stored)
        summary = next((label for label, option_value in choice.options if option_value == value), value)
    else:
        summary = line.summary if isinstance(line.summary, str) else line.summary(context)
    if line.toggles is not None:
        return _stored_switch(context, line.title, line.toggles, summary)
    return item(line.title, summary, go(line.opens) if line.opens else None, id=name)


def _home(context: AppContext) -> View:
    search = button("", go("search"), id="search_action_bar", desc="Search settings", width=64, tone="")
    rows = (_item(context, line, "dashboard_tile") for line in PAGES["home"].rows)
    # As on Android, the list is as high as its rows: a swipe on it scrolls the page around it.
    tiles = listing(*rows, id="recycler_view", weight=0)
    content = column(tiles, id="main_content")
    return scroll(bar("Settings", search, up=False), content, id="settings_homepage_container")


def _table_page(page: SettingsPage, context: AppContext) -> View:
    return _sub_page(page.title, *(_item(context, line) for line in page.rows))


def _choice(choice: ChoicePage, context: AppContext) -> View:
    value = read(context, choice.stored)

    def option(label: str, option_value: str) -> View:
        mark = _mark("RadioButton", "checkbox", 40, on=option_value == value)
        return item(label, "", lambda context: write(context, choice.stored, option_value), end=mark)

    return _sub_page(choice.title, *(option(*each) for each in choice.options))


def _search(context: AppContext) -> View:
    query = context.state["query"].strip().casefold()
    found = [
        item(line.title, page.title, go(line.opens or name), id="search_result")
        for name, page in PAGES.items()
        for line in page.rows
        if query and query in line.title.casefold()
    ]
    results = found or [text("No results", id="no_results", padding=16)] if query else []
    return column(
        row(
            icon("Navigate up", back, picture="<"),
            field("query", "Search settings", id="search_src_text", weight=1),
            height=60,
        ),
        listing(*results, id="list_results"),
        weight=1,
    )
