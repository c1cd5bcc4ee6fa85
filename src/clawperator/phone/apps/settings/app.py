"""The Settings app: the home page, pages from a table, and pages with code of their own."""

from functools import partial

from clawperator.phone.apps.settings.pages import (
    CHOICES,
    PAGES,
    ChoicePage,
    SettingsPage,
    SettingsRow,
    read,
    write,
)
from clawperator.phone.apps.settings.screens import (
    PACKAGE,
    SUB,
    add_screens,
    bar,
    confirm,
    stored_switch,
    sub_page,
)
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
    add_screens(app)
    return [app]


def _item(context: AppContext, line: SettingsRow, name: str = "") -> View:
    if line.opens in CHOICES:
        summary = _chosen(context, CHOICES[line.opens])
    else:
        summary = line.summary if isinstance(line.summary, str) else line.summary(context)
    if line.toggles is not None:
        return stored_switch(context, line.title, line.toggles, summary)
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
    return sub_page(page.title, *(_item(context, line) for line in page.rows))


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

    return sub_page(choice.title, *(option(*each) for each in choice.options))


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
