"""The launcher: the home screen with app icons, and the recent apps."""

from clawperator.phone.toolkit.app import App, start
from clawperator.phone.toolkit.context import AppContext, InstalledApp
from clawperator.phone.toolkit.views import Rows, View, column, item, listing, row, text, title

LAUNCHER = "com.android.launcher3"
_COLUMNS = 4
_ROW_DP = 104


def apps() -> list[App]:
    app = App(LAUNCHER, "Launcher", system=True, launchable=False)
    app.screen("home", title="Home screen", activity=f"{LAUNCHER}.uioverrides.QuickstepLauncher")(_home)
    app.screen("recents", title="Recent apps", activity=f"{LAUNCHER}.uioverrides.QuickstepLauncher")(_recents)
    return [app]


def _home(context: AppContext) -> View:
    found = sorted(
        (p.app for p in context.system.packages.all() if p.app.launchable), key=lambda app: app.label.lower()
    )

    def icons(line: int) -> View:
        shown = [_icon(app) for app in found[line * _COLUMNS : (line + 1) * _COLUMNS]]
        return row(*shown, *(View(weight=1) for _ in range(_COLUMNS - len(shown))))

    lines = Rows(-(-len(found) // _COLUMNS), _ROW_DP, icons)
    return column(
        text("Clawperator", size=14, id="clock", tone="muted", padding=16),
        listing(rows=lines, id="apps_list_view", columns=_COLUMNS),
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
