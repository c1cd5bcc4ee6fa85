"""The Settings app: a homepage, plain pages from a table, and those that do something of their own."""

from functools import partial

from clawperator.phone.apps.settings import devices, installed
from clawperator.phone.apps.settings.pages import CHOICES, PAGES, Choice, Page, Row, read, write
from clawperator.phone.apps.settings.parts import PACKAGE, SUB, bar, confirm, stored_switch, sub
from clawperator.phone.toolkit.app import App, back, go
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import View, button, column, field, icon, item, listing, row, scroll, text


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
    devices.add_screens(app)
    installed.add_screens(app)
    return [app]


def _line(here: AppContext, line: Row, name: str = "") -> View:
    if line.opens in CHOICES:
        summary = _chosen(here, CHOICES[line.opens])
    else:
        summary = line.summary if isinstance(line.summary, str) else line.summary(here)
    if line.turns is not None:
        return stored_switch(here, line.title, line.turns, summary)
    return item(line.title, summary, go(line.opens) if line.opens else None, id=name)


def _chosen(here: AppContext, choice: Choice) -> str:
    value = read(here, choice.stored)
    return next((label for label, stands_for in choice.options if stands_for == value), value)


def _home(here: AppContext) -> View:
    look = button("", go("search"), id="search_action_bar", desc="Search settings", width=64, tone="")
    rows = (_line(here, line, "dashboard_tile") for line in PAGES["home"].rows)
    return scroll(
        bar("Settings", look, up=False), column(*rows, id="main_content"), id="settings_homepage_container"
    )


def _page(page: Page, here: AppContext) -> View:
    return sub(page.title, *(_line(here, line) for line in page.rows))


def _choice(choice: Choice, here: AppContext) -> View:
    value = read(here, choice.stored)

    def option(label: str, stands_for: str) -> View:
        mark = View(
            class_name="android.widget.RadioButton",
            id="android:id/checkbox",
            checked=stands_for == value,
            clickable=False,
            width=40,
            height=32,
        )
        return item(label, "", lambda there: write(there, choice.stored, stands_for), end=mark)

    return sub(choice.title, *(option(*each) for each in choice.options))


def _begin_search(here: AppContext) -> None:
    here.state["query"] = ""
    here.focus("query")


def _search(here: AppContext) -> View:
    query = here.state["query"].strip().casefold()
    found = [
        item(line.title, page.title, go(line.opens or name), id="search_result")
        for name, page in PAGES.items()
        for line in page.rows
        if query and query in line.title.casefold()
    ]
    told = found or [text("No results", id="no_results", padding=16)] if query else []
    return column(
        row(
            icon("Navigate up", back, picture="<"),
            field("query", "Search settings", id="search_src_text", weight=1),
            height=60,
        ),
        listing(*told, id="list_results"),
        weight=1,
    )
