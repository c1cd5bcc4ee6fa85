"""The built-in apps, written with the same toolkit as users' own apps."""

from clawperator.phone.apps import browser, notes, settings, solar, stress, video
from clawperator.phone.apps.browser import CHOOSER
from clawperator.phone.apps.system import LAUNCHER, launcher_app
from clawperator.phone.toolkit.app import App

__all__ = ["CHOOSER", "HOME_APPS", "LAUNCHER", "built_in_apps"]

# Every phone needs these.
HOME_APPS = (LAUNCHER, CHOOSER)


def built_in_apps(only: tuple[str, ...] = ()) -> list[App]:
    """New apps at each call: phones never share one. With ``only``, just those packages."""
    modules = (settings, solar, video, browser, notes, stress)
    found = [launcher_app(), *(app for module in modules for app in module.apps())]
    return [app for app in found if not only or app.package in only]
