"""A home battery app: a dashboard, and automations whose limit is set through three screens and two saves."""

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
_ARROW = "\ue660"  # an icon font glyph; accessibility exposes the bare character


class Automation(Struct, frozen=True):
    """A rule of the battery. ``verb`` begins the line that shows its limit."""

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
# The pages that only show facts: a heading, then names and values.
_FACTS = {
    "home": ("My home", _ENERGY),
    "device": (
        "Devices",
        (("Inverter", "X1-Hybrid-5.0"), ("Battery pack", "T58, 2 modules"), ("Firmware", "1.41")),
    ),
    "service": ("Service", (("Open tickets", "0"), ("Warranty", "until 2033"))),
    "mine": ("Me", (("Account", "owner@example.com"), ("Language", "English"))),
}
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


# Start and dashboard


def _load(context: AppContext) -> None:
    """A cold start: the splash activity is replaced by the main one when the data has loaded."""
    context.after(_SPLASH_MS, go("loading"))
    context.after(_LOADED_MS, lambda context: context.replace("main"))


def _first(_: AppContext) -> View:
    return column(title(_LABEL, id="logo"), text("Energy for every home"), weight=1)


def _loading(_: AppContext) -> View:
    return column(View(class_name="android.widget.ProgressBar", height=48), text("Loading..."), padding=24)


def _main(context: AppContext) -> View:
    shown = context.state["tab"]
    page = _facts(*_FACTS[shown]) if shown in _FACTS else _intelligence(context)
    bar = (tab(label, put("tab", key), id=name, selected=key == shown, size=12) for key, name, label in _TABS)
    return column(page, tabs(*bar, id="bottom_tabs"), weight=1)


def _facts(heading: str, pairs: tuple[tuple[str, str], ...]) -> View:
    lines = (row(text(name, weight=1, tone="muted"), text(value), padding=12) for name, value in pairs)
    return column(toolbar(heading), scroll(*lines, id="facts"), weight=1)


def _intelligence(context: AppContext) -> View:
    cards = (_card(context, key, rule) for key, rule in _AUTOMATIONS.items())
    return column(toolbar("Intelligence"), listing(*cards, id="scene_list", gap=8, padding=8), weight=1)


def _card(context: AppContext, key: str, rule: Automation) -> View:
    words = column(
        text(rule.name, id="scene_name", size=18),
        text(rule.summary, id="scene_summary", size=14, tone="muted"),
        text(f"{rule.verb} {context.data['limits'][key]}%", id="scene_limit", size=14),
        weight=1,
    )
    tone = "accent" if rule.on else "muted"
    state = text("ON" if rule.on else "OFF", id="scene_state", tone=tone, width=56, height=36, padding=8)
    return row(
        words, state, id="scene_card", on_click=_open(key), padding=12, collection_item=True, tone="surface"
    )


def _open(key: str) -> Effect:
    """Open an automation. Changes take effect only when they are saved."""
    return lambda context: context.go("household", key=key, limit=context.data["limits"][key], expanded=False)


# An automation: a web page inside the app


def _household(context: AppContext) -> View:
    rule = _AUTOMATIONS[context.args["key"]]
    expanded = context.args["expanded"]
    lines = [
        _line("Name", rule.name),
        _line("Time", rule.hours),
        _line("Repeat", "Every day"),
        _tap(rule.action, _toggle_details, height=64, selected=expanded),
    ]
    if expanded:
        label = f"{rule.verb} {context.args['limit']}% {_ARROW}"
        lines.append(_tap(label, go("limit", page=context.args), height=64))
    bar = row(
        _tap("Back", back, width=72, height=48),
        text(rule.name, size=20, weight=1, height=48, padding=12),
        _tap("Save", go("confirm_save", page=context.args), width=72, height=48),
        height=56,
        class_name="android.view.View",
    )
    return web(bar, column(*lines, class_name="android.view.View", padding=16, gap=8))


def _tap(label: str, on_click: Effect, **more: Any) -> View:
    """A clickable part of the page: not a button, and without an id."""
    return View(text=label, on_click=on_click, **{"padding": 12, **more})


def _line(name: str, value: str) -> View:
    return row(text(name, weight=1, tone="muted"), text(value), padding=8, class_name="android.view.View")


def _toggle_details(context: AppContext) -> None:
    context.args["expanded"] = not context.args["expanded"]


def _begin_limit(context: AppContext) -> None:
    context.state["limit_text"] = str(context.args["page"]["limit"])
    context.state["limit_error"] = ""


def _limit(context: AppContext) -> View:
    rule = _AUTOMATIONS[context.args["page"]["key"]]
    parts = [
        text(f"{rule.verb} (%)", size=18),
        field(
            "limit_text",
            id="van-field-1-input",
            edits="number",
            on_change=lambda context, _: context.state.update(limit_error=""),
            on_submit=_confirm,
        ),
    ]
    if context.state["limit_error"]:
        parts.append(text(context.state["limit_error"], tone="danger", size=14))
    parts.append(row(_tap("Cancel", back, weight=1, height=48), _tap("Confirm", _confirm, weight=1, height=48)))
    return web(*parts, padding=16, gap=8)


def _confirm(context: AppContext) -> None:
    typed = context.state["limit_text"]
    if typed.isascii() and typed.isdecimal() and len(typed) <= 3 and LOWEST <= int(typed) <= HIGHEST:
        context.args["page"]["limit"] = int(typed)
        context.back()
    else:
        context.state["limit_error"] = f"Enter a whole number from {LOWEST} to {HIGHEST}"


def _confirm_save(_: AppContext) -> View:
    return web(
        text("Save this automation?", size=18),
        text("It takes effect at once.", tone="muted", size=14),
        _tap("Save", _save, height=56, tone="accent"),
        _tap("Not now", back, height=48),
        padding=16,
        gap=8,
    )


def _save(context: AppContext) -> None:
    page = context.args["page"]
    context.go("loading")
    context.after(_SAVING_MS, lambda context: _saved(context, page["key"], page["limit"]))


def _saved(context: AppContext, key: str, limit: int) -> None:
    context.data["limits"][key] = limit
    context.home()
