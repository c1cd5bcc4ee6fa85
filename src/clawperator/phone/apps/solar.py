"""A home battery's app: a dashboard, and automations whose limit is set behind three screens and two saves."""

from typing import Any

from msgspec import Struct

from clawperator.phone.toolkit.app import App, back, go, put
from clawperator.phone.toolkit.context import AppContext, Effect
from clawperator.phone.toolkit.views import (
    View,
    column,
    field,
    listing,
    row,
    scroll,
    tab,
    tabs,
    text,
    title,
    toolbar,
    web,
)

PACKAGE = "com.solaxcloud.starter"
LOWEST, HIGHEST = 10, 100

_LABEL = "SolaXCloud"
_MAIN = "com.solax.solaxhomestorage.ui.activity.main.HSMainActivity"
_HOUSEHOLD = "com.solax.remoteweb.household.HouseHoldActivity"
_LOADING = "com.solax.commonui.toast.MMLoading"
_SPLASH_MS, _LOADED_MS, _SAVING_MS = 500, 900, 600
_ARROW = "\ue660"  # drawn by the page's icon font; a reader gets the bare character


class Automation(Struct, frozen=True):
    """A rule the battery follows. ``verb`` begins the line that shows its limit."""

    name: str
    summary: str
    action: str
    verb: str
    hours: str
    limit: int
    on: bool


_AUTOMATIONS = {
    "peak_export": Automation(
        name="Peak Export",
        summary="Sell to the grid while the price is high",
        action="Device Discharging (By percentage)",
        verb="Discharge to",
        hours="17:30 - 20:00",
        limit=41,
        on=True,
    ),
    "night_charge": Automation(
        name="Night Charge",
        summary="Fill the battery while the price is low",
        action="Device Charging (By percentage)",
        verb="Charge to",
        hours="01:00 - 05:00",
        limit=90,
        on=False,
    ),
    "storm_reserve": Automation(
        name="Storm Reserve",
        summary="Hold energy back when a storm is forecast",
        action="Device Standby (By percentage)",
        verb="Hold at",
        hours="All day",
        limit=80,
        on=False,
    ),
}
_ENERGY = (
    ("Battery", "76%"),
    ("PV power", "3.42 kW"),
    ("House load", "0.87 kW"),
    ("Grid export", "2.31 kW"),
    ("Today's yield", "18.6 kWh"),
)
_DEVICES = (("Inverter", "X1-Hybrid-5.0"), ("Battery pack", "T58, 2 modules"), ("Firmware", "1.41"))
_SERVICE = (("Open tickets", "0"), ("Warranty", "until 2033"))
_ACCOUNT = (("Account", "owner@example.com"), ("Language", "English"))
_TABS = (
    ("home", "tab_home", "Home"),
    ("device", "tab_device", "Device"),
    ("intelligent", "tab_intelligent", "Intelligence"),
    ("service", "tab_service", "Service"),
    ("mine", "tab_mine", "Me"),
)


def apps() -> list[App]:
    app = App(
        PACKAGE,
        _LABEL,
        state={"tab": "home", "limit_text": "", "limit_error": ""},
        data={"limits": {key: rule.limit for key, rule in _AUTOMATIONS.items()}},
        home="first",
        version="6.5.2",
    )
    app.screen("first", activity=f"{PACKAGE}.FirstActivity", on_show=_load)(_first)
    app.screen("main", activity=_MAIN)(_main)
    app.dialog("loading", title="Loading...", activity=_LOADING, cancelable=False)(_loading)
    app.screen("household", activity=_HOUSEHOLD)(_household)
    app.dialog("limit", activity="android.widget.FrameLayout", on_show=_begin_limit)(_limit)
    app.screen("confirm_save", kind="sheet", activity="android.widget.FrameLayout")(_confirm_save)
    return [app]


# From the start to the dashboard


def _load(here: AppContext) -> None:
    """A cold start: the first activity gives way to the main one when the household's data is there."""
    here.after(_SPLASH_MS, go("loading"))
    here.after(_LOADED_MS, lambda here: here.replace("main"))


def _first(_: AppContext) -> View:
    return column(title(_LABEL, id="logo"), text("Energy for every home"), weight=1)


def _loading(_: AppContext) -> View:
    return column(View(class_name="android.widget.ProgressBar", height=48), text("Loading..."), padding=24)


def _main(here: AppContext) -> View:
    shown = here.state["tab"]
    pages = {
        "home": lambda: _facts("My home", _ENERGY),
        "device": lambda: _facts("Devices", _DEVICES),
        "intelligent": lambda: _intelligence(here),
        "service": lambda: _facts("Service", _SERVICE),
        "mine": lambda: _facts("Me", _ACCOUNT),
    }
    bar = (tab(label, put("tab", key), id=name, selected=key == shown, size=12) for key, name, label in _TABS)
    return column(pages[shown](), tabs(*bar, id="bottom_tabs"), weight=1)


