"""Pages of what the phone is connected to, and of its display."""

from clawperator.phone.apps.settings.pages import (
    BRIGHTNESS,
    NEARBY,
    NETWORK,
    NETWORKS,
    WIFI,
    Network,
    Stored,
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
_SHORTEST_PASSWORD = 8
_BRIGHTNESS_STEP = 10


def add_screens(app: App) -> None:
    app.screen("internet", title="Internet", activity=SUB)(_internet)
    app.screen("network", title="Network details", activity=SUB)(_network)
    app.dialog("join", title="Join network", on_show=_begin_to_join)(_join)
    app.screen("pair", title="Pair new device", activity=SUB, on_show=_look_for_devices)(_pair)
    app.screen("devices", title="Saved devices", activity=SUB)(_devices)
    app.screen("brightness", title="Brightness level", activity=SUB)(_brightness)


def _internet(here: AppContext) -> View:
    on, joined = is_on(here, WIFI), network(here)
    known = [_network_row(each, joined) for each in NETWORKS] if on else []
    return sub("Internet", stored_switch(here, "Wi-Fi", WIFI), *known)


def _network_row(each: Network, joined: str) -> View:
    summary = "Connected" if each.name == joined else f"{each.signal} signal, security {each.security}"
    return item(each.name, summary, go("network", name=each.name), id="wifi_entry")


def _network(here: AppContext) -> View:
    asked = here.args.get("name")
    facts = next((each for each in NETWORKS if each.name == asked), NETWORKS[0])
    name = facts.name
    joined = network(here) == name
    if joined:
        turn = button("Disconnect", lambda there: write(there, NETWORK, ""), id="button2")
    elif facts.security == "None":
        turn = button("Connect", lambda there: write(there, NETWORK, name), id="button3")
    else:
        turn = button("Connect", go("join", name=name), id="button3")
    return sub(
        "Network details",
        item("Signal strength", facts.signal),
        item("Security", facts.security),
        stored_switch(here, "Auto-connect", Stored("app", f"auto_connect {name}", "1")),
        stored_switch(here, "Treat as metered", Stored("app", f"metered {name}")),
        above=(
            title(name, id="entity_header_title"),
            text("Connected" if joined else "Not connected", id="entity_header_summary", padding=12),
            turn,
        ),
    )


def _begin_to_join(here: AppContext) -> None:
    here.state["password"] = ""
    here.focus("password")


def _join(here: AppContext) -> View:
    def connect(there: AppContext) -> None:
        if len(there.state["password"]) >= _SHORTEST_PASSWORD:
            there.back()
            write(there, WIFI, WIFI.on)
            write(there, NETWORK, there.args["name"])

    return column(
        title(here.args["name"], id="android:id/alertTitle"),
        field("password", "Password", id="password", edits="password", on_submit=connect),
        row(
            button("Cancel", back, id="android:id/button2", weight=1),
            button(
                "Connect",
                connect,
                id="android:id/button1",
                weight=1,
                enabled=len(here.state["password"]) >= _SHORTEST_PASSWORD,
            ),
            gap=8,
        ),
        padding=16,
        tone="surface",
    )


def _look_for_devices(here: AppContext) -> None:
    write(here, Stored("global", "bluetooth_on"), "1")
    here.state["searching"] = True
    here.after(_SEARCH_MS, put("searching", False))


def _pair(here: AppContext) -> View:
    def pair(name: str) -> Effect:
        def run(there: AppContext) -> None:
            there.data["paired"].append(name)
            there.toast(f"Paired with {name}")
            there.back()

        return run

    if here.state["searching"]:
        return sub("Pair new device", text("Searching for devices", padding=12), above=(progress("Searching"),))
    offered = [item(name, "", pair(name)) for name in NEARBY if name not in here.data["paired"]]
    return sub("Pair new device", *(offered or [text("No devices found", padding=12)]))


def _devices(here: AppContext) -> View:
    def forget(name: str) -> Effect:
        detail = "Your phone will no longer be paired with it."
        return ask(f"Forget {name}?", detail, "Forget device", lambda there: there.data["paired"].remove(name))

    saved = [item(name, "Saved", forget(name)) for name in here.data["paired"]]
    return sub("Saved devices", *(saved or [text("No saved devices", padding=12)]))


def _brightness(here: AppContext) -> View:
    def change(by: int) -> Effect:
        def run(there: AppContext) -> None:
            level = max(0, min(100, percent(there) + by))
            write(there, BRIGHTNESS, str(round(level * 255 / 100)))

        return run

    shown = f"{percent(here)}%"
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
