"""Settings pages of networks, paired devices and the display."""

from clawperator.phone.apps.settings.pages import (
    BRIGHTNESS,
    NEARBY,
    NETWORK,
    NETWORKS,
    WIFI,
    Network,
    StoredValue,
    is_on,
    network,
    percent,
    write,
)
from clawperator.phone.apps.settings.parts import SUB, ask, stored_switch, sub
from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import View, button, column, field, item, progress, row, text, title

_SEARCH_MS = 800
_MIN_PASSWORD_LENGTH = 8
_BRIGHTNESS_STEP = 10


def add_screens(app: App) -> None:
    app.screen("internet", title="Internet", activity=SUB)(_internet)
    app.screen("network", title="Network details", activity=SUB)(_network)
    app.dialog("join", title="Join network", on_show=_begin_join)(_join)
    app.screen("pair", title="Pair new device", activity=SUB, on_show=_search_devices)(_pair)
    app.screen("devices", title="Saved devices", activity=SUB)(_devices)
    app.screen("brightness", title="Brightness level", activity=SUB)(_brightness)


def _internet(context: AppContext) -> View:
    on, joined = is_on(context, WIFI), network(context)
    known = [_network_row(each, joined) for each in NETWORKS] if on else []
    return sub("Internet", stored_switch(context, "Wi-Fi", WIFI), *known)


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
    return sub(
        "Network details",
        item("Signal strength", facts.signal),
        item("Security", facts.security),
        stored_switch(context, "Auto-connect", StoredValue("app", f"auto_connect {name}", "1")),
        stored_switch(context, "Treat as metered", StoredValue("app", f"metered {name}")),
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
        return sub("Pair new device", text("Searching for devices", padding=12), above=(progress("Searching"),))
    available = [item(name, "", pair(name)) for name in NEARBY if name not in context.data["paired"]]
    return sub("Pair new device", *(available or [text("No devices found", padding=12)]))


def _devices(context: AppContext) -> View:
    def forget(name: str) -> Effect:
        detail = "Your phone will no longer be paired with it."
        return ask(f"Forget {name}?", detail, "Forget device", lambda context: context.data["paired"].remove(name))

    saved = [item(name, "Saved", forget(name)) for name in context.data["paired"]]
    return sub("Saved devices", *(saved or [text("No saved devices", padding=12)]))


def _brightness(context: AppContext) -> View:
    def change(by: int) -> Effect:
        def run(context: AppContext) -> None:
            level = max(0, min(100, percent(context) + by))
            write(context, BRIGHTNESS, str(round(level * 255 / 100)))

        return run

    shown = f"{percent(context)}%"
    return sub(
        "Brightness level",
        View(class_name="android.widget.SeekBar", id="slider", text=shown, desc="Display brightness", height=48),
        row(
            button("Dimmer", change(-_BRIGHTNESS_STEP), id="dimmer", weight=1),
            button("Brighter", change(_BRIGHTNESS_STEP), id="brighter", weight=1),
            gap=8,
            padding=8,
        ),
    )