def _facts(heading: str, pairs: tuple[tuple[str, str], ...]) -> View:
    """Names and values side by side."""
    lines = (row(text(name, weight=1, tone="muted"), text(value), padding=12) for name, value in pairs)
    return column(toolbar(heading), scroll(*lines, id="facts"), weight=1)


def _intelligence(here: AppContext) -> View:
    cards = (_card(here, key, rule) for key, rule in _AUTOMATIONS.items())
    return column(toolbar("Intelligence"), listing(*cards, id="scene_list", gap=8, padding=8), weight=1)


def _card(here: AppContext, key: str, rule: Automation) -> View:
    words = column(
        text(rule.name, id="scene_name", size=18),
        text(rule.summary, id="scene_summary", size=14, tone="muted"),
        text(f"{rule.verb} {here.data['limits'][key]}%", id="scene_limit", size=14),
        weight=1,
    )
    tone = "accent" if rule.on else "muted"
    state = text("ON" if rule.on else "OFF", id="scene_state", tone=tone, width=56, height=36, padding=8)
    return row(
        words, state, id="scene_card", on_click=_open(key), padding=12, collection_item=True, tone="surface"
    )


def _open(key: str) -> Effect:
    """Open an automation. What is changed there counts only once it is saved."""
    return lambda here: here.go("household", key=key, limit=here.data["limits"][key], unfolded=False)


# An automation: a page of the web inside the app


def _household(here: AppContext) -> View:
    rule = _AUTOMATIONS[here.args["key"]]
    unfolded = here.args["unfolded"]
    lines = [
        _line("Name", rule.name),
        _line("Time", rule.hours),
        _line("Repeat", "Every day"),
        _tap(rule.action, _unfold, height=64, selected=unfolded),
    ]
    if unfolded:
        label = f"{rule.verb} {here.args['limit']}% {_ARROW}"
        lines.append(_tap(label, go("limit", page=here.args), height=64))
    bar = row(
        _tap("Back", back, width=72, height=48),
        text(rule.name, size=20, weight=1, height=48, padding=12),
        _tap("Save", go("confirm_save", page=here.args), width=72, height=48),
        height=56,
        class_name="android.view.View",
    )
    return web(bar, column(*lines, class_name="android.view.View", padding=16, gap=8))


def _tap(label: str, on_click: Effect, **more: Any) -> View:
    """A part of the page that a tap does something to. It is no button and has no id."""
    return View(text=label, on_click=on_click, **{"padding": 12, **more})


def _line(name: str, value: str) -> View:
    return row(text(name, weight=1, tone="muted"), text(value), padding=8, class_name="android.view.View")


def _unfold(here: AppContext) -> None:
    here.args["unfolded"] = not here.args["unfolded"]


def _begin_limit(here: AppContext) -> None:
    here.state["limit_text"] = str(here.args["page"]["limit"])
    here.state["limit_error"] = ""


def _limit(here: AppContext) -> View:
    rule = _AUTOMATIONS[here.args["page"]["key"]]
    parts = [
        text(f"{rule.verb} (%)", size=18),
        field("limit_text", id="van-field-1-input", edits="number", on_change=_forgive, on_submit=_confirm),
    ]
    if here.state["limit_error"]:
        parts.append(text(here.state["limit_error"], tone="danger", size=14))
    parts.append(row(_tap("Cancel", back, weight=1, height=48), _tap("Confirm", _confirm, weight=1, height=48)))
    return web(*parts, padding=16, gap=8)


def _forgive(here: AppContext, _: str) -> None:
    here.state["limit_error"] = ""


def _confirm(here: AppContext) -> None:
    typed = here.state["limit_text"]
    if typed.isascii() and typed.isdecimal() and len(typed) <= 3 and LOWEST <= int(typed) <= HIGHEST:
        here.args["page"]["limit"] = int(typed)
        here.back()
    else:
        here.state["limit_error"] = f"Enter a whole number from {LOWEST} to {HIGHEST}"


def _confirm_save(_: AppContext) -> View:
    return web(
        text("Save this automation?", size=18),
        text("It takes effect at once.", tone="muted", size=14),
        _tap("Save", _save, height=56, tone="accent"),
        _tap("Not now", back, height=48),
        padding=16,
        gap=8,
    )


def _save(here: AppContext) -> None:
    page = here.args["page"]
    here.go("loading")
    here.after(_SAVING_MS, lambda there: _saved(there, page["key"], page["limit"]))


def _saved(here: AppContext, key: str, limit: int) -> None:
    here.data["limits"][key] = limit
    here.home()
