"""The Settings app: the home page, pages from a table, and pages with code of their own."""

from functools import partial

from clawperator.phone.apps.settings_pages import (
    BRIGHTNESS,
    CHOICES,
    NEARBY,
    NETWORK,
    NETWORKS,
    PAGES,
    WIFI,
    ChoicePage,
    Network,
    SettingsPage,
    SettingsRow,
    StoredValue,
    is_on,
    network,
    percent,
    read,
    write,
)
from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    Rows,
    View,
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
    shown = View(
        class_name="android.widget.Switch",
        id="android:id/switch_widget",
        checked=on,
        clickable=False,
        width=52,
        height=32,
    )
    return item(label, summary, toggle, end=shown)


def _stored_switch(context: AppContext, label: str, stored: StoredValue, summary: str = "") -> View:
    def toggle(context: AppContext) -> None:
        write(context, stored, stored.off if is_on(context, stored) else stored.on)

    return switch(label, summary, is_on(context, stored), toggle)


def confirm(context: AppContext) -> View:
    """A dialog that runs ``effect`` when the button labelled ``yes`` is tapped."""

    def agree(context: AppContext) -> None:
        context.back()
        context.args["effect"](context)

    return column(
        title(context.args["question"], id="android:id/alertTitle"),
        text(context.args["detail"], id="android:id/message"),
        row(
            button("Cancel", back, id="android:id/button2", weight=1),
            button(context.args["yes"], agree, id="android:id/button1", weight=1),
            gap=8,
        ),
        padding=16,
        tone="surface",
    )


def ask(question: str, detail: str, yes: str, effect: Effect) -> Effect:
    """Run ``effect`` after a confirmation dialog."""
    return go("confirm", question=question, detail=detail, yes=yes, effect=effect)


def _add_screens(app: App) -> None:
    app.screen("internet", title="Internet", activity=SUB)(_internet)
    app.screen("network", title="Network details", activity=SUB)(_network)
    app.dialog("join", title="Join network", on_show=_begin_join)(_join)
    app.screen("pair", title="Pair new device", activity=SUB, on_show=_search_devices)(_pair)
    app.screen("devices", title="Saved devices", activity=SUB)(_devices)
    app.screen("brightness", title="Brightness level", activity=SUB)(_brightness)
    app.screen("operator", title="Clawperator Operator", activity=SUB)(_operator)
    app.screen("all_apps", title="All apps", activity=SUB)(_all_apps)
    app.screen("app_notifications", title="App notifications", activity=SUB)(_app_notifications)
    app.screen("app_info", title="App info", activity=f"{PACKAGE}.applications.InstalledAppDetails")(_app_info)
    app.screen("app_storage", title="Storage & cache", activity=SUB)(_app_storage)
    app.screen("permissions", title="App permissions", activity=SUB)(_permissions)


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


def _begin_join(context: AppContext) -> None:
    context.state["password"] = ""
    context.focus("password")


def _join(context: AppContext) -> View:
    def connect(context: AppContext) -> None:
        if len(context.state["password"]) >= _MIN_PASSWORD_LENGTH:
            context.back()
            write(context, WIFI, WIFI.on)
            write(context, NETWORK, context.args["name"])

    return column(
        title(context.args["name"], id="android:id/alertTitle"),
        field("password", "Password", id="password", edits="password", on_submit=connect),
        row(
            button("Cancel", back, id="android:id/button2", weight=1),
            button(
                "Connect",
                connect,
                id="android:id/button1",
                weight=1,
                enabled=len(context.state["password"]) >= _MIN_PASSWORD_LENGTH,
            ),
            gap=8,
        ),
        padding=16,
        tone="surface",
    )


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
        return _sub_page(
            "Pair new device", text("Searching for devices", padding=12), above=(progress("Searching"),)
        )
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
    found = sorted(
        (p.app for p in context.system.packages.all()), key=lambda app: (app.label.casefold(), app.package)
    )

    def build(i: int) -> View:
        return item(found[i].label, found[i].package, go("app_info", package=found[i].package), id="app_row")

    return column(bar("All apps"), listing(rows=Rows(len(found), _APP_ROW_DP, build), id="apps_list"), weight=1)


def _app_notifications(context: AppContext) -> View:
    shown = (p.app for p in context.system.packages.all() if p.app.launchable)
    return _sub_page(
        "App notifications", *(_stored_switch(context, app.label, _notifies(app.package)) for app in shown)
    )


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
            app.screen(name, title=page.title, activity=SUB)(partial(_page, page))
    for name, choice in CHOICES.items():
        app.screen(name, title=choice.title, activity=SUB)(partial(_choice, choice))
    searching = f"{PACKAGE}.search.SearchActivity"
    app.screen("search", title="Search settings", activity=searching, on_show=_begin_search)(_search)
    app.dialog("confirm", title="Confirm")(confirm)
    _add_screens(app)
    return [app]


def _item(context: AppContext, line: SettingsRow, name: str = "") -> View:
    if line.opens in CHOICES:
        summary = _chosen(context, CHOICES[line.opens])
    else:
        summary = line.summary if isinstance(line.summary, str) else line.summary(context)
    if line.toggles is not None:
        return _stored_switch(context, line.title, line.toggles, summary)
    return item(line.title, summary, go(line.opens) if line.opens else None, id=name)


def _chosen(context: AppContext, choice: ChoicePage) -> str:
    value = read(context, choice.stored)
    return next((label for label, option_value in choice.options if option_value == value), value)


def _home(context: AppContext) -> View:
    search = button("", go("search"), id="search_action_bar", desc="Search settings", width=64, tone="")
    rows = (_item(context, line, "dashboard_tile") for line in PAGES["home"].rows)
    # As on Android, the list is as high as its rows: a swipe on it scrolls the page around it.
    tiles = listing(*rows, id="recycler_view", weight=0)
    return scroll(
        bar("Settings", search, up=False), column(tiles, id="main_content"), id="settings_homepage_container"
    )


def _page(page: SettingsPage, context: AppContext) -> View:
    return _sub_page(page.title, *(_item(context, line) for line in page.rows))


def _choice(choice: ChoicePage, context: AppContext) -> View:
    value = read(context, choice.stored)

    def option(label: str, option_value: str) -> View:
        mark = View(
            class_name="android.widget.RadioButton",
            id="android:id/checkbox",
            checked=option_value == value,
            clickable=False,
            width=40,
            height=32,
        )
        return item(label, "", lambda context: write(context, choice.stored, option_value), end=mark)

    return _sub_page(choice.title, *(option(*each) for each in choice.options))


def _begin_search(context: AppContext) -> None:
    context.state["query"] = ""
    context.focus("query")


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
