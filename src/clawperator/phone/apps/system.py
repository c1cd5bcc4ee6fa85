"""The apps that are the phone itself: navigation bar, system dialogs, the Operator's own face."""

from clawperator.phone.toolkit.app import App, Here
from clawperator.phone.toolkit.views import View, button, column, icon, row, text, title

SYSTEM_UI = "com.android.systemui"
ANDROID = "android"


def system_ui() -> App:
    """The navigation bar with its three buttons."""
    app = App(SYSTEM_UI, "System UI", home="navigation", system=True, launchable=False)

    @app.screen("navigation", title="", activity="com.android.systemui.navigationbar.NavigationBarFrame")
    def navigation(_: Here) -> View:
        return row(
            icon("Back", lambda here: here.system.go_back(), id="back", picture="<", weight=1, width=0),
            icon("Home", lambda here: here.system.go_home(), id="home", picture="o", weight=1, width=0),
            icon(
                "Overview",
                lambda here: here.system.show_recents(),
                id="recent_apps",
                picture="=",
                weight=1,
                width=0,
            ),
            tone="dark",
        )

    return app


def android_app() -> App:
    """The package ``android``: dialogs that come from nowhere."""
    app = App(ANDROID, "Android System", home="alert", system=True, launchable=False)

    activity = "com.android.server.am.AppNotRespondingDialog"

    @app.dialog("alert", title="System UI isn't responding", activity=activity)
    def alert(here: Here) -> View:
        def away(_: Here) -> None:
            here.system.glass.dismiss_alert()

        return column(
            title("System UI isn't responding", id="android:id/alertTitle"),
            button("Close app", away, id="android:id/aerr_close"),
            button("Wait", away, id="android:id/aerr_wait"),
            padding=16,
            gap=8,
            tone="surface",
        )

    return app


def operator_app(package: str, version: str) -> App:
    """What a person sees when they open the Operator."""
    app = App(package, "Clawperator Operator", home="main", version=version)

    @app.screen("main", title="Clawperator", activity="clawperator.activity.MainActivity")
    def main(here: Here) -> View:
        running = here.system.operator.is_bound()
        return column(
            title("Clawperator Operator"),
            text("Accessibility service is running" if running else "Accessibility service is off", id="status"),
            text(f"Version {version}", id="version", tone="muted"),
            padding=16,
        )

    return app


def installed_app(package: str, label: str, version: str) -> App:
    """An app that came as an APK. Its code does not run here: it shows its name."""
    app = App(package, label, version=version)

    @app.screen("home", activity=f"{package}.MainActivity")
    def home(_: Here) -> View:
        return column(title(label), text(package, id="package", tone="muted"), padding=16)

    return app
