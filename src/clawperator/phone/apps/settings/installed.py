"""Settings pages of apps, their permissions, and the Operator's accessibility service."""

from clawperator.phone.apps.settings.pages import StoredValue, write
from clawperator.phone.apps.settings.parts import PACKAGE, SUB, ask, bar, stored_switch, sub, switch
from clawperator.phone.toolkit.app import App, go
from clawperator.phone.toolkit.context import AppContext
from clawperator.phone.toolkit.views import Rows, View, button, column, item, listing, row, text, title

_ROW_DP = 76


def add_screens(app: App) -> None:
    app.screen("operator", title="Clawperator Operator", activity=SUB)(_operator)
    app.screen("all_apps", title="All apps", activity=SUB)(_all_apps)
    app.screen("app_notifications", title="App notifications", activity=SUB)(_app_notifications)
    app.screen("app_info", title="App info", activity=f"{PACKAGE}.applications.InstalledAppDetails")(_app_info)
    app.screen("app_storage", title="Storage & cache", activity=SUB)(_app_storage)
    app.screen("permissions", title="App permissions", activity=SUB)(_permissions)


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
    return sub("Clawperator Operator", switch("Use Clawperator Operator", "", on, confirmed))


def _all_apps(context: AppContext) -> View:
    found = sorted(
        (p.app for p in context.system.packages.all()), key=lambda app: (app.label.casefold(), app.package)
    )

    def build(i: int) -> View:
        return item(found[i].label, found[i].package, go("app_info", package=found[i].package), id="app_row")

    return column(bar("All apps"), listing(rows=Rows(len(found), _ROW_DP, build), id="apps_list"), weight=1)


def _app_notifications(context: AppContext) -> View:
    shown = (p.app for p in context.system.packages.all() if p.app.launchable)
    return sub("App notifications", *(stored_switch(context, app.label, _notifies(app.package)) for app in shown))


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
    return sub(
        "App info",
        stored_switch(context, "Notifications", _notifies(name)),
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
    return sub(
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
    return sub("App permissions", *(rows or [text("No permissions granted", padding=12)]))


def _not_installed(label: str) -> View:
    return sub(label, text("App isn't installed", id="gone", padding=12))
